"""Spans with their events and links on the way into the store: each span once."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.store.columns import as_json, as_uuid, numbered, numbers, one_array, replaced
from tracekit.store.known_spans import Stored, span_keys, stored
from tracekit.store.recent_spans import RecentSpans
from tracekit.store.statements import run

_IDENTITY = ("start_ns", "end_ns", "kind", "status_code")


@dataclass(frozen=True, slots=True)
class SpanFates:
    """What becomes of each incoming span: stored, a duplicate, or in conflict with another of its id."""

    stored: NDArray[np.bool_]
    conflicting: NDArray[np.bool_]

    @property
    def duplicate_count(self) -> int:
        """Spans that are there already."""
        return int(np.count_nonzero(~self.stored & ~self.conflicting))


def write_spans(
    cursor: duckdb.DuckDBPyConnection,
    spans: pa.Table,
    *,
    first_rows: NDArray[np.int64],
    recent: RecentSpans | None,
    events: pa.Table,
    links: pa.Table,
    ingest_ids: NDArray[np.int64],
) -> SpanFates:
    """Store the spans that are new, with their events and links, and say what became of each.

    `spans` has `resource_id` and `scope_id` beside the decoder's columns; they are stored in their order.
    `first_rows` has for each span the row of the span that came first with its id, `recent` what is remembered
    of the spans that came last, `ingest_ids` the ingest that it came with. Events and links name their span by
    `span_row`.
    """
    columns = {"trace_id": as_uuid(spans["trace_id"]), "ingest_id": pa.array(ingest_ids.astype(np.uint32))}
    spans = numbered(replaced(spans, columns))
    keys = span_keys(spans)
    fates = span_fates(spans, first_rows, stored(cursor, spans, keys, recent))
    if recent is not None:
        starts_ns = numbers(spans["start_ns"]).astype(np.int64)
        recent.add(keys[fates.stored], ingest_ids[fates.stored], starts_ns[fates.stored])
    order = np.flatnonzero(fates.stored)
    new = _taken(spans, order)
    tables = {"incoming_spans": replaced(new, {"attributes": as_json(new["attributes"])})}
    run(cursor, "store/add_spans", tables=tables)
    _write_parts(cursor, "events", spans, parts=events, order=order)
    _write_parts(cursor, "links", spans, parts=links, order=order)
    return fates


def span_fates(spans: pa.Table, first: NDArray[np.int64], found: Stored) -> SpanFates:
    """Compare the spans with each other and with what was found in the store: the first of an id stays.

    `first` has for each span the row of the first one of its id. A second span of the same id is a duplicate
    when start, end, name, kind and status agree, else a conflict.
    """
    repeated = np.flatnonzero(first != np.arange(first.size))
    conflicting = np.zeros(first.size, np.bool_)
    conflicting[repeated] = ~_same(spans, repeated, first[repeated])
    known = np.zeros(first.size, np.bool_)
    known[repeated] = True
    known[found.rows] = True
    conflicting[found.rows] = ~found.same
    return SpanFates(stored=~known, conflicting=conflicting)


def _same(spans: pa.Table, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    same = np.ones(rows.size, np.bool_)
    for name in _IDENTITY:
        values = numbers(spans[name])
        same &= values[rows] == values[others]
    names = one_array(spans["name"])
    return same & (names.take(pa.array(rows)).to_numpy(zero_copy_only=False) == _text(names, others))


def _text(column: pa.Array, rows: NDArray[np.int64]) -> NDArray[np.object_]:
    return column.take(pa.array(rows)).to_numpy(zero_copy_only=False)


def _taken(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    in_place = rows.size == table.num_rows and np.array_equal(rows, np.arange(rows.size))
    return table if in_place else table.take(pa.array(rows))


def _write_parts(
    cursor: duckdb.DuckDBPyConnection,
    kind: str,
    spans: pa.Table,
    *,
    parts: pa.Table,
    order: NDArray[np.int64],
) -> None:
    """Store the events or links of the spans that are stored, in the order of those spans."""
    if parts.num_rows == 0:
        return
    place = np.full(spans.num_rows, -1, np.int64)
    place[order] = np.arange(order.size)
    places = place[numbers(parts["span_row"])]
    by_span = np.argsort(places, kind="stable")
    rows = by_span[np.count_nonzero(places < 0) :]
    taken = _taken(parts, rows)
    owners = numbers(taken["span_row"])
    ids = {name: one_array(spans[name]).take(pa.array(owners)) for name in ("trace_id", "span_id", "ingest_id")}
    if kind == "links":
        ids["linked_trace_id"] = as_uuid(taken["linked_trace_id"])
    tables = {f"incoming_{kind}": replaced(taken, ids)}
    run(cursor, f"store/add_span_{kind}", tables=tables)
