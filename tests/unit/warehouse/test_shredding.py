"""Attributes in columns of their own, and beside them: every value comes back as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet
import pytest

from tracekit.store import Database
from tracekit.warehouse.files import export
from tracekit.warehouse.reading import load

SAID: list[dict[str, Any]] = [
    {"a": 1, "x": "s", "qu\"ote's": 1.5, "rare": "r"},
    {"A": 2, "a": "text", "x": "t", "qu\"ote's": 2.0},
    {"a": -5, "x": "ü\u0000\n", "qu\"ote's": 1e300, "": 3, "line\nbreak": True},
    {"a": [1, "q"], "x": {"x": 1}, "qu\"ote's": 7, "A": 9},
    {"a": 2**62, "x": None, "qu\"ote's": False, "A": None},
    {},
]


@pytest.fixture
def cursor(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Database.beside_files(tmp_path) as database, closing(database.cursor()) as cursor:
        yield cursor


def written(cursor: duckdb.DuckDBPyConnection, folder: Path, said: list[dict[str, Any]]) -> Path:
    """A file of events with these attributes."""
    statement = "INSERT INTO base.span_events VALUES (uuid(), 1, ?, 0, 'said', ?::JSON::VARIANT, 0, 1)"
    cursor.executemany(statement, [(number, json.dumps(each)) for number, each in enumerate(said)])
    file = export(cursor, folder, "span_events", name="0")
    assert file is not None
    return folder / file.path


def columns_of(path: Path) -> set[str]:
    """The attributes that have columns of their own."""
    attributes = pyarrow.parquet.read_schema(path).field("attributes").type
    names = {attributes.field(place).name for place in range(attributes.num_fields)}
    if "typed_value" not in names or not isinstance(attributes.field("typed_value").type, pyarrow.StructType):
        return set()
    typed = attributes.field("typed_value").type
    return {typed.field(place).name for place in range(typed.num_fields)}


def test_values_come_back_whatever_type_most_have(cursor: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    """Also under names that differ in case, with quotes, or of nothing."""
    shown = "SELECT event_index, attributes::JSON::VARCHAR, attributes['a']::VARCHAR FROM base.span_events ORDER BY ALL"
    path = written(cursor, tmp_path, SAID)
    before = cursor.execute(shown).fetchall()
    assert len(columns_of(path) & {"a", "A"}) == 1
    assert {"x", "qu\"ote's"} < columns_of(path)
    cursor.execute("DELETE FROM base.span_events")
    load(cursor, "span_events", [str(path)])
    assert cursor.execute(shown).fetchall() == before


def test_what_few_rows_have_gets_no_column(cursor: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    said = [{"often": number, f"only-{number}": 1} for number in range(40)]
    assert columns_of(written(cursor, tmp_path, said)) == {"often"}


def test_rows_that_have_nothing_in_common_get_no_columns(cursor: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    assert columns_of(written(cursor, tmp_path, [{f"only-{number}": 1} for number in range(40)])) == set()
