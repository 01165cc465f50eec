"""The columns of what arrived: the tables that every format is read into, and that a store writes.

A column whose name ends in `_row` counts the rows of another table of the same batch from 0. Times are nanoseconds
since the Unix epoch. `attributes`, `body`, `metadata` and `entity_refs` are JSON text, null where there is nothing:
an object in the sender's order, integers and doubles apart (a double has a point or an exponent), and what JSON cannot
say in OTLP/JSON's own form, `{"bytesValue":"AAE="}` or `{"doubleValue":"NaN"}`.

What a store takes for the same record, and keeps once: a span with the same trace id and span id (another time, name,
kind or status is a conflict: the first one stays); a point or exemplar of the same series, time and content; a log
record of the same resource and content. A series is its resource, scope, name, unit, kind and attributes.
"""

from __future__ import annotations

from typing import Literal

import pyarrow as pa

Signal = Literal["traces", "metrics", "logs"]
SIGNALS: tuple[Signal, ...] = ("traces", "metrics", "logs")

DOCUMENTS = pa.schema([("source_row", pa.int32()), ("offset", pa.int64())])
"""Where records come from, a row for each document (message, line, row group) that was read.

`source_row` numbers the files or requests of the batch, `offset` is the document's first byte in its source. Spans,
streams and logs name their document; events and links have that of their span, points and exemplars that of their
stream.
"""
RESOURCES = pa.schema([
    ("attributes", pa.string()), ("dropped_attributes_count", pa.uint32()), ("schema_url", pa.string()),
    ("entity_refs", pa.string()),
])  # fmt: skip
SCOPES = pa.schema([
    ("name", pa.string()), ("version", pa.string()), ("attributes", pa.string()),
    ("dropped_attributes_count", pa.uint32()), ("schema_url", pa.string()),
])  # fmt: skip
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
SPAN_KEYS = pa.schema([("resource_row", pa.int32()), ("key", pa.string())])
"""The attribute keys that spans of resources with the same attributes have; such resources stand for each other."""
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
METRIC_STREAMS = pa.schema(
    [
        ("resource_row", pa.int32()),
        ("scope_row", pa.int32()),
        ("name", pa.string()),
        ("description", pa.string()),
        ("unit", pa.string()),
        ("kind", pa.string()),
        ("temporality", pa.uint8()),
        ("is_monotonic", pa.bool_()),
        ("attributes", pa.string()),
        ("metadata", pa.string()),
        ("document_row", pa.int32()),
    ]
)
"""Columns of `metric_streams`. `temporality` is OTLP's number (0 unspecified, 1 delta, 2 cumulative)."""
_TIMES = [("start_ns", pa.int64()), ("time_ns", pa.int64()), ("flags", pa.uint32())]
METRIC_POINTS = pa.schema([
    ("stream_row", pa.int64()), *_TIMES, ("value_int", pa.int64()), ("value_double", pa.float64()),
])  # fmt: skip
"""Columns of `metric_points` (gauges and sums). `start_ns` is null where the sender left it 0."""
METRIC_HISTOGRAMS = pa.schema(
    [
        ("stream_row", pa.int64()),
        *_TIMES,
        ("count", pa.uint64()),
        ("sum", pa.float64()),
        ("min", pa.float64()),
        ("max", pa.float64()),
        ("explicit_bounds", pa.list_(pa.float64())),
        ("bucket_counts", pa.list_(pa.uint64())),
        ("scale", pa.int32()),
        ("zero_count", pa.uint64()),
        ("zero_threshold", pa.float64()),
        ("positive_offset", pa.int32()),
        ("positive_counts", pa.list_(pa.uint64())),
        ("negative_offset", pa.int32()),
        ("negative_counts", pa.list_(pa.uint64())),
    ]
)
"""Columns of `metric_histograms`: bounds and counts for explicit ones, the rest of them for exponential ones."""
METRIC_SUMMARIES = pa.schema([
    ("stream_row", pa.int64()), *_TIMES, ("count", pa.uint64()), ("sum", pa.float64()),
    ("quantiles", pa.list_(pa.float64())), ("values", pa.list_(pa.float64())),
])  # fmt: skip
"""Columns of `metric_summaries`: `values[i]` is the value at `quantiles[i]`."""
EXEMPLARS = pa.schema(
    [
        ("stream_row", pa.int64()),
        ("point_time_ns", pa.int64()),
        ("time_ns", pa.int64()),
        ("value_int", pa.int64()),
        ("value_double", pa.float64()),
        ("trace_id", pa.binary(16)),
        ("span_id", pa.uint64()),
        ("attributes", pa.string()),
    ]
)
"""Columns of `exemplars`; `attributes` are those that the point's own attributes left out."""
LOGS = pa.schema(
    [
        ("resource_row", pa.int32()),
        ("scope_row", pa.int32()),
        ("time_ns", pa.int64()),
        ("observed_time_ns", pa.int64()),
        ("severity_number", pa.uint8()),
        ("severity_text", pa.string()),
        ("body", pa.string()),
        ("attributes", pa.string()),
        ("dropped_attributes_count", pa.uint32()),
        ("flags", pa.uint32()),
        ("trace_id", pa.binary(16)),
        ("span_id", pa.uint64()),
        ("event_name", pa.string()),
        ("document_row", pa.int32()),
    ]
)
"""Columns of `logs`. A time or id that the sender left empty or 0 is null; `body` is JSON text of any value."""
REJECTS = pa.schema([
    ("signal", pa.string()), ("kind", pa.string()), ("reason", pa.string()), ("count", pa.int64()),
    ("document_row", pa.int32()), ("offset", pa.int64()), ("example", pa.string()),
])  # fmt: skip
"""Columns of a reject report, a row per document, reason and kind.

`kind` is `rejected` (not stored) or `note` (stored, but something of it was set aside or is doubtful),
`count` the number of records or, for `duplicate_attribute_key`, of attributes; `offset` and `example` are
those of the first one.
"""
SCHEMAS: dict[str, pa.Schema] = {
    "documents": DOCUMENTS,
    "resources": RESOURCES,
    "scopes": SCOPES,
    "spans": SPANS,
    "span_keys": SPAN_KEYS,
    "span_events": SPAN_EVENTS,
    "span_links": SPAN_LINKS,
    "metric_streams": METRIC_STREAMS,
    "metric_points": METRIC_POINTS,
    "metric_histograms": METRIC_HISTOGRAMS,
    "metric_summaries": METRIC_SUMMARIES,
    "exemplars": EXEMPLARS,
    "logs": LOGS,
    "rejects": REJECTS,
}
"""Columns of each table of a `Batch`."""
