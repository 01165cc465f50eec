"""Compiled code that is kept beside its source; loading it starts as little of the compiler as it can."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numba.core import environment
from numba.core.caching import FunctionCache
from numba.core.compiler_lock import global_compiler_lock
from numba.core.runtime import rtsys


class KeptCode(FunctionCache):  # type: ignore[misc]
    """What numba keeps of a function, current as long as `source_stamp` is the same."""

    def __init__(self, function: Callable[..., Any], *, source_stamp: str) -> None:
        super().__init__(function)
        self._cache_file._source_stamp = source_stamp

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The code for a signature, None if it is not kept.

        numba first loads all that it knows of Python and NumPy (a quarter of a second), which only compiling needs;
        the compiler loads it itself. Kept code needs no more than the memory runtime.
        """
        rtsys.initialize(target_context)
        with global_compiler_lock, _bare_environments(), self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
        return None


@contextmanager
def _bare_environments() -> Iterator[None]:
    """Let environments of loaded functions be made without the modules of these."""
    rebuild = environment._rebuild_env
    environment._rebuild_env = _bare_environment
    try:
        yield
    finally:
        environment._rebuild_env = rebuild


def _bare_environment(module: str, constants: Sequence[Any], name: str) -> Any:
    """The environment `name` of a function: its constants, without the globals of its module.

    Only code that goes through Python's objects reads globals, and kernels never do. The modules are numba's own,
    of which those for NumPy take a tenth of a second to import.
    """
    found = environment.lookup_environment(name)
    if found is None:
        found = environment.Environment({"__name__": module})
        found.consts[:] = constants
        found.env_name = name
        environment.Environment._memo[name] = found
    return found
