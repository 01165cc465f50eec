"""Dates and times beyond the years 1 to 9999, which DuckDB has and neither polars nor Python can show, as text."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl

_DAY = "D"
_FIRST, _LAST = np.datetime64("0001-01-01", "D"), np.datetime64("9999-12-31", "D")
_INFINITE = {_DAY: 2**31 - 1, "us": 2**63 - 1, "ms": 2**63 - 1}
"""What DuckDB keeps for `infinity`, in each unit; `-infinity` is its negative."""


def within_calendar(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with every column as text that holds a date or time out of range; all other columns as they are.

    `infinity` and `-infinity` are told as such. A nested column becomes JSON text.
    """
    odd = [column for column in frame if not _is_within(column.to_physical(), column.dtype)]
    return frame.with_columns(_as_text(column) for column in odd)


def _unit(kind: Any) -> str | None:
    if kind == pl.Date:
        return _DAY
    return kind.time_unit if isinstance(kind, pl.Datetime) else None


def _element(kind: Any) -> Any:
    """The type inside of a list, or of a map, which is a list of pairs; none for other types."""
    if isinstance(kind, pl.List | pl.Array):
        return kind.inner
    return pl.Struct({"key": kind.key, "value": kind.value}) if isinstance(kind, pl.Map) else None


def _is_within(numbers: pl.Series, kind: Any) -> bool:
    """Whether values of a type, given as the numbers behind them, are all in range."""
    if (element := _element(kind)) is not None:
        return not _has_times(element) or _is_within(numbers.explode(), element)
    if isinstance(kind, pl.Struct):
        return all(_is_within(numbers.struct.field(each.name), each.dtype) for each in kind.fields)
    unit, told = _unit(kind), numbers.drop_nulls()
    if unit is None or not len(told):
        return True
    # Nanoseconds of 64 bits end in 2262, long before the calendar does.
    return unit == "ns" or told.is_between(_in(unit, _FIRST), _in(unit, _LAST + 1), closed="left").all()


def _has_times(kind: Any) -> bool:
    """Whether a type is of dates or times, or holds some."""
    if (element := _element(kind)) is not None:
        return _has_times(element)
    if isinstance(kind, pl.Struct):
        return any(_has_times(each.dtype) for each in kind.fields)
    return _unit(kind) is not None


def _in(unit: str, day: np.datetime64) -> int:
    return int(day.astype(f"datetime64[{unit}]").astype(np.int64))


def _as_text(column: pl.Series) -> pl.Series:
    told = [_told(value, column.dtype) for value in column.to_physical().to_list()]
    texts = [value if value is None or isinstance(value, str) else json.dumps(value) for value in told]
    return pl.Series(column.name, texts, dtype=pl.String)


def _told(value: Any, kind: Any) -> Any:
    """A value of polars' physical type as one of JSON, dates and times as ISO text."""
    if value is None:
        return None
    if (element := _element(kind)) is not None:
        return [_told(each, element) for each in value]
    if isinstance(kind, pl.Struct):
        return {each.name: _told(value[each.name], each.dtype) for each in kind.fields}
    unit = _unit(kind)
    if unit is None:
        return value if isinstance(value, bool | int | float | str) else str(value)
    if abs(value) == _INFINITE[unit]:
        return "infinity" if value > 0 else "-infinity"
    text = str(np.int64(value).view(f"datetime64[{unit}]"))
    return f"{text}+00:00" if getattr(kind, "time_zone", None) else text
