"""Spans, their events and links, as tables."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tracekit.otlp import columns
from tracekit.otlp.containers import Containers
from tracekit.otlp.fields import CODE
from tracekit.otlp.reading import Reading, condemn_parents, kept_rows
from tracekit.otlp.reasons import Reason
from tracekit.otlp.rejects import Verdict

SPANS = pa.schema(
    [
        ("resource_row", pa.int32()),
        ("scope_row", pa.int32()),
        ("trace_id", pa.binary(16)),
        ("span_id", pa.uint64()),
        ("parent_span_id", pa.uint64()),
        ("trace_state", pa.string()),
        ("flags", pa.uint32()),
        ("name", pa.string()),
        ("kind", pa.uint8()),
        ("start_ns", pa.int64()),
        ("end_ns", pa.int64()),
        ("attributes", pa.string()),
        ("dropped_attributes_count", pa.uint32()),
        ("dropped_events_count", pa.uint32()),
        ("dropped_links_count", pa.uint32()),
        ("status_code", pa.uint8()),
        ("status_message", pa.string()),
        ("document_row", pa.int32()),
    ]
)
SPAN_EVENTS = pa.schema([
    ("span_row", pa.int64()), ("event_index", pa.int32()), ("time_ns", pa.int64()), ("name", pa.string()),
    ("attributes", pa.string()), ("dropped_attributes_count", pa.uint32()),
])  # fmt: skip
SPAN_LINKS = pa.schema(
    [
        ("span_row", pa.int64()),
        ("link_index", pa.int32()),
        ("linked_trace_id", pa.binary(16)),
        ("linked_span_id", pa.uint64()),
        ("trace_state", pa.string()),
        ("flags", pa.uint32()),
        ("attributes", pa.string()),
        ("dropped_attributes_count", pa.uint32()),
    ]
)


def trace_tables(
    reading: Reading, around: Containers, *, first_resource: int, first_scope: int
) -> dict[str, pa.Table]:
    """Tables `spans`, `span_events` and `span_links` of the records that can be stored.

    `first_resource` and `first_scope` are the rows that the signal's resources and scopes begin at in the
    batch.
    """
    scopes = reading.rows.parents("Span")
    documents = around.document_of_scope[scopes]
    verdict = reading.verdict("Span")
    notes = _Notes(reading, documents, verdict)
    span_columns = {
        "resource_row": columns.cast_numbers(around.resource_of_scope[scopes] + first_resource, pa.int32()),
        "scope_row": columns.cast_numbers(scopes + first_scope, pa.int32()),
        **_identity(reading, verdict),
        **_content(reading, verdict, notes),
        "document_row": columns.cast_numbers(documents, pa.int32()),
    }
    events = _events(reading, verdict, notes)
    links = _links(reading, verdict, notes)
    reading.log.add_verdict("traces", verdict, documents)
    notes.write()
    spans = pa.table([span_columns[name] for name in SPANS.names], schema=SPANS)
    return {"spans": kept_rows(spans, verdict.is_kept), "span_events": events, "span_links": links}


class _Notes:
    """What is told about spans that are kept: written when it is known which are."""

    def __init__(self, reading: Reading, documents: np.ndarray, verdict: Verdict) -> None:
        self.reading, self.documents, self.verdict = reading, documents, verdict
        self.repeated: list[tuple[str, np.ndarray, np.ndarray]] = []
        self.bad_links = np.zeros(0, np.int64)

    def add(self, field: str, repeated: np.ndarray, spans: np.ndarray) -> None:
        """Keys that came again in `field`: a count and a span for each row of the field's record type."""
        self.repeated.append((field, repeated, spans))

    def write(self) -> None:
        """Writes the notes to the log."""
        for field, repeated, spans in self.repeated:
            counted = np.where(self.verdict.is_kept[spans], repeated, 0)
            self.reading.note_repeated("traces", field, counted, self.documents[spans])


def _identity(reading: Reading, verdict: Verdict) -> dict[str, pa.Array]:
    trace_id = reading.ids("Span.trace_id", size_bytes=16)
    span_id = reading.ids("Span.span_id", size_bytes=8)
    parent_id = reading.ids("Span.parent_span_id", size_bytes=8)
    verdict.reject(columns.is_zero(trace_id), Reason.TRACE_ID_INVALID, CODE["Span.trace_id"])
    verdict.reject(columns.is_zero(span_id), Reason.SPAN_ID_INVALID, CODE["Span.span_id"])
    wrong_parent = reading.has_wrong_size("Span.parent_span_id", size_bytes=8)
    verdict.reject(wrong_parent, Reason.PARENT_SPAN_ID_INVALID, CODE["Span.parent_span_id"])
    return {
        "trace_id": columns.trace_ids(trace_id),
        "span_id": columns.span_ids(span_id),
        "parent_span_id": columns.span_ids(parent_id, is_valid=parent_id[:, 0] != 0),
    }


def _content(reading: Reading, verdict: Verdict, notes: _Notes) -> dict[str, pa.Array]:
    attributes, repeated = reading.attributes("Span.attributes", verdict)
    notes.add("Span.attributes", repeated, np.arange(len(repeated)))
    counts = ("dropped_attributes_count", "dropped_events_count", "dropped_links_count", "flags")
    return {
        "start_ns": columns.numbers(
            reading.time("Span.start_time_unix_nano", verdict, needed=True), pa.int64()
        ),
        "end_ns": columns.numbers(reading.time("Span.end_time_unix_nano", verdict, needed=False), pa.int64()),
        "name": reading.text("Span.name", verdict),
        "trace_state": reading.text("Span.trace_state", verdict),
        "status_message": reading.text("Span.status.message", verdict),
        "kind": reading.small("Span.kind", pa.uint8(), verdict),
        "status_code": reading.small("Span.status.code", pa.uint8(), verdict),
        "attributes": attributes,
        **{name: reading.small(f"Span.{name}", pa.uint32(), verdict) for name in counts},
    }


def _events(reading: Reading, spans: Verdict, notes: _Notes) -> pa.Table:
    parents = reading.rows.parents("Event")
    if len(parents) == 0:
        return SPAN_EVENTS.empty_table()
    verdict = reading.open_verdict("Event")
    attributes, repeated = reading.attributes("Event.attributes", verdict)
    notes.add("Event.attributes", repeated, parents)
    found = {
        "time_ns": columns.numbers(reading.time("Event.time_unix_nano", verdict, needed=False), pa.int64()),
        "name": reading.text("Event.name", verdict),
        "attributes": attributes,
        "dropped_attributes_count": reading.small("Event.dropped_attributes_count", pa.uint32(), verdict),
    }
    condemn_parents(spans, verdict, parents)
    return _children(found, SPAN_EVENTS, parents, spans, np.ones(len(parents), np.bool_))


def _links(reading: Reading, spans: Verdict, notes: _Notes) -> pa.Table:
    parents = reading.rows.parents("Link")
    if len(parents) == 0:
        return SPAN_LINKS.empty_table()
    verdict = reading.open_verdict("Link")
    trace_id = reading.ids("Link.trace_id", size_bytes=16)
    span_id = reading.ids("Link.span_id", size_bytes=8)
    attributes, repeated = reading.attributes("Link.attributes", verdict)
    notes.add("Link.attributes", repeated, parents)
    found = {
        "linked_trace_id": columns.trace_ids(trace_id, is_valid=~columns.is_zero(trace_id)),
        "linked_span_id": columns.span_ids(span_id, is_valid=~columns.is_zero(span_id)),
        "trace_state": reading.text("Link.trace_state", verdict),
        "flags": reading.small("Link.flags", pa.uint32(), verdict),
        "attributes": attributes,
        "dropped_attributes_count": reading.small("Link.dropped_attributes_count", pa.uint32(), verdict),
    }
    condemn_parents(spans, verdict, parents)
    wrong = reading.has_wrong_size("Link.trace_id", size_bytes=16) | reading.has_wrong_size(
        "Link.span_id", size_bytes=8
    )
    bad = np.flatnonzero(wrong & spans.is_kept[parents])
    reading.log.add(
        "traces", Reason.LINK_ID_INVALID, kind="note", documents=notes.documents[parents[bad]],
        positions=verdict.position[bad],
    )  # fmt: skip
    return _children(found, SPAN_LINKS, parents, spans, ~wrong)


def _children(
    found: dict[str, pa.Array], schema: pa.Schema, parents: np.ndarray, spans: Verdict, is_kept: np.ndarray
) -> pa.Table:
    """Table of events or links: their span's row among those kept, their place among their siblings as
    sent.
    """
    row_of_span = np.cumsum(spans.is_kept) - 1
    first_of_span = np.searchsorted(parents, parents, side="left")
    found[schema.names[0]] = columns.cast_numbers(row_of_span[parents], pa.int64())
    found[schema.names[1]] = columns.cast_numbers(np.arange(len(parents)) - first_of_span, pa.int32())
    table = pa.table([found[name] for name in schema.names], schema=schema)
    return kept_rows(table, is_kept & spans.is_kept[parents])
