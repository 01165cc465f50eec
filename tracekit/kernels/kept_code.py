"""Compiled code that is kept beside its source; loading it starts as little of the compiler as it can."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba.core.caching import FunctionCache
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
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)
        return None
