"""A store that is open for taking small batches for long is the same store."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from time import sleep

import pytest

from tests.unit.store.records import batch, span, traces
from tracekit.errors import QueryError, StoreError, StoreLockedError, StoreVersionError
from tracekit.store import Database, IngestWriter, read_only_sql, used_bytes

ROWS = 2048
CONTENT = "SELECT trace_id, span_id, name, start_ns, end_ns, span_attributes FROM spans ORDER BY ALL"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.duckdb"


def write(database: Database, count: int, *, first: int = 1) -> None:
    spans = [span(number, number) for number in range(first, first + count)]
    IngestWriter(database, source="test").write(batch(traces(*spans)))


def log_bytes(path: Path) -> int:
    log = path.with_name(path.name + ".wal")
    return log.stat().st_size if log.exists() else 0


@pytest.mark.parametrize("name", ["store.duckdb", "memory.duckdb", "main.duckdb", 'o\'neil "x".db', "spans"])
def test_what_a_served_store_takes_is_there_when_it_is_opened(tmp_path: Path, name: str) -> None:
    """Whatever the file is called, and for whoever opens it next, served or not."""
    path = tmp_path / name
    with Database.serve(path, row_group_rows=ROWS) as served:
        write(served, ROWS + 10)
        write(served, 10, first=10_000)
        served_rows = served.sql(CONTENT).rows()
        tables = served.sql("SELECT schema, name FROM (SHOW ALL TABLES) ORDER BY ALL").rows()
    with Database.open(path) as opened:
        assert opened.sql(CONTENT).rows() == served_rows
        assert opened.sql("SELECT schema, name FROM (SHOW ALL TABLES) ORDER BY ALL").rows() == tables
        write(opened, 5, first=20_000)
    with Database.serve(path, row_group_rows=ROWS) as again:
        assert again.sql("SELECT count(*) FROM spans").item() == ROWS + 25
    assert len(served_rows) == ROWS + 20


def test_a_batch_of_a_row_group_goes_past_the_log(path: Path) -> None:
    """Smaller ones are in the log as a whole, for a checkpoint to fold in; a large one leaves a note there."""
    with Database.serve(path, row_group_rows=ROWS) as served:
        before = log_bytes(path)
        write(served, ROWS - 1)
        small = log_bytes(path) - before
        write(served, ROWS, first=10_000)
        large = log_bytes(path) - before - small
    assert large < small / 10


def test_spans_that_came_before_the_store_was_served_come_once(path: Path) -> None:
    """What came last is known from the start."""
    with Database.open(path) as opened:
        write(opened, 20)
    with Database.serve(path, row_group_rows=ROWS) as served:
        write(served, 30)
        assert served.sql("SELECT count(*) FROM spans").item() == 30
        assert served.dedup_cache.spans is not None


def test_sql_in_a_served_store_reaches_no_file_and_no_setting(path: Path, tmp_path: Path) -> None:
    """As in any other store; nor is there a second database to write into."""
    with Database.serve(path, row_group_rows=ROWS) as served:
        for statement in (
            f"SELECT * FROM read_csv('{path}')",
            f"ATTACH '{tmp_path / 'other.duckdb'}' AS other",
            f"COPY (SELECT 1) TO '{tmp_path / 'out.csv'}'",
            "SET memory_limit = '1GB'",
            "SET enable_external_access = true",
        ):
            with pytest.raises(QueryError):
                served.sql(statement)
        with pytest.raises(QueryError, match="SELECT"):
            read_only_sql(served, "CREATE TABLE memory.main.mine AS SELECT 1")
    assert {each.name for each in tmp_path.iterdir()} == {"store.duckdb"}


def test_the_size_is_that_of_the_store(path: Path) -> None:
    """Not of the empty database that it is attached to."""
    with Database.serve(path, row_group_rows=ROWS) as served:
        write(served, 3 * ROWS)
        assert used_bytes(served) > 100_000


def test_what_cannot_be_served_says_why(path: Path) -> None:
    """The same errors as opening has."""
    path.write_bytes(b"hello" * 1000)
    with pytest.raises(StoreError, match="not a valid DuckDB database"):
        Database.serve(path, row_group_rows=ROWS)
    path.unlink()
    with Database.open(path) as opened:
        with pytest.raises(StoreLockedError, match="already open in this process"):
            Database.serve(path, row_group_rows=ROWS)
        with opened.transaction() as cursor:
            cursor.execute("UPDATE base.store_info SET schema_version = 99")
    with pytest.raises(StoreVersionError, match="version 99"):
        Database.serve(path, row_group_rows=ROWS)


def test_a_served_store_cannot_be_opened_beside(path: Path) -> None:
    """One process has it open once; the message says to use that one."""
    with (
        Database.serve(path, row_group_rows=ROWS),
        pytest.raises(StoreLockedError, match="already open in this process"),
    ):
        Database.open(path)


def test_a_renewed_store_goes_on_as_it_was(path: Path) -> None:
    """Same content, same memory of what came last, and the same Database."""
    with Database.serve(path, row_group_rows=ROWS) as served:
        write(served, 3 * ROWS)
        before = served.sql(CONTENT).rows()
        assert served.dedup_cache.rows_written == 3 * ROWS
        assert served.renew()
        assert served.dedup_cache.rows_written == 0
        assert served.sql(CONTENT).rows() == before
        write(served, 3 * ROWS + 1)
        assert served.dedup_cache.rows_written == 1
        assert served.sql("SELECT count(*), max(resource_id) FROM base.spans").rows() == [(3 * ROWS + 1, 1)]


def test_a_store_is_not_renewed_while_somebody_reads_it(path: Path) -> None:
    """Nor one that is not served."""
    with Database.serve(path, row_group_rows=ROWS) as served:
        with closing(served.cursor()) as cursor:
            assert not served.renew()
            assert cursor.execute("SELECT count(*) FROM spans").fetchall() == [(0,)]
        del cursor
        assert served.renew()
    with Database.open(path) as opened:
        assert not opened.renew()


def test_readers_and_writers_notice_nothing_of_a_renewal(path: Path) -> None:
    """They go on in their threads while the file is opened again and again."""
    with Database.serve(path, row_group_rows=ROWS) as served, ThreadPoolExecutor() as threads:
        done = threading.Event()
        writing = threads.submit(lambda: [write(served, 200, first=1 + 200 * number) for number in range(40)])
        reading = [threads.submit(_counts, served, done) for _ in range(2)]
        renewed = sum(served.renew() for _ in range(60) if not sleep(0.01))
        writing.result()
        done.set()
        counts = [each.result() for each in reading]
        assert served.sql("SELECT count(*) FROM spans").item() == 8000
    assert renewed > 0
    assert all(each == sorted(each) for each in counts)


def _counts(database: Database, done: threading.Event) -> list[int]:
    found = []
    while not done.wait(0.02):
        found.append(database.sql("SELECT count(*) FROM spans").item())
    return found
