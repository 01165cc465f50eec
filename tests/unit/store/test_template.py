"""A new store is a copy of a template, and the same as one that the statements made."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tracekit import queries
from tracekit.store import Database, schema, template

CATALOG = {
    "schemas": "SELECT schema_name, comment FROM duckdb_schemas() WHERE schema_name IN ('main', 'base')",
    "tables": "SELECT schema_name, table_name, comment, sql FROM duckdb_tables()",
    "views": "SELECT schema_name, view_name, comment, sql FROM duckdb_views() WHERE NOT internal",
    "columns": "SELECT schema_name, table_name, column_index, column_name, data_type, is_nullable, column_default, "
    "comment FROM duckdb_columns() WHERE NOT internal",
    "constraints": "SELECT schema_name, table_name, constraint_type, constraint_text FROM duckdb_constraints()",
    "indexes": "SELECT schema_name, table_name, index_name, sql FROM duckdb_indexes()",
    "sequences": "SELECT schema_name, sequence_name, start_value, last_value, sql FROM duckdb_sequences()",
    "types": "SELECT schema_name, type_name, logical_type, labels FROM duckdb_types() WHERE NOT internal",
    "macros": "SELECT schema_name, function_name, parameters, macro_definition, comment "
    "FROM duckdb_functions() WHERE NOT internal",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test's templates lie: not there yet."""
    kept = tmp_path / "compiled"
    monkeypatch.setattr(template, "_folder", lambda: kept)
    return kept


def told(connection: duckdb.DuckDBPyConnection) -> dict[str, list[Any]]:
    """What the catalog says about the database in use, and the stages, which are rows of a table."""
    joined = {name: "AND" if "WHERE" in statement else "WHERE" for name, statement in CATALOG.items()}
    mine = {name: f"{CATALOG[name]} {joined[name]} database_name = current_database()" for name in CATALOG}
    mine["stages"] = "SELECT * FROM base.stages"
    rows = {name: connection.execute(f"FROM ({mine[name]}) ORDER BY ALL").fetchall() for name in mine}
    # DuckDB prints what a view replaces in any order.
    return rows | {"views": [(*row[:-1], sorted(re.findall(r"\w+|\S", row[-1]))) for row in rows["views"]]}


def test_a_copy_is_what_the_statements_make(folder: Path, tmp_path: Path) -> None:
    """Tables, views, macros, comments and stages, in memory, in a file and in a served one."""
    with closing(duckdb.connect()) as connection:
        schema.lay_down(connection)
        expected = told(connection)
    file, served = tmp_path / "store.duckdb", tmp_path / "served.duckdb"
    for opened in (Database.open(None), Database.open(file), Database.serve(served, row_group_rows=2048)):
        with opened as database, closing(database.cursor()) as cursor:
            found = told(cursor)
            assert {name: found[name] for name in expected} == expected
    assert len(list(folder.glob("schema-*.duckdb"))) == 1
    assert all(expected[name] for name in ("tables", "views", "columns", "constraints", "macros", "stages"))


def test_a_copy_tells_its_own_time(folder: Path, tmp_path: Path) -> None:
    """When a store was made is not when its template was."""
    times = []
    for number in range(2):
        with Database.open(tmp_path / f"{number}.duckdb") as database:
            times += database.sql("SELECT created_ns FROM base.store_info")["created_ns"].to_list()
    assert len(times) == 2
    assert times[0] < times[1]


def test_nobody_reaches_the_template_or_another_file(folder: Path) -> None:
    """The template is gone from the connection, and the doors are closed behind it."""
    with Database.open(None) as database, closing(database.cursor()) as cursor:
        names = cursor.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()
        assert names == [("memory",)]
        [kept] = folder.glob("schema-*.duckdb")
        with pytest.raises(duckdb.PermissionException):
            cursor.execute(f"ATTACH '{kept}' AS mine")
        with pytest.raises(duckdb.InvalidInputException, match="locked"):
            cursor.execute("SET enable_external_access = true")


@pytest.mark.parametrize("file", [False, True])
def test_a_template_that_cannot_be_read_costs_time_and_nothing_else(folder: Path, tmp_path: Path, file: bool) -> None:
    """The statements are run."""
    Database.open(None).close()
    [kept] = folder.iterdir()
    kept.unlink()
    kept.mkdir()
    with Database.open(tmp_path / "store.duckdb" if file else None) as database:
        assert database.sql("SELECT count(*) FROM stages").item() > 40
    assert {path.name for path in tmp_path.iterdir()} == {"compiled"} | ({"store.duckdb"} if file else set())


def test_where_no_template_can_be_kept_a_store_opens(folder: Path, tmp_path: Path) -> None:
    """A package that cannot be written to, here because a file stands where the folder would."""
    folder.write_text("not a folder")
    for path in (None, tmp_path / "store.duckdb"):
        with Database.open(path) as database:
            assert database.sql("SELECT count(*) FROM stages").item() > 40


def test_other_statements_have_another_template(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout of another version never gets the tables of this one; the outdated template goes."""
    Database.open(None).close()
    [before] = folder.iterdir()
    text = queries.text
    monkeypatch.setattr(queries, "text", lambda name: text(name).replace("what this store is", "what it is"))
    with Database.open(None) as database:
        comment = database.sql("SELECT comment FROM duckdb_tables() WHERE table_name = 'store_info'").item()
    assert comment == "what it is: one row"
    [after] = folder.iterdir()
    assert before != after


def test_many_open_at_once_while_there_is_no_template(folder: Path, tmp_path: Path) -> None:
    """Each gets a whole store, and one template is left."""
    paths = [None if number % 2 else tmp_path / f"{number}.duckdb" for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        opened = list(threads.map(Database.open, paths))
    for database in opened:
        with database:
            assert database.sql("SELECT count(*) FROM stages").item() > 40
    assert len(list(folder.iterdir())) == 1
    assert {path.suffix for path in tmp_path.iterdir()} == {"", ".duckdb"}
