"""How the functions of the simulation are compiled: called from compiled code only, so without wrappers for
Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
T = TypeVar("T")


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile a function that only other compiled functions call; wrappers would double the compile time."""
    # The stubs of numba do not know these options of its documentation.
    return njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)  # type: ignore[call-overload,no-any-return]
