"""Types of columns in signatures of compiled kernels, which take several integer widths."""

from __future__ import annotations

from typing import Any, TypeAlias

from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
"""A one-dimensional column of numbers (two-dimensional where a docstring says so)."""
