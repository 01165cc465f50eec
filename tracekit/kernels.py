"""Compilation of numerical kernels, kept on disk so that only the first run of a version waits for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile a function that releases the interpreter lock, and keep the result beside its source.

    numba takes kept code for current as long as the file of the function itself is unchanged, although the
    code contains the kernels that the function calls. Here it is current as long as every source file of
    the folder is, so that a kernel never runs with an outdated callee from a neighbouring file. Kernels of
    other folders are not covered: call those from Python.
    """
    return compiled_with(function)


def compiled_with(function: _Function, **options: Any) -> _Function:
    """Compile a function as `kernel` does, with further options of `numba.njit`."""
    compiled = numba.njit(cache=True, nogil=True, **options)(function)
    if not numba.config.DISABLE_JIT:
        compiled._cache._cache_file._source_stamp = _source_digest(Path(function.__code__.co_filename).parent)
    return compiled


@cache
def _source_digest(folder: Path) -> str:
    """A digest of the names and texts of the Python files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
