"""A store opens, refuses and is brought up to date."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.unit.store.records import attributes, batch, gauge, metrics, point, span, traces
from tracekit import queries
from tracekit.errors import QueryError, StoreError, StoreLockedError, StoreVersionError, UsageError
from tracekit.store import SCHEMA_VERSION, Database, IngestWriter, schema

HOLD_THE_FILE = textwrap.dedent("""
    import duckdb, sys
    connection = duckdb.connect(sys.argv[1])
    print("held", flush=True)
    sys.stdin.read()
""")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


def set_version(path: Path, version: int) -> None:
    with duckdb.connect(str(path)) as connection:
        connection.execute("UPDATE base.store_info SET schema_version = ?", [version])


def test_a_new_file_holds_the_schema_after_reopening(path: Path) -> None:
    """Opening makes the file with its tables, views, taxonomy and version."""
    Database.open(path).close()
    with Database.open(path, read_only=True) as database:
        assert database.sql("SELECT schema_version FROM base.store_info").rows() == [(SCHEMA_VERSION,)]
        assert database.sql("SELECT count(*) FROM spans").rows() == [(0,)]
        assert database.sql("SELECT count(*) FROM stages").item() > 40


def test_a_store_in_memory_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None as path is a store that lives as long as its Database."""
    monkeypatch.chdir(tmp_path)
    with Database.open(None) as database:
        assert database.sql("SELECT count(*) FROM spans").item() == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("opened", [Database.open, lambda path: Database.serve(path, row_group_rows=2048)])
def test_what_a_killed_process_spilled_is_removed(path: Path, opened: Callable[[Path], Database]) -> None:
    """It may be gigabytes. Files of others in that folder, and of this process, are left alone."""
    folder = path.with_name(path.name + ".tmp")
    folder.mkdir()
    left, own = folder / "duckdb_temp_1_0_storage_DEFAULT-0.tmp", folder / f"duckdb_temp_{os.getpid()}_0_owner"
    others = folder / "mine.txt"
    for file in (left, own, others):
        file.write_text("x")
    opened(path).close()
    assert sorted(folder.iterdir()) == sorted([own, others])
    for file in (own, others):
        file.unlink()
    opened(path).close()
    assert not folder.exists()


def test_a_file_that_another_process_holds_names_the_process(path: Path) -> None:
    """The remedy needs the PID of the holder."""
    Database.open(path).close()
    command = [sys.executable, "-c", HOLD_THE_FILE, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        for read_only in (False, True):
            with pytest.raises(StoreLockedError, match=rf"held by process {holder.pid} .*repeat the command"):
                Database.open(path, read_only=read_only)
        holder.communicate()


def test_one_process_cannot_open_a_file_in_two_modes(path: Path) -> None:
    """DuckDB shares one instance a process; the message says to use the one that is open."""
    with Database.open(path), pytest.raises(StoreLockedError, match="already open in this process"):
        Database.open(path, read_only=True)


def test_a_newer_store_names_both_versions(path: Path) -> None:
    """An old tracekit must not write into a schema it does not know."""
    Database.open(path).close()
    set_version(path, SCHEMA_VERSION + 3)
    with pytest.raises(
        StoreVersionError, match=rf"version {SCHEMA_VERSION + 3}.* up to {SCHEMA_VERSION}; upgrade tracekit"
    ):
        Database.open(path)


def test_a_file_without_duckdb_content_is_refused_and_kept(path: Path) -> None:
    """Opening something else never overwrites it."""
    path.write_bytes(b"hello" * 1000)
    with pytest.raises(StoreError, match="not a valid DuckDB database"):
        Database.open(path)
    assert path.read_bytes() == b"hello" * 1000


def test_a_duckdb_file_of_something_else_is_refused_and_kept(path: Path) -> None:
    """Tables of another program are not mixed with a trace store."""
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE customers AS SELECT 1 AS id")
    with pytest.raises(StoreError, match="not a trace store"):
        Database.open(path)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("customers",)]


def test_an_empty_database_becomes_a_store(path: Path) -> None:
    """A crash before the first commit leaves a database without tables; opening it again completes it."""
    duckdb.connect(str(path)).close()
    with Database.open(path) as database:
        assert database.sql("SELECT count(*) FROM spans").item() == 0


@pytest.mark.parametrize(
    ("options", "expected"), [({"create": False}, "make one with"), ({"read_only": True}, "make one with")]
)
def test_a_missing_file_is_not_made_when_it_must_exist(path: Path, options: dict[str, bool], expected: str) -> None:
    """A typing error in a path does not leave an empty store behind."""
    with pytest.raises(StoreError, match=expected):
        Database.open(path, **options)
    assert not path.exists()


def test_a_folder_and_a_missing_folder_are_refused(tmp_path: Path) -> None:
    """The message says what the path is instead of a trace store."""
    with pytest.raises(StoreError, match="is a folder"):
        Database.open(tmp_path)
    with pytest.raises(StoreError, match="does not exist"):
        Database.open(tmp_path / "missing" / "store.duckdb")
    with pytest.raises(UsageError, match="in memory"):
        Database.open(None, read_only=True)


def make_old(path: Path) -> None:
    """A store as a version before would have written it: a column less in spans, no view of it."""
    Database.open(path).close()
    set_version(path, SCHEMA_VERSION - 1)
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP VIEW spans; ALTER TABLE base.spans DROP COLUMN flags; DELETE FROM base.stages")


def write_step(folder: Path, statement: str) -> Path:
    folder.mkdir()
    (folder / f"{SCHEMA_VERSION:03}_span_flags.sql").write_text(statement)
    return folder


def test_an_older_store_is_brought_up_to_date(path: Path, tmp_path: Path) -> None:
    """Steps change tables; views, stages and comments are laid down again with the new version."""
    make_old(path)
    steps = write_step(tmp_path / "steps", "ALTER TABLE base.spans ADD COLUMN flags UINTEGER DEFAULT 0")
    with duckdb.connect(str(path)) as connection:
        schema.upgrade(connection, found=SCHEMA_VERSION - 1, folder=steps)
    with Database.open(path) as database:
        assert database.sql("SELECT schema_version FROM base.store_info").item() == SCHEMA_VERSION
        assert database.sql("SELECT flags FROM spans").rows() == []
        assert database.sql("SELECT count(*) FROM stages").item() > 40


def test_a_store_of_version_1_gets_the_attribute_keys_of_its_spans(path: Path) -> None:
    """They are found in what is stored, each once for a resource."""
    with Database.open(path) as database:
        spans = [span(1, number, attributes=attributes({"a": number, "b.c": "x"})) for number in (1, 2)]
        IngestWriter(database, source="test").write(batch(traces(*spans)))
        expected = database.sql("FROM span_attribute_keys ORDER BY ALL").rows()
    with duckdb.connect(str(path)) as connection:
        connection.execute("DROP VIEW span_attribute_keys; DROP TABLE base.span_attribute_keys")
    set_version(path, 1)
    with Database.open(path) as database:
        assert database.sql("FROM span_attribute_keys ORDER BY ALL").rows() == expected == [(1, "a"), (1, "b.c")]


_NARROW = ("spans.resource_id", "spans.scope_id", "metric_points.stream_id", "units.unit_id", "unit_stages.unit_id")
_KEYS = "SELECT resource_key, scope_key, stream_key FROM resources, scopes, metric_streams"


def as_version_2(path: Path) -> None:
    """The store as version 2 wrote it: ids of 32 bits, series identified by the numbers of their senders."""
    set_version(path, 2)
    with duckdb.connect(str(path)) as connection:
        for table, column in (name.split(".") for name in _NARROW):
            connection.execute(f"ALTER TABLE base.{table} ALTER {column} TYPE UINTEGER")
        connection.execute("UPDATE base.metric_streams SET identity_hash = md5_number(stream_id::VARCHAR)")


def test_a_store_of_version_2_gets_wide_ids_and_series_known_by_their_content(path: Path) -> None:
    """The same records are still the same: nothing is stored twice, and ids are those of any other store."""
    records = batch(traces(span(1, 1)), metrics(gauge("cpu", point(1, 0.5), point(2, 0.6))))
    with Database.open(path) as database:
        first = IngestWriter(database, source="test").write(records)
        expected = database.sql(_KEYS).rows()
    as_version_2(path)
    with Database.open(path) as database:
        again = IngestWriter(database, source="again").write(records)
        assert (again.spans, again.metric_points) == (0, 0)
        assert again.duplicates == first.spans + first.metric_points > 1
        assert database.sql(_KEYS).rows() == expected
        types = database.sql(
            "SELECT DISTINCT data_type FROM duckdb_columns() WHERE schema_name = 'base' AND column_name IN "
            "(SELECT unnest($ids))",
            ids=["unit_id", "resource_id", "scope_id", "stream_id"],
        )
        assert types.rows() == [("BIGINT",)]


def test_an_older_store_without_a_way_is_refused_and_unchanged(path: Path) -> None:
    """Opening is all or nothing: no half-upgraded store."""
    make_old(path)
    set_version(path, 0)
    with pytest.raises(StoreVersionError, match="no way to version"):
        Database.open(path)
    with duckdb.connect(str(path)) as connection:
        assert connection.execute("SELECT schema_version FROM base.store_info").fetchall() == [(0,)]


def test_a_step_that_fails_leaves_the_old_store(path: Path, tmp_path: Path) -> None:
    """The steps and the version number are one transaction."""
    make_old(path)
    steps = write_step(tmp_path / "steps", "CREATE TABLE base.left_over (a INTEGER); SELECT * FROM missing")
    with duckdb.connect(str(path)) as connection:
        connection.execute("BEGIN TRANSACTION")
        with pytest.raises(duckdb.CatalogException):
            schema.upgrade(connection, found=SCHEMA_VERSION - 1, folder=steps)
        connection.execute("ROLLBACK")
        assert connection.execute("SELECT count(*) FROM duckdb_tables() WHERE table_name = 'left_over'").fetchall() == [
            (0,)
        ]


def write_and_fail(database: Database) -> None:
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO base.built_through VALUES (7)")
        _ = 1 // 0


def test_a_transaction_that_raises_leaves_nothing() -> None:
    """What is written in one block is stored together or not at all."""
    with Database.open(None) as database:
        with pytest.raises(ZeroDivisionError):
            write_and_fail(database)
        assert database.sql("SELECT * FROM base.built_through").rows() == []
        with database.transaction() as cursor:
            cursor.execute("INSERT INTO base.built_through VALUES (7)")
        assert database.sql("SELECT * FROM base.built_through").rows() == [(7,)]


def test_sql_shows_attributes_as_json_and_binds_parameters() -> None:
    """Frames hold portable types: VARIANT and INTERVAL have none in polars."""
    with Database.open(None) as database:
        rows = database.sql(
            "SELECT $text::JSON::VARIANT AS attributes, INTERVAL 1 DAY AS age, $rank + 1 AS rank",
            text='{"a.b":[1,2.5,null]}',
            rank=1,
        )
        assert rows.rows() == [('{"a.b":[1,2.5,null]}', "1 day", 2)]


@pytest.mark.parametrize("end", ["", ";", " ; -- remark; more", ";\n/* remark */\n;", "-- remark"])
def test_a_statement_may_end_as_people_end_it(end: str) -> None:
    """Semicolons and remarks behind a statement are no part of it."""
    with Database.open(None) as database:
        rows = database.sql("SELECT '{\"é;\":1}'::JSON::VARIANT AS attributes" + end)
        assert rows.rows() == [('{"é;":1}',)]


def test_sql_that_duckdb_refuses_says_why() -> None:
    """The user sees DuckDB's own words."""
    with Database.open(None) as database, pytest.raises(QueryError, match="nonsense"):
        database.sql("SELECT nonsense FROM spans")


def test_each_version_has_one_migration() -> None:
    """Two files of one version would hide each other."""
    versions = [path.name[:3] for path in (queries.folder("queries") / "schema" / "migrations").glob("*.sql")]
    assert sorted(versions) == [f"{version:03}" for version in range(2, SCHEMA_VERSION + 1)]
