"""How functions that read and write bytes are compiled.

Those that work on arrays they are given, and allocate none, are compiled without numba's memory runtime:
then no reference is counted when arrays are handed on, which in a function called per byte or per field
costs more than the work itself. Such a function may return numbers only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tracekit.kernels.compiling import compiled_with

_Function = TypeVar("_Function", bound=Callable[..., Any])


def inlined(function: _Function) -> _Function:
    """Compiles a short function that allocates nothing; it becomes part of its callers."""
    return compiled_with(function, error_model="numpy", _nrt=False, forceinline=True)


def outlined(function: _Function) -> _Function:
    """Compiles a longer function that allocates nothing, or one that is called less often: once, to be
    called.
    """
    return compiled_with(function, error_model="numpy", _nrt=False)


def allocating(function: _Function) -> _Function:
    """Compiles a function that makes arrays."""
    return compiled_with(function, error_model="numpy")


index = np.uint64
"""Makes an index that numba need not test for being negative; the test costs a fifth of the time."""
