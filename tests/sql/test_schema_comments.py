"""The store explains itself: every table, view and column carries its meaning."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.store import Database

WITHOUT_COMMENT = {
    "tables": "SELECT table_name FROM duckdb_tables() WHERE NOT internal AND coalesce(comment, '') = ''",
    "views": "SELECT view_name FROM duckdb_views() WHERE NOT internal AND coalesce(comment, '') = ''",
    "macros": (
        "SELECT function_name FROM duckdb_functions() "
        "WHERE NOT internal AND function_type LIKE '%macro' AND coalesce(comment, '') = ''"
    ),
    "columns": (
        "SELECT table_name || '.' || column_name FROM duckdb_columns() "
        "WHERE NOT internal AND coalesce(comment, '') = ''"
    ),
}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A store that was written and opened again: comments must survive in the file."""
    path: Path = tmp_path_factory.mktemp("comments") / "store.duckdb"
    Database.open(path).close()
    with Database.open(path, read_only=True) as opened:
        yield opened


@pytest.mark.parametrize("kind", sorted(WITHOUT_COMMENT))
def test_nothing_in_a_store_is_without_comment(database: Database, kind: str) -> None:
    """`SHOW`, the app and the reference page explain themselves from the comments alone."""
    assert database.sql(WITHOUT_COMMENT[kind]).rows() == []


def test_a_view_says_what_its_table_says_unless_it_shows_something_else(database: Database) -> None:
    """Numbers that a view turns into text have a comment of their own."""
    comments = database.sql(
        "SELECT schema_name, comment FROM duckdb_columns() "
        "WHERE table_name = 'spans' AND column_name = $column ORDER BY schema_name",
        column="start_ns",
    )
    assert comments["comment"].n_unique() == 1
    ids = database.sql(
        "SELECT comment FROM duckdb_columns() WHERE table_name = 'spans' AND column_name = 'trace_id' "
        "ORDER BY schema_name"
    )
    assert ids["comment"].to_list() == [
        "trace of the span (16 bytes)",
        "trace of the span (32 hexadecimal digits)",
    ]


def test_columns_of_time_say_their_unit(database: Database) -> None:
    """A column that ends in `_ns` speaks of nanoseconds."""
    silent = database.sql(
        "SELECT table_name, column_name FROM duckdb_columns() "
        "WHERE NOT internal AND ends_with(column_name, '_ns') AND NOT contains(comment, 'nanoseconds')"
    )
    assert silent.rows() == []
