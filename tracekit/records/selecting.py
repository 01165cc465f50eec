"""A part of a batch: some of its records, with everything that belongs to them and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.records.batch import Batch, empty_table

RECORD_TABLES = ("spans", "metric_points", "metric_histograms", "metric_summaries", "logs")
"""The tables whose rows are records: what a sender counts, and what is stored or refused one by one."""

_OF_STREAMS = ("metric_points", "metric_histograms", "metric_summaries", "exemplars")
Rows = NDArray[np.int64]


def selected(batch: Batch, rows: Mapping[str, Rows], *, with_keys: bool = False) -> Batch:
    """The records at ascending `rows` of each of `RECORD_TABLES` (none where it is not named).

    Events, links and exemplars follow their span or point; resources, scopes and series come along that a record
    names. Documents keep their rows. Rejects are left out, and the keys of the spans, unless they are asked for: then
    keys come along of spans that do not.
    """
    tables = {name: getattr(batch, name).take(pa.array(rows.get(name, _none()))) for name in RECORD_TABLES}
    streams = _distinct(*(tables[name]["stream_row"] for name in RECORD_TABLES if name in _OF_STREAMS))
    tables["metric_streams"] = batch.metric_streams.take(pa.array(streams))
    tables["exemplars"] = batch.exemplars
    for name in _OF_STREAMS:
        tables[name] = _following(tables[name], "stream_row", streams)
    for name in ("span_events", "span_links"):
        tables[name] = _following(getattr(batch, name), "span_row", rows.get("spans", _none()))
    for column, owner in (("resource_row", "resources"), ("scope_row", "scopes")):
        owned = ("spans", "metric_streams", "logs")
        owners = _distinct(*(tables[name][column] for name in owned))
        tables[owner] = getattr(batch, owner).take(pa.array(owners))
        tables |= {name: _following(tables[name], column, owners) for name in owned}
        if column == "resource_row":
            keys = _following(batch.span_keys, column, owners) if with_keys else empty_table("span_keys")
    return replace(batch, **tables, span_keys=keys, rejects=empty_table("rejects"))


def _none() -> Rows:
    return np.empty(0, np.int64)


def _distinct(*columns: pa.ChunkedArray) -> Rows:
    return np.unique(np.concatenate([_none(), *(column.to_numpy().astype(np.int64) for column in columns)]))


def _following(table: pa.Table, column: str, kept: Rows) -> pa.Table:
    """The rows whose `column` is among the ascending rows that are kept, counted among those."""
    if kept.size == 0:
        return table.slice(0, 0)
    rows = table[column].to_numpy().astype(np.int64)
    place = np.minimum(np.searchsorted(kept, rows), kept.size - 1)
    is_kept = kept[place] == rows
    at = table.schema.get_field_index(column)
    field = table.schema.field(at)
    return table.filter(pa.array(is_kept)).set_column(at, field, pa.array(place[is_kept]).cast(field.type))
