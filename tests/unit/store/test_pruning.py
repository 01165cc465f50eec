"""Old data goes, young data stays, and the file gets smaller."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks.receive_load import SPANS_PER_BATCH, SPANS_PER_TRACE, Batches
from tests.conformance import exports
from tracekit.otlp import Document, Signal, decode
from tracekit.stages import update_units
from tracekit.store import Database, IngestWriter, prune, rewrite, stored_bytes, used_bytes

DAY_NS = 86_400 * 10**9
BATCHES_PER_DAY = 260
SPANS_PER_DAY = BATCHES_PER_DAY * SPANS_PER_BATCH


def write(database: Database, *payloads: bytes, signal: Signal = "traces") -> None:
    batch = decode([Document(payload) for payload in payloads], encoding="protobuf", signal=signal)
    IngestWriter(database, source="test").write_all([(batch, ())])


def counts(database: Database) -> tuple[int, int, int]:
    names = ("spans", "units", "logs")
    return tuple(database.sql(f"SELECT count(*) AS count FROM base.{name}")["count"][0] for name in names)


def uncommented(database: Database) -> int:
    statement = "SELECT count(*) AS count FROM duckdb_columns() WHERE schema_name = 'base' AND comment IS NULL"
    return int(database.sql(statement)["count"][0])


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """Two days: spans in traces of eight each day, enough for several row groups, and one log record."""
    batches = Batches(seed=1)
    with Database.open(tmp_path / "store.duckdb") as opened:
        for day in range(2):
            now_ns = exports.START_NS + day * DAY_NS
            write(opened, *(batches.next(now_ns) for _ in range(BATCHES_PER_DAY)))
        write(opened, exports.logs(1), signal="logs")
        update_units(opened)
        opened.sql("CHECKPOINT")
        yield opened


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Database]:
    """A store with one old and one young trace of a few spans."""
    with Database.open(tmp_path / "small.duckdb") as opened:
        write(opened, exports.traces(3), exports.traces(3, start_ns=exports.START_NS + DAY_NS))
        update_units(opened)
        yield opened


def test_what_ended_before_goes_with_its_units_and_the_file_shrinks(database: Database) -> None:
    """Spans, units and their stages go together; the bytes are given back when it is rewritten."""
    path, size_before = database.path, stored_bytes(database.path)
    report = prune(database, before_ns=exports.START_NS + DAY_NS // 2)
    assert (report.spans, report.logs) == (SPANS_PER_DAY, 1)
    assert counts(database) == (SPANS_PER_DAY, SPANS_PER_DAY // SPANS_PER_TRACE, 0)
    left = database.sql("SELECT count(DISTINCT unit_id) AS count FROM base.unit_stages")["count"][0]
    assert left == SPANS_PER_DAY // SPANS_PER_TRACE
    database.close()
    rewrite(path)
    assert stored_bytes(path) < 0.75 * size_before
    with Database.open(path) as rewritten:
        assert counts(rewritten) == (SPANS_PER_DAY, SPANS_PER_DAY // SPANS_PER_TRACE, 0)
        assert uncommented(rewritten) == 0


def test_a_trace_stays_as_long_as_one_of_its_spans_is_young(small: Database) -> None:
    """Half a trace would be a wrong trace."""
    trace_id = bytes(range(1, 17))
    write(small, exports.traces(1, trace_id=trace_id))
    write(small, exports.traces(1, trace_id=trace_id, start_ns=exports.START_NS + DAY_NS))
    prune(small, before_ns=exports.START_NS + DAY_NS)
    kept = small.sql("SELECT count(*) AS count FROM spans WHERE trace_id = $id", id=trace_id.hex())
    assert kept["count"][0] == 2


def test_a_size_is_met_by_taking_the_oldest(database: Database) -> None:
    """What is in use ends below the limit, and what is left is younger than all that went."""
    limit = int(0.7 * used_bytes(database))
    report = prune(database, max_bytes=limit)
    assert used_bytes(database) <= limit
    assert report.before_ns is not None
    ends = database.sql("SELECT max(end_ns) AS end_ns FROM spans GROUP BY trace_id")
    assert ends["end_ns"].min() >= report.before_ns


def test_nothing_goes_where_nothing_is_too_old_or_too_large(small: Database) -> None:
    """Pruning twice is pruning once."""
    before = counts(small)
    report = prune(small, before_ns=0, max_bytes=1 << 40)
    assert (report.spans, report.metric_points, report.logs) == (0, 0, 0)
    assert counts(small) == before


def test_after_pruning_the_store_takes_and_dedupes_as_before(small: Database) -> None:
    """Rows that were moved are found again."""
    payload = exports.traces(5, start_ns=exports.START_NS + 5 * DAY_NS)
    write(small, payload)
    prune(small, before_ns=exports.START_NS + DAY_NS)
    before = counts(small)
    write(small, payload)
    assert counts(small) == before


def test_an_ingest_after_all_was_pruned_gets_a_new_number_and_its_units(small: Database) -> None:
    """Units are made of ingests with higher numbers than before; a number given twice would have none."""
    prune(small, before_ns=exports.START_NS + 10 * DAY_NS)
    assert counts(small) == (0, 0, 0)
    write(small, exports.traces(3))
    update_units(small)
    assert counts(small) == (3, 3, 0)
