"""Writing frames and answers to a terminal or a file, in the formats of the command line."""

from __future__ import annotations

import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from datetime import date, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl

from tracekit import foreign
from tracekit.calendar_bounds import within_calendar
from tracekit.errors import UsageError
from tracekit.foreign import csv_cell, plain_frame, terminal
from tracekit.schema import exchanged

_TEXTS = (pl.String, pl.Categorical, pl.Enum)
FORMATS = ("table", "json", "jsonl", "csv", "markdown", "parquet")


@exchanged("output")
@dataclass(frozen=True)
class Output:
    """An answer ready to be written: rows for machines, an object for JSON, a text for people, the body of a page."""

    rows: pl.DataFrame
    json: Any = None
    text: str | None = None
    html: str | None = None


def write(output: Output | pl.DataFrame, *, output_format: str, path: Path | None = None) -> None:
    """Write rows or an answer in one of `FORMATS` to `path` (default: standard output).

    Raises `UsageError` where the format cannot go to a terminal or the file cannot be written.
    """
    if isinstance(output, pl.DataFrame):
        output = Output(output)
    if output_format == "parquet":
        _write_parquet(output.rows, path)
    else:
        _write_text(_text(replace(output, rows=within_calendar(output.rows)), output_format), path)


_KEPT: ContextVar[list[pl.DataFrame] | None] = ContextVar("kept tables", default=None)
TABLE_MARK = "\x00"
"""Stands before and after the number of a table that was kept; foreign text never has it (`tracekit.foreign`)."""


@contextmanager
def tables_kept() -> Iterator[list[pl.DataFrame]]:
    """Inside the block a text has the numbers of its tables between marks; the list gets the tables."""
    kept: list[pl.DataFrame] = []
    token = _KEPT.set(kept)
    try:
        yield kept
    finally:
        _KEPT.reset(token)


def table(frame: pl.DataFrame, *, markdown: bool = False) -> str:
    """A frame as text, all rows and columns, with full cell contents; foreign text in it is text."""
    if (kept := _KEPT.get()) is not None:
        kept.append(frame)
        return f"{TABLE_MARK}{len(kept) - 1}{TABLE_MARK}"
    frame = _markdown_cells(frame) if markdown else plain_frame(frame)
    with pl.Config(
        tbl_formatting="MARKDOWN" if markdown else "UTF8_BORDERS_ONLY",
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_rows=-1,
        tbl_cols=-1,
        tbl_width_chars=-1,
        fmt_str_lengths=200,
        fmt_table_cell_list_len=20,
    ):
        return str(frame)


def _text(output: Output, output_format: str) -> str:
    match output_format:
        case "table":
            return terminal(table(output.rows) if output.text is None else output.text)
        case "json":
            value = output.rows.to_dicts() if output.json is None else output.json
            return json.dumps(_json_value(value), indent=2)
        case "jsonl":
            return "\n".join(json.dumps(_json_value(row)) for row in output.rows.iter_rows(named=True))
        case "csv":
            return _flat(output.rows).write_csv().rstrip("\n")
        case "markdown":
            return terminal(table(output.rows, markdown=True))
    raise UsageError(
        f"unknown format {output_format!r}: use one of {', '.join(FORMATS)}", option="format", value=output_format
    )


def _json_value(value: Any) -> Any:
    """A value as JSON has it: numbers stay numbers, NaN is null, bytes are hexadecimal, times ISO text."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case Decimal():
            return _number(value)
        case bytes():
            return value.hex()
        case dict():
            return {key if isinstance(key, str) else str(key): _json_value(each) for key, each in value.items()}
        case list() | tuple():
            return [_json_value(each) for each in value]
        case date() | time():
            return value.isoformat()
    return str(value)


def _number(value: Decimal) -> int | float | None:
    """An integer of any size exactly; a fraction as the nearest double."""
    if not value.is_finite():
        return None
    return int(value) if value == value.to_integral_value() else float(value)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """CSV has neither nested nor binary values: they become JSON text; no text is a formula or acts on a terminal."""
    odd = [name for name, kind in frame.schema.items() if kind.is_nested() or kind == pl.Binary]
    frame = frame.with_columns(
        pl.Series(name, [_cell(cell) for cell in frame[name].to_list()], dtype=pl.String) for name in odd
    )
    texts = [name for name, kind in frame.schema.items() if kind in _TEXTS]
    named = {name: csv_cell(name) for name in frame.columns}
    return frame.with_columns(_each_text(frame[name], csv_cell) for name in texts).rename(_distinct(named))


def _distinct(named: dict[str, str]) -> dict[str, str]:
    """New names of columns where no two would be the same."""
    return named if len(set(named.values())) == len(named) else {}


def _markdown_cells(frame: pl.DataFrame) -> pl.DataFrame:
    texts = [name for name, kind in frame.schema.items() if kind in _TEXTS]
    named = {name: foreign.markdown(name) for name in frame.columns}
    return frame.with_columns(_each_text(frame[name], foreign.markdown) for name in texts).rename(_distinct(named))


def _each_text(column: pl.Series, say: Callable[[str], str]) -> pl.Series:
    said = [None if text is None else say(text) for text in column.cast(pl.String)]
    return pl.Series(column.name, said, dtype=pl.String)


def _cell(value: Any) -> str | None:
    return None if value is None else json.dumps(_json_value(value))


def _write_text(text: str, path: Path | None) -> None:
    if path is None:
        with reader_may_leave():
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
        return
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _write_parquet(frame: pl.DataFrame, path: Path | None) -> None:
    if path is None:
        if sys.stdout.isatty():
            raise UsageError("parquet is not for a terminal: name a file with -o FILE or redirect the output")
        with reader_may_leave():
            frame.write_parquet(buffer := io.BytesIO())
            sys.stdout.buffer.write(buffer.getbuffer())
            sys.stdout.buffer.flush()
        return
    try:
        frame.write_parquet(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


@contextmanager
def reader_may_leave() -> Iterator[None]:
    """Inside, a reader of standard output that has read enough (`head`, a pager) is no fault: the rest goes nowhere.

    Raises `UsageError` where standard output cannot be written for another reason.
    """
    try:
        yield
    except BrokenPipeError:
        _write_nowhere()
    except OSError as error:
        _write_nowhere()
        raise UsageError(f"cannot write to standard output: {error.strerror}") from error


def _write_nowhere() -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
