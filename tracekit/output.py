"""Writing frames and answers to a terminal or a file, in the formats of the command line."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tracekit.errors import UsageError
from tracekit.schema import exchanged

FORMATS = ("table", "json", "jsonl", "csv", "markdown", "parquet")


@exchanged("output")
@dataclass(frozen=True)
class Output:
    """An answer ready to be written: rows for machines, an object for JSON, a text for people."""

    rows: pl.DataFrame
    json: Any = None
    text: str | None = None


def write(output: Output | pl.DataFrame, *, output_format: str, path: Path | None = None) -> None:
    """Write rows or an answer in one of `FORMATS` to `path` (default: standard output).

    Raises `UsageError` where the format cannot go to a terminal or the file cannot be written.
    """
    if isinstance(output, pl.DataFrame):
        output = Output(output)
    if output_format == "parquet":
        _write_parquet(output.rows, path)
    else:
        _write_text(_text(output, output_format), path)


def table(frame: pl.DataFrame, *, markdown: bool = False) -> str:
    """A frame as text, all rows and columns, with full cell contents."""
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
            return table(output.rows) if output.text is None else output.text
        case "json":
            value = output.rows.to_dicts() if output.json is None else output.json
            return json.dumps(value, indent=2, default=_as_json)
        case "jsonl":
            return "\n".join(json.dumps(row, default=_as_json) for row in output.rows.iter_rows(named=True))
        case "csv":
            return _flat(output.rows).write_csv().rstrip("\n")
        case "markdown":
            return table(output.rows, markdown=True)
    raise UsageError(f"unknown format {output_format!r}: use one of {', '.join(FORMATS)}")


def _as_json(value: Any) -> Any:
    """JSON form of what `json` does not know: bytes as hexadecimal text, times as ISO text."""
    return value.hex() if isinstance(value, bytes) else str(value)


def _flat(frame: pl.DataFrame) -> pl.DataFrame:
    """CSV has neither nested nor binary values: they become JSON text."""
    odd = [name for name, kind in frame.schema.items() if kind.is_nested() or kind == pl.Binary]
    return frame.with_columns(
        pl.Series(name, [_cell(cell) for cell in frame[name].to_list()], dtype=pl.String) for name in odd
    )


def _cell(value: Any) -> str | None:
    return None if value is None else json.dumps(value, default=_as_json)


def _write_text(text: str, path: Path | None) -> None:
    if path is None:
        sys.stdout.write(text + "\n")
        return
    try:
        path.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def _write_parquet(frame: pl.DataFrame, path: Path | None) -> None:
    if path is None and sys.stdout.isatty():
        raise UsageError("parquet is not for a terminal: name a file with -o FILE or redirect the output")
    try:
        frame.write_parquet(path if path is not None else sys.stdout.buffer)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error
