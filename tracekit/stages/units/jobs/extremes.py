"""The first and the last of times and numbers of which some are not known."""

from __future__ import annotations

from typing import Any

import polars as pl


def least(column: pl.Series) -> int | None:
    """The smallest value; None where there is none."""
    value: Any = column.min()
    return None if value is None else int(value)


def most(column: pl.Series) -> int | None:
    """The largest value; None where there is none."""
    value: Any = column.max()
    return None if value is None else int(value)


def least_of(*values: int | None) -> int | None:
    """The smallest of those that are known."""
    return min((value for value in values if value is not None), default=None)


def most_of(*values: int | None) -> int | None:
    """The largest of those that are known."""
    return max((value for value in values if value is not None), default=None)


def first_known(*values: int | None, otherwise: int) -> int:
    """The first of those that are known."""
    return next((value for value in values if value is not None), otherwise)
