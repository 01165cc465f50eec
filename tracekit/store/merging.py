"""Batches made ready for a store, without one: what takes time here need not be done by the writer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.kernels.hash_table import first_rows
from tracekit.records import Batch, joined
from tracekit.records.attribute_keys import attribute_keys
from tracekit.store.columns import as_words, numbers, one_array, replaced
from tracekit.store.known_spans import sided_ids


class Run(NamedTuple):
    """Spans of one service, one behind the other: rows `first` up to `end`."""

    service: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class SortedBatch:
    """A decoded batch whose spans lie by service, a service's spans of one trace next to each other.

    `arrival` is the row that each span had before.
    """

    batch: Batch
    runs: list[Run]
    arrival: NDArray[np.int64]

    @property
    def largest_table_rows(self) -> int:
        """Rows of the largest table of the batch."""
        return max(getattr(self.batch, table.name).num_rows for table in fields(self.batch))


@dataclass(frozen=True, slots=True)
class MergedBatch:
    """A batch in the order in which it is best stored, with the attribute keys of its spans.

    `first_rows` has for each span the row of the span that came first with its id (its own, if that is it).
    """

    batch: Batch
    first_rows: NDArray[np.int64]


def sort_by_service(batch: Batch) -> SortedBatch:
    """The batch with its spans ordered; the smaller it is, the better the processor's caches hold it.

    Spans of one service share their attribute keys: DuckDB stores each key as a column of its own, for whole
    groups of 122,880 rows, and the fewer keys a group has, the faster it is written and the smaller it is.
    Neighbours of one trace make a stored trace id nearly free.
    """
    resources = one_array(batch.resources["attributes"]).dictionary_encode()
    kinds = resources.indices.fill_null(len(resources.dictionary)).to_numpy()
    batch = _with_span_keys(batch, kinds)
    names, number_of_kind = np.unique(_services(resources.dictionary), return_inverse=True)
    services = number_of_kind[kinds][numbers(batch.spans["resource_row"])]
    order = _order(services, as_words(batch.spans["trace_id"]))
    if order is None:
        order = np.arange(services.size)
    else:
        batch = _reordered(batch, batch.spans.take(pa.array(order)), order)
        services = services[order]
    return SortedBatch(batch, _runs(names, services), order)


def merge_batches(parts: Sequence[SortedBatch]) -> MergedBatch:
    """All parts as one batch, in which the spans of each service lie together."""
    batch = joined([part.batch for part in parts])
    arrival = np.concatenate([part.arrival for part in parts])
    starts = np.cumsum([0, *(part.arrival.size for part in parts)])
    for part, start in zip(parts, starts, strict=False):
        arrival[start : start + part.arrival.size] += start
    runs = [
        Run(run.service, start + run.first, start + run.end)
        for part, start in zip(parts, starts, strict=False)
        for run in part.runs
    ]
    in_order = sorted(runs)
    if in_order != runs:
        order = np.concatenate([np.arange(run.first, run.end) for run in in_order])
        spans = pa.concat_tables(batch.spans.slice(run.first, run.end - run.first) for run in in_order)
        batch, arrival = _reordered(batch, spans, order), arrival[order]
    # In one piece: DuckDB reads many small ones with one thread.
    batch = replace(batch, spans=batch.spans.combine_chunks())
    return MergedBatch(batch, _first_to_arrive(batch.spans, arrival))


def _services(attributes: pa.Array) -> list[str]:
    """The service that each resource names, as JSON text, and behind them what stands for no attributes."""
    return [json.dumps(name) for name in [*map(_service, attributes.to_pylist()), None]]


def _service(attributes: str) -> object:
    try:
        found = json.loads(attributes)
    except (ValueError, RecursionError):
        return None  # no JSON: the store refuses the resource, and says so
    return found.get("service.name") if isinstance(found, dict) else None


def _order(services: NDArray[np.int64], traces: NDArray[np.uint64]) -> NDArray[np.int64] | None:
    """The rows by service and trace, otherwise as they came; None where they lie so already."""
    first = first_rows(traces)
    place = services * first.size + first
    return None if np.all(place[1:] >= place[:-1]) else np.argsort(place, kind="stable")


def _runs(names: NDArray[np.str_], services: NDArray[np.int64]) -> list[Run]:
    first = np.flatnonzero(np.diff(services, prepend=-1))
    ends = [*first[1:].tolist(), services.size]
    return [Run(str(names[services[start]]), start, end) for start, end in zip(first.tolist(), ends, strict=False)]


def _with_span_keys(batch: Batch, kinds: NDArray[np.int32]) -> Batch:
    """The batch with the attribute keys of its spans, which not everything that makes batches notes."""
    if batch.span_keys.num_rows or not batch.spans.num_rows:
        return batch
    found = attribute_keys(one_array(batch.spans["attributes"]), kinds[numbers(batch.spans["resource_row"])])
    row_of = np.zeros(kinds.max(initial=0) + 1, np.int32)
    row_of[kinds[::-1]] = np.arange(kinds.size, dtype=np.int32)[::-1]
    keys = pa.table({"resource_row": row_of[numbers(found["group"])], "key": found["key"]})
    return replace(batch, span_keys=keys)


def _reordered(batch: Batch, spans: pa.Table, order: NDArray[np.int64]) -> Batch:
    """The batch with its spans in another order, `spans`; `order` has the row that each had before."""
    new_row = np.empty(order.size, np.int64)
    new_row[order] = np.arange(order.size)
    events, links = (_following(parts, new_row) for parts in (batch.span_events, batch.span_links))
    return replace(batch, spans=spans, span_events=events, span_links=links)


def _following(parts: pa.Table, new_row: NDArray[np.int64]) -> pa.Table:
    """Events or links in the order of the spans that they belong to."""
    if parts.num_rows == 0:
        return parts
    rows = new_row[numbers(parts["span_row"])]
    order = np.argsort(rows, kind="stable")
    kind = parts.schema.field("span_row").type
    return replaced(parts.take(pa.array(order)), {"span_row": pa.array(rows[order]).cast(kind)})


def _first_to_arrive(spans: pa.Table, arrival: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each span the row of the one that came first among those with its id."""
    first = first_rows(np.column_stack([as_words(spans["trace_id"]), sided_ids(spans)]))
    if np.array_equal(first, np.arange(first.size)):
        return first
    earliest = np.full(first.size, first.size, np.int64)
    np.minimum.at(earliest, first, arrival)
    row_of = np.empty(first.size, np.int64)
    row_of[arrival] = np.arange(first.size)
    return row_of[earliest[first]]
