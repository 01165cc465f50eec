"""The same records straight to Arrow tables, for runs of many millions of spans.

Table and column names are those of tracekit's OTLP decoder (`resources`, `scopes`, `spans`, `span_events`,
`span_links`, `metric_streams`, `metric_points`, `metric_histograms`), so what is made here can stand where
decoded files would. Attributes are JSON text, built column by column.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from generators import logs
from generators.metrics import Series
from generators.spans import Column, Emission, EventGroup, LinkGroup, Optional, SpanGroup, taken

HAS_IS_REMOTE, IS_REMOTE = 0x100, 0x200
"""OTLP span flags: whether the parent is in another process is known; it is."""
CUMULATIVE = 2
"""OTLP number of cumulative temporality."""


def tables(emission: Emission) -> dict[str, pa.Table]:
    """All tables of an emission, by name, as if all had come in one document; rows of spans in the order in which
    exporters send them."""
    scopes = sorted({part.scope for part in (*emission.groups, *emission.series, *emission.logs)})
    spans, positions = _spans(emission, scopes)
    made = {
        "resources": _resources(emission),
        "scopes": _scopes(scopes),
        "spans": spans,
        "span_events": _events(emission, positions),
        "span_links": _links(emission, positions),
        **_metrics(emission, scopes),
        "logs": logs.table(emission, scopes),
    }
    for name in ("spans", "metric_streams", "logs"):
        made[name] = made[name].append_column("document_row", _constant(np.int32(0), made[name].num_rows))
    return made


def attributes_json(columns: Mapping[str, Column | Optional], count: int) -> pl.Series:
    """One JSON object a row from columns of attributes; null where a row has none.

    Doubles always keep a decimal point or an exponent, so that they read back as doubles.
    """
    frame, pieces = {}, []
    for number, (key, column) in enumerate(columns.items()):
        prefix = f",{json.dumps(key)}:"
        if not isinstance(column, Optional | np.ndarray):
            pieces.append(pl.lit(prefix + json.dumps(column)))
            continue
        values = column.values if isinstance(column, Optional) else column
        frame[str(number)] = _json_values(values)
        piece = pl.concat_str(pl.lit(prefix), pl.col(str(number)))
        if isinstance(column, Optional):
            frame[f"{number} present"] = pl.Series(np.ascontiguousarray(column.present))
            piece = pl.when(pl.col(f"{number} present")).then(piece).otherwise(pl.lit(""))
        pieces.append(piece)
    if not pieces:
        return pl.Series([None], dtype=pl.String).new_from_index(0, count)
    # The row number makes a column of what would be one value where all attributes are constant.
    rows = pl.DataFrame(frame | {"row": np.arange(count)})
    pieces.append(pl.col("row").cast(pl.String).str.slice(0, 0))
    inner = pl.concat_str(pieces).str.slice(1)
    return rows.select(pl.when(inner != "").then(pl.concat_str(pl.lit("{"), inner, pl.lit("}"))).alias("json"))["json"]


def _json_values(values: np.ndarray) -> pl.Series:
    """Each value as JSON text."""
    if values.dtype.kind in "OU":
        texts = pl.Series(values.astype(object) if values.dtype.kind == "U" else values, dtype=pl.String)
        plain = not texts.str.contains(r'["\\\x00-\x1f]').any()
        quoted = pl.select(pl.concat_str(pl.lit('"'), texts, pl.lit('"'))).to_series()
        return quoted if plain else pl.Series([json.dumps(text) for text in texts], dtype=pl.String)
    return pl.Series(np.ascontiguousarray(values)).cast(pl.String)


def _resources(emission: Emission) -> pa.Table:
    texts = [json.dumps(dict(resource), separators=(",", ":")) for resource in emission.resources]
    count = len(texts)
    return pa.table({
        "attributes": pa.array(texts, pa.string()), "dropped_attributes_count": _zeros(count),
        "schema_url": _texts("", count),
        "entity_refs": pa.nulls(count, pa.string()),
    })  # fmt: skip


def _scopes(scopes: list[str]) -> pa.Table:
    count = len(scopes)
    return pa.table({
        "name": pa.array(scopes, pa.string()), "version": _texts("", count), "attributes": pa.nulls(count,
        pa.string()),
        "dropped_attributes_count": _zeros(count), "schema_url": _texts("", count),
    })  # fmt: skip


def _spans(emission: Emission, scopes: list[str]) -> tuple[pa.Table, list[np.ndarray]]:
    """The table of spans, and for each group the rows where its spans stand."""
    order = _order(emission)
    parts = [_group_table(emission, group, scopes.index(group.scope)) for group in emission.groups]
    whole = pa.concat_tables(parts)
    positions = np.empty(order.size, np.int64)
    positions[order] = np.arange(order.size)
    ends = np.cumsum([len(group) for group in emission.groups])[:-1]
    return whole.take(pa.array(order)), np.split(positions, ends)


def _order(emission: Emission) -> np.ndarray:
    """Positions in the groups' concatenation, in export order."""
    numbers, rows = emission.in_export_order()
    starts = np.concatenate([[0], np.cumsum([len(group) for group in emission.groups])])
    return starts[numbers] + rows


def _group_table(emission: Emission, group: SpanGroup, scope_row: int) -> pa.Table:
    count = len(group)
    names = pa.array(group.name, pa.string()) if isinstance(group.name, np.ndarray) else _texts(group.name, count)
    status = np.zeros(count, np.uint8) if group.status is None else group.status
    flags = HAS_IS_REMOTE | np.where(group.is_parent_remote & (group.parent_id != 0), IS_REMOTE, 0)
    return pa.table({
        "resource_row": pa.array(group.resource.astype(np.int32)),
        "scope_row": _constant(np.int32(scope_row), count),
        "trace_id": _trace_ids(emission.trace_high[group.trace], emission.trace_low[group.trace]),
        "span_id": pa.array(group.span_id),
        "parent_span_id": pa.array(group.parent_id, mask=group.parent_id == 0),
        "trace_state": _texts("", count),
        "flags": pa.array(flags.astype(np.uint32)),
        "name": names,
        "kind": _constant(np.uint8(group.kind), count),
        "start_ns": pa.array(group.start_ns),
        "end_ns": pa.array(group.end_ns),
        "attributes": _string(attributes_json(group.attributes, count)),
        "dropped_attributes_count": _zeros(count),
        "dropped_events_count": _zeros(count),
        "dropped_links_count": _zeros(count),
        "status_code": pa.array(status),
        "status_message": _texts("", count),
    })  # fmt: skip


def _trace_ids(high: np.ndarray, low: np.ndarray) -> pa.Array:
    """Trace ids as 16 bytes, big-endian."""
    halves = np.stack([high, low], axis=1).astype(">u8")
    return pa.Array.from_buffers(pa.binary(16), high.size, [None, pa.py_buffer(halves.tobytes())])


def _events(emission: Emission, positions: list[np.ndarray]) -> pa.Table:
    """Rows of the first, second, … event of each span; spans with several keep the order of their group."""
    rows, times, names, indexes, texts = [_EMPTY], [_EMPTY], [], [_EMPTY], []
    for group, where in zip(emission.groups, positions, strict=True):
        seen = np.zeros(len(group), np.int64)
        for event in group.events:
            rows.append(where[event.present])
            times.append(event.time_ns[event.present])
            indexes.append(seen[event.present])
            names += [event.name] * int(event.present.sum())
            texts.append(_present_json(event))
            seen += event.present
    count = len(names)
    return pa.table({
        "span_row": pa.array(np.concatenate(rows)),
        "event_index": pa.array(np.concatenate(indexes).astype(np.int32)),
        "time_ns": pa.array(np.concatenate(times)), "name": pa.array(names, pa.string()),
        "attributes": _all_texts(texts), "dropped_attributes_count": _zeros(count),
    }).sort_by([("span_row", "ascending"), ("event_index", "ascending")])  # fmt: skip


def _present_json(part: EventGroup | LinkGroup) -> pa.Array:
    """Attributes of those events or links that are there, as JSON text."""
    there = taken(part.attributes, part.present)
    return _string(attributes_json(there, int(part.present.sum())))


def _all_texts(parts: list[pa.Array]) -> pa.ChunkedArray:
    return pa.chunked_array(parts, pa.string())


def _links(emission: Emission, positions: list[np.ndarray]) -> pa.Table:
    rows, traces, spans, indexes, texts = [_EMPTY], [_EMPTY], [_EMPTY.astype(np.uint64)], [_EMPTY], []
    for group, where in zip(emission.groups, positions, strict=True):
        seen = np.zeros(len(group), np.int64)
        for link in group.links:
            rows.append(where[link.present])
            traces.append((group.trace if link.trace is None else link.trace)[link.present])
            texts.append(_present_json(link))
            spans.append(link.span_id[link.present])
            indexes.append(seen[link.present])
            seen += link.present
    trace, count = np.concatenate(traces), sum(part.size for part in rows)
    return pa.table({
        "span_row": pa.array(np.concatenate(rows)),
        "link_index": pa.array(np.concatenate(indexes).astype(np.int32)),
        "linked_trace_id": _trace_ids(emission.trace_high[trace], emission.trace_low[trace]),
        "linked_span_id": pa.array(np.concatenate(spans)), "trace_state": _texts("", count),
        "flags": _constant(np.uint32(HAS_IS_REMOTE), count), "attributes": _all_texts(texts),
        "dropped_attributes_count": _zeros(count),
    }).sort_by([("span_row", "ascending"), ("link_index", "ascending")])  # fmt: skip


def _metrics(emission: Emission, scopes: list[str]) -> dict[str, pa.Table]:
    """One stream a series; its points are rows of `metric_points` or `metric_histograms`."""
    series = emission.series
    numbered = list(enumerate(series))
    points = [(number, one) for number, one in numbered if one.bucket_counts is None]
    histograms = [(number, one) for number, one in numbered if one.bucket_counts is not None]
    return {
        "metric_streams": pa.table(_streams(series, scopes)),
        "metric_points": _joined([_points(number, one) for number, one in points]),
        "metric_histograms": _joined([_histograms(number, one) for number, one in histograms]),
    }


def _streams(series: tuple[Series, ...], scopes: list[str]) -> dict[str, pa.Array]:
    count = len(series)
    texts = [json.dumps(dict(one.attributes), separators=(",", ":")) if one.attributes else None for one in series]
    return {
        "resource_row": pa.array([one.resource for one in series], pa.int32()),
        "scope_row": pa.array([scopes.index(one.scope) for one in series], pa.int32()),
        "name": pa.array([one.name for one in series], pa.string()),
        "description": pa.array([one.description for one in series], pa.string()),
        "unit": pa.array([one.unit for one in series], pa.string()),
        "kind": pa.array([one.kind for one in series], pa.string()),
        "temporality": pa.array([None if one.kind == "gauge" else CUMULATIVE for one in series], pa.uint8()),
        "is_monotonic": pa.array([True if one.kind == "sum" else None for one in series], pa.bool_()),
        "attributes": pa.array(texts, pa.string()),
        "metadata": pa.nulls(count, pa.string()),
    }


def _points(number: int, series: Series) -> pa.Table:
    count, is_double = series.time_ns.size, series.values.dtype.kind == "f"
    start = pa.nulls(count, pa.int64()) if series.kind == "gauge" else _constant(np.int64(series.start_ns), count)
    return pa.table({
        "stream_row": _constant(np.int32(number), count), "start_ns": start,
        "time_ns": pa.array(series.time_ns),
        "flags": _zeros(count),
        "value_int": pa.nulls(count,
        pa.int64()) if is_double else pa.array(np.ascontiguousarray(series.values, np.int64)),
        "value_double": pa.array(np.ascontiguousarray(series.values,
        np.float64)) if is_double else pa.nulls(count, pa.float64()),
    })  # fmt: skip


def _histograms(number: int, series: Series) -> pa.Table:
    assert series.bucket_counts is not None
    assert series.extremes is not None
    count = series.time_ns.size
    return pa.table({
        "stream_row": _constant(np.int32(number), count), "start_ns": _constant(np.int64(series.start_ns),
        count),
        "time_ns": pa.array(series.time_ns), "flags": _zeros(count),
        "count": pa.array(series.counts().astype(np.uint64)),
        "sum": pa.array(series.values.astype(np.float64)),
        "min": pa.array(series.extremes[:, 0]), "max": pa.array(series.extremes[:, 1]),
        **_buckets(series, series.bucket_counts.tolist()),
    })  # fmt: skip


def _buckets(series: Series, counts: list[list[int]]) -> dict[str, pa.Array]:
    """The columns of an explicit or of an exponential histogram; those of the other kind are null."""
    size, lists = len(counts), pa.list_(pa.uint64())
    is_exponential = series.zero_counts is not None
    columns: dict[str, tuple[pa.DataType, list[Any]]] = {
        "explicit_bounds": (pa.list_(pa.float64()), [list(series.bounds)] * size), "bucket_counts": (lists, counts),
    }  # fmt: skip
    if series.zero_counts is not None:
        columns |= {
            "scale": (pa.int32(), [series.scale] * size), "zero_count": (pa.uint64(), series.zero_counts.tolist()),
            "zero_threshold": (pa.float64(), [0.0] * size), "positive_offset": (pa.int32(), [series.offset] * size),
            "positive_counts": (lists, counts), "negative_offset": (pa.int32(), [0] * size),
            "negative_counts": (lists, [[]] * size),
        }  # fmt: skip
    return {
        name: pa.array([None] * size if is_exponential and name in ("explicit_bounds", "bucket_counts") else values,
                       kind)
        for name, (kind, values) in columns.items()
    }  # fmt: skip


_EMPTY = np.zeros(0, np.int64)


def _joined(parts: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(parts, promote_options="default") if parts else pa.table({})


def _string(texts: pl.Series) -> pa.Array:
    return texts.to_arrow().cast(pa.string())


def _zeros(count: int) -> pa.Array:
    return _constant(np.uint32(0), count)


def _constant(value: np.generic, count: int) -> pa.Array:
    return pa.array(np.full(count, value))


def _texts(text: str, count: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(np.zeros(count, np.int32), pa.array([text])).cast(pa.string())
