"""What the schema of a store refuses is counted and set aside, record by record; the rest is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.store.records import attributes, batch, gauge, logs, metrics, point, span, traces
from tracekit.records import RECORD_TABLES, SCHEMAS, Batch
from tracekit.store import Database, IngestWriter, WriteCounts

LINK = {"traceId": f"{9:032x}", "spanId": f"{9:016x}"}
STORED_AS = {name: name for name in SCHEMAS if name not in ("documents", "rejects", "span_keys")}
COUNTING = {"resource_row", "scope_row", "span_row", "stream_row", "document_row"}
"""Columns that lead to other rows; the writer puts numbers of the store in their place."""


def everything() -> Batch:
    """Some of every kind of record, each with all it can have, in three documents."""
    full = {
        "events": [{"timeUnixNano": "1", "name": "event", "attributes": attributes({"a": 1})}],
        "links": [{**LINK, "traceState": "a=1", "attributes": attributes({"a": 1})}],
        "attributes": attributes({"a": 1, "b": "x"}),
        "status": {"code": 2, "message": "failed"},
        "parentSpanId": f"{3:016x}",
    }
    exemplar = {"timeUnixNano": "1", "asDouble": 0.5, **LINK, "filteredAttributes": attributes({"a": 1})}
    counted = {"timeUnixNano": "2", "startTimeUnixNano": "1", "count": "1", "sum": 1}
    kinds = [
        gauge("gauge", point(1, 1), point(2, 0.5) | {"exemplars": [exemplar]}),
        {"name": "h", "histogram": {"dataPoints": [counted | {"bucketCounts": ["1"]}], "aggregationTemporality": 2}},
        {"name": "e", "exponentialHistogram": {"dataPoints": [counted | {"scale": 1}], "aggregationTemporality": 2}},
        {"name": "s", "summary": {"dataPoints": [counted | {"quantileValues": [{"quantile": 0.5, "value": 1}]}]}},
    ]
    record = {"timeUnixNano": "1", "body": {"stringValue": "text"}, "severityText": "INFO", **LINK}
    return batch(traces(span(1, 1, **full), span(1, 2, **full)), metrics(*kinds), logs(record, {"eventName": "other"}))


def with_value(whole: Batch, table: str, column: str, value: Any) -> Batch:
    """The batch with one value of its last row exchanged."""
    rows = getattr(whole, table)
    place = rows.schema.get_field_index(column)
    values = [*rows[column].to_pylist()[:-1], value]
    changed = rows.set_column(place, rows.schema.field(place), pa.array(values, rows.schema.field(place).type))
    return replace(whole, **{table: changed})


def extremes(kind: pa.DataType) -> list[Any]:
    """Nothing, and the values of an Arrow type that a narrower column would not take."""
    if pa.types.is_integer(kind):
        bits, is_signed = kind.bit_width, pa.types.is_signed_integer(kind)
        return [None, -(1 << (bits - 1)), (1 << (bits - 1)) - 1] if is_signed else [None, 0, (1 << bits) - 1]
    if pa.types.is_floating(kind):
        return [None, float("nan"), float("inf"), 5e-324]
    if pa.types.is_list(kind):
        return [None, [], [None], [each for each in extremes(kind.value_type) if each is not None]]
    if pa.types.is_fixed_size_binary(kind):
        return [None, bytes(kind.byte_width), b"\xff" * kind.byte_width]
    if pa.types.is_boolean(kind):
        return [None, False]
    return [None, "", "\0", "not JSON {", '"', "x" * 70_000, "[" * 2000, '{"a":1,"a":2}', "1e999", "{}"]


def stored_columns() -> Iterator[tuple[str, str]]:
    """The columns of records that a store has, from its own schema, and those that only the decoder gives."""
    with Database.open(None) as database:
        found = database.sql("SELECT table_name, column_name FROM duckdb_columns() WHERE schema_name = 'base'").rows()
    for table in STORED_AS:
        made_here = {name for name in SCHEMAS[table].names if name not in COUNTING}
        assert {name for other, name in found if other == table} & made_here, table
        yield from ((table, column) for column in SCHEMAS[table].names if column in made_here)


def record_count(whole: Batch) -> int:
    return sum(getattr(whole, name).num_rows for name in RECORD_TABLES)


def accounted(counts: WriteCounts) -> int:
    """Records that were stored, known already, or set aside and told."""
    return counts.spans + counts.metric_points + counts.logs + counts.duplicates + counts.rejected


@pytest.fixture(scope="module")
def database() -> Iterator[Database]:
    with Database.open(None) as database:
        yield database


@pytest.mark.parametrize(("table", "column"), list(stored_columns()))
def test_no_value_of_any_column_stops_the_store(database: Database, table: str, column: str) -> None:
    """Whatever stands there: it is stored, or its record is refused and counted, and all others are stored."""
    whole = everything()
    for value in extremes(SCHEMAS[table].field(column).type):
        writer = IngestWriter(database, source=f"{table}.{column}")
        counts = writer.write(with_value(whole, table, column, value))
        assert accounted(counts) == record_count(whole), value
        assert {each.reason for each in counts.rejects} <= {"refused_by_store", "span_id_conflict"}, value
        assert accounted(writer.finish()) == accounted(counts), value


def unnamed(whole: Batch, rows: set[int]) -> Batch:
    """The batch with spans that have no name, which the schema does not take."""
    names = [None if row in rows else name for row, name in enumerate(whole.spans["name"].to_pylist())]
    return replace(whole, spans=whole.spans.set_column(7, whole.spans.schema.field(7), pa.array(names, pa.string())))


@settings(max_examples=15)
@given(sizes=st.lists(st.integers(1, 12), min_size=1, max_size=4), chosen=st.sets(st.integers(0, 47), max_size=6))
def test_exactly_the_refused_records_are_set_aside(sizes: list[int], chosen: set[int]) -> None:
    """Each is counted for its own document; what belongs to the others is stored with them."""
    events = [{"timeUnixNano": "1", "name": "event"}]
    documents = [
        traces(*(span(place + 1, number + 1, name=f"{place}.{number}", events=events) for number in range(size)))
        for place, size in enumerate(sizes)
    ]
    whole = batch(*documents)
    owner = whole.spans["document_row"].to_pylist()
    bad = {row for row in chosen if row < len(owner)}
    with Database.open(None) as database:
        (counts,) = IngestWriter(database, source="test").write_all([(unnamed(whole, bad), ())])
        stored = database.sql("SELECT name FROM spans").to_series().to_list()
        kept_events = database.sql("SELECT count(*) AS count FROM span_events").item()
    names = whole.spans["name"].to_pylist()
    assert sorted(stored) == sorted(name for row, name in enumerate(names) if row not in bad)
    assert kept_events == counts.spans == len(names) - len(bad)
    told = {each.document_row: 0 for each in counts.rejects}
    for each in counts.rejects:
        told[each.document_row] += each.record_count
    assert told == {place: sum(owner[row] == place for row in bad) for place in {owner[row] for row in bad}}


def test_the_others_of_a_transaction_are_stored_too(database: Database) -> None:
    """Two batches written together: the bad one of them costs the other nothing."""
    good = batch(traces(span(77, 1, name="good")))
    bad = unnamed(batch(traces(span(78, 1, name="bad"), span(78, 2, name="beside"))), {0})
    counts = IngestWriter(database, source="both").write_all([(good, ()), (bad, ())])
    assert [(each.spans, each.rejected) for each in counts] == [(1, 0), (1, 1)]
    assert "Constraint Error" in str(counts[1].rejects[0].example)
