"""Spans as a table, with the tables of their events and links."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tracekit.otlp import columns
from tracekit.otlp.containers import Containers
from tracekit.otlp.fields import CODE
from tracekit.otlp.reading import Reading, condemn_parents, kept_rows
from tracekit.otlp.reasons import Reason
from tracekit.otlp.rejects import Verdict
from tracekit.otlp.span_children import events, links

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


def trace_tables(reading: Reading, around: Containers, *, first_resource: int, first_scope: int) -> dict[str, pa.Table]:
    """Tables `spans`, `span_events` and `span_links` of the records that can be stored.

    `first_resource` and `first_scope` are the rows that the signal's resources and scopes begin at in the
    batch.
    """
    scopes = reading.rows.parents("Span")
    documents = around.document_of_scope[scopes]
    verdict = reading.verdict("Span")
    content, repeated = _content(reading, verdict)
    found = {
        "resource_row": columns.cast_numbers(around.resource_of_scope[scopes] + first_resource, pa.int32()),
        "scope_row": columns.cast_numbers(scopes + first_scope, pa.int32()),
        **_identity(reading, verdict),
        **content,
        "document_row": columns.cast_numbers(documents, pa.int32()),
    }
    children = {"span_events": events(reading), "span_links": links(reading)}
    for each in children.values():
        condemn_parents(verdict, each.verdict, each.parents)
    reading.log.add_verdict("traces", verdict, documents)
    repeated = np.where(verdict.is_kept, repeated, 0)
    reading.note_repeated("traces", "Span.attributes", repeated, documents)
    for each in children.values():
        each.write_notes(verdict, documents)
    spans = pa.table([found[name] for name in SPANS.names], schema=SPANS)
    tables = {name: each.table(verdict) for name, each in children.items()}
    return {"spans": kept_rows(spans, verdict.is_kept), **tables}


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


def _content(reading: Reading, verdict: Verdict) -> tuple[dict[str, pa.Array], np.ndarray]:
    """The columns of what a span says, and per row the number of keys that came again."""
    attributes, repeated = reading.attributes("Span.attributes", verdict)
    counts = ("dropped_attributes_count", "dropped_events_count", "dropped_links_count", "flags")
    start_ns = reading.time("Span.start_time_unix_nano", verdict, needed=True)
    end_ns = reading.time("Span.end_time_unix_nano", verdict, needed=False)
    found = {
        "start_ns": columns.numbers(start_ns, pa.int64()),
        "end_ns": columns.numbers(end_ns, pa.int64()),
        "name": reading.text("Span.name", verdict),
        "trace_state": reading.text("Span.trace_state", verdict),
        "status_message": reading.text("Span.status.message", verdict),
        "kind": reading.small("Span.kind", pa.uint8(), verdict),
        "status_code": reading.small("Span.status.code", pa.uint8(), verdict),
        "attributes": attributes,
        **{name: reading.small(f"Span.{name}", pa.uint32(), verdict) for name in counts},
    }
    return found, repeated
