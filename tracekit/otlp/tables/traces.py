"""Spans as a table, with the tables of their events and links."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tracekit.otlp.rejects import Verdict
from tracekit.otlp.tables import columns
from tracekit.otlp.tables.containers import Containers
from tracekit.otlp.tables.json_columns import JsonColumn
from tracekit.otlp.tables.reading import Reading, kept_rows, reject_parents
from tracekit.otlp.tables.span_children import events, links
from tracekit.otlp.wire.fields import CODE
from tracekit.records import SPAN_KEYS, SPANS, Reason
from tracekit.records.attribute_keys import attribute_keys


def trace_tables(reading: Reading, around: Containers, *, first_resource: int, first_scope: int) -> dict[str, pa.Table]:
    """Tables `spans`, `span_keys`, `span_events` and `span_links` of the records that can be stored.

    `first_resource` and `first_scope` are the rows that the signal's resources and scopes begin at in the
    batch.
    """
    scopes = reading.rows.parents("Span")
    documents = around.document_of_scope[scopes]
    verdict = reading.verdict("Span")
    resources = around.resource_of_scope[scopes]
    kinds, first_of_kind = _kinds(around.resources)
    content, attributes = _content(reading, verdict, kinds[resources])
    found = {
        "resource_row": columns.cast_numbers(resources + first_resource, pa.int32()),
        "scope_row": columns.cast_numbers(scopes + first_scope, pa.int32()),
        **_identity(reading, verdict),
        **content,
        "document_row": columns.cast_numbers(documents, pa.int32()),
    }
    children = {"span_events": events(reading), "span_links": links(reading)}
    for each in children.values():
        reject_parents(verdict, each.verdict, each.parents)
    reading.log.add_verdict("traces", verdict, documents)
    repeated = np.where(verdict.is_kept, attributes.repeated, 0)
    reading.note_repeated("traces", "Span.attributes", repeated, documents)
    for each in children.values():
        each.write_notes(verdict, documents)
    reading.note_wrong_size("traces", "Span.parent_span_id", Reason.PARENT_SPAN_ID_INVALID, verdict, documents)
    spans = pa.table([found[name] for name in SPANS.names], schema=SPANS)
    tables = {name: each.table(verdict) for name, each in children.items()}
    keys = _span_keys(reading, attributes, kinds[resources], first_of_kind + first_resource)
    return {"spans": kept_rows(spans, verdict.is_kept), "span_keys": keys, **tables}


def _kinds(resources: pa.Table) -> tuple[np.ndarray, np.ndarray]:
    """For each resource the number of its attributes among the distinct ones, and the first resource of each."""
    texts = resources["attributes"].combine_chunks().fill_null("")
    encoded = (texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts).dictionary_encode()
    kinds = encoded.indices.to_numpy()
    first = np.zeros(len(encoded.dictionary), np.int64)
    first[kinds[::-1]] = np.arange(kinds.size)[::-1]
    return kinds, first


def _span_keys(
    reading: Reading, attributes: JsonColumn, groups: np.ndarray, resource_of_group: np.ndarray
) -> pa.Table:  # fmt: skip
    """The keys that were noted; where there was no room for all of them they are read from the texts."""
    if attributes.known.is_complete:
        noted = attributes.known.in_order()
        resources = noted["group"]
        keys, _ = columns.strings(reading.source.buffer, noted["start"], noted["size"])
    else:
        found = attribute_keys(attributes.column.combine_chunks(), groups)
        resources, keys = found["group"].to_numpy(), found["key"]
    rows = columns.cast_numbers(resource_of_group[resources], pa.int32())
    return pa.table([rows, keys], schema=SPAN_KEYS)


def _identity(reading: Reading, verdict: Verdict) -> dict[str, pa.Array]:
    trace_id = reading.ids("Span.trace_id", size_bytes=16)
    span_id = reading.ids("Span.span_id", size_bytes=8)
    parent_id = reading.ids("Span.parent_span_id", size_bytes=8)
    verdict.reject(columns.is_zero(trace_id), Reason.TRACE_ID_INVALID, CODE["Span.trace_id"])
    verdict.reject(columns.is_zero(span_id), Reason.SPAN_ID_INVALID, CODE["Span.span_id"])
    return {
        "trace_id": columns.trace_ids(trace_id),
        "span_id": columns.span_ids(span_id),
        "parent_span_id": columns.span_ids(parent_id, is_valid=parent_id[:, 0] != 0),
    }


def _content(reading: Reading, verdict: Verdict, groups: np.ndarray) -> tuple[dict[str, pa.Array], JsonColumn]:
    """The columns of what a span says, and its attributes with the keys that spans of each group have."""
    attributes = reading.attribute_column("Span.attributes", verdict, groups=groups)
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
        "attributes": attributes.column,
        **{name: reading.small(f"Span.{name}", pa.uint32(), verdict) for name in counts},
    }
    return found, attributes
