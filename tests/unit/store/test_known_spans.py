"""Which incoming spans the store holds, found by memory and bounds, against reading the whole store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tests.unit.store import records
from tracekit.store import Database, IngestWriter
from tracekit.store.columns import as_uuid, numbered, numbers, replaced
from tracekit.store.known_spans import Stored, load_recent, span_keys, stored
from tracekit.store.recent_spans import RecentSpans

DAY_NS = 86_400 * 10**9


def incoming(*spans: records.Record) -> pa.Table:
    """Spans as the writer has them before they are stored."""
    table = records.batch(records.traces(*spans)).spans
    return numbered(replaced(table, {"trace_id": as_uuid(table["trace_id"])}))


def span(number: int, *, day: int = 0, name: str = "work") -> records.Record:
    start_ns = 1 + number + day * DAY_NS
    return records.span(1 + number // 4, 1 + number, start=start_ns, end=start_ns + 1, name=name)


@contextmanager
def store_of(*ingests: list[records.Record]) -> Iterator[duckdb.DuckDBPyConnection]:
    """A store with one ingest after the other."""
    with Database.open(None) as database:
        for spans in ingests:
            IngestWriter(database, source="test").write(records.batch(records.traces(*spans)))
        cursor = database.cursor()
        yield cursor
        cursor.close()


def loaded(cursor: duckdb.DuckDBPyConnection, *, slot_count: int) -> RecentSpans:
    recent = RecentSpans(slot_count=slot_count)
    load_recent(cursor, recent)
    return recent


def as_pairs(found: Stored) -> list[tuple[int, bool]]:
    return list(zip(found.rows.tolist(), found.same.tolist(), strict=True))


INGESTS = ([span(number) for number in range(20)], [span(number, day=3) for number in range(20, 40)])
CASES = {
    "all new": [span(number, day=4) for number in range(100, 110)],
    "one of the last ingest": [span(100), span(25, day=3)],
    "one of an old ingest": [span(100, day=3), span(3)],
    "old and new ones, far apart": [span(3), span(17), span(39, day=3), span(200, day=90)],
    "an id of the last ingest with another name": [span(25, day=3, name="other"), span(26, day=3)],
    "an id of an old ingest with another name": [span(3, name="other"), span(4)],
    "nothing": [],
}


@pytest.mark.parametrize("spans", CASES.values(), ids=CASES.keys())
@pytest.mark.parametrize("slot_count", [8, 64, 1024], ids=["remembers 4", "remembers 32", "remembers all"])
def test_memory_finds_what_reading_the_whole_store_finds(slot_count: int, spans: list[records.Record]) -> None:
    """Repeats and conflicts are found however long ago the first one came."""
    with store_of(*INGESTS) as cursor:
        table = incoming(*spans) if spans else incoming(span(1)).slice(0, 0)
        found = stored(cursor, table, span_keys(table), loaded(cursor, slot_count=slot_count))
        assert as_pairs(found) == as_pairs(stored(cursor, table, span_keys(table), None))


def test_what_was_remembered_and_never_committed_is_new() -> None:
    """A span whose transaction was aborted comes again, and is not taken for a repeat."""
    with store_of(INGESTS[0]) as cursor:
        recent = loaded(cursor, slot_count=1024)
        table = incoming(span(77), span(3))
        recent.add(span_keys(table), np.array([2, 1]), np.array([78, 4]))
        assert as_pairs(stored(cursor, table, span_keys(table), recent)) == [(1, True)]


def test_a_store_of_more_spans_than_are_remembered_is_loaded_from_its_end() -> None:
    """What is not remembered is known to be not."""
    with store_of(*INGESTS) as cursor:
        recent = loaded(cursor, slot_count=64)
        last = incoming(*INGESTS[1])
        assert recent.ingests(span_keys(last)).tolist() == [2] * 20
        assert recent.covered_from == 2
        assert loaded(cursor, slot_count=1024).covered_from == 0


class Reading:
    """A cursor that counts how often the store is asked."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection) -> None:
        self._cursor = cursor
        self.statements = 0

    def execute(self, *asked: Any) -> duckdb.DuckDBPyConnection:
        self.statements += 1
        return self._cursor.execute(*asked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


@pytest.mark.parametrize(("day", "statements"), [(0, 1), (90, 0)], ids=["when older ones did", "at another time"])
def test_the_store_is_read_only_where_spans_that_are_not_remembered_start(day: int, statements: int) -> None:
    """What arrives as it happens costs the same however much came before."""
    with store_of(*INGESTS) as cursor:
        recent = loaded(cursor, slot_count=64)
        reading: Any = Reading(cursor)
        table = incoming(*(span(number, day=day) for number in range(100, 110)))
        assert as_pairs(stored(reading, table, span_keys(table), recent)) == []
        assert reading.statements == statements


def test_what_is_forgotten_while_spans_arrive_is_found_again() -> None:
    """The first ones of a long ingest, and those of one before."""
    with store_of(*INGESTS) as cursor:
        recent = RecentSpans(slot_count=32)
        for number, spans in enumerate((*INGESTS, *INGESTS[1:]), 1):
            table = incoming(*spans)
            recent.add(span_keys(table), np.full(len(spans), min(number, 2)), numbers(table["start_ns"]))
        assert recent.covered_from == 3
        table = incoming(span(3), span(25, day=3), span(100, day=3))
        assert as_pairs(stored(cursor, table, span_keys(table), recent)) == [(0, True), (1, True)]


def test_an_empty_store_has_nothing_to_load() -> None:
    """The first start of a server."""
    with store_of() as cursor:
        recent = loaded(cursor, slot_count=64)
        assert recent.covered_from == 0
        table = incoming(span(1))
        assert as_pairs(stored(cursor, table, span_keys(table), recent)) == []
