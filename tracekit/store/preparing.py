"""A decoded batch made ready for a store, without one: what takes time here need not be done by the writer."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.otlp.object_keys import object_keys
from tracekit.store.columns import as_words, numbers, one_array, replaced
from tracekit.store.keys import first_rows

if TYPE_CHECKING:
    from tracekit.otlp import Batch


@dataclass(frozen=True, slots=True)
class PreparedBatch:
    """A decoded batch in the order in which it is best stored, with the attribute keys of its spans.

    `first_rows` has for each span the row of the span that came first with its id (its own, if that is it).
    """

    batch: Batch
    first_rows: NDArray[np.int64]


def prepared(batch: Batch) -> PreparedBatch:
    """The batch, its spans next to those that they are stored well with."""
    resources = batch.resources["attributes"].combine_chunks().dictionary_encode()
    if isinstance(resources, pa.ChunkedArray):
        resources = resources.combine_chunks()
    kinds = resources.indices.fill_null(len(resources.dictionary)).to_numpy()
    traces = as_words(batch.spans["trace_id"])
    first = first_rows(np.column_stack([traces, numbers(batch.spans["span_id"])]))
    services = _services(resources.dictionary)[kinds][numbers(batch.spans["resource_row"])]
    order = _order(services, traces)
    if order is not None:
        new_row = np.empty(order.size, np.int64)
        new_row[order] = np.arange(order.size)
        first = new_row[first[order]]
        batch = _reordered(batch, order, new_row)
    return PreparedBatch(_with_span_keys(batch, kinds), first)


def _services(attributes: pa.Array) -> NDArray[np.int64]:
    """A number for the service that each resource names, and behind them one for a resource without any."""
    named = [json.loads(text).get("service.name") for text in attributes.to_pylist()]
    texts = np.array([json.dumps(name) for name in [*named, None]])
    return np.unique(texts, return_inverse=True)[1].astype(np.int64)


def _with_span_keys(batch: Batch, kinds: NDArray[np.int32]) -> Batch:
    """The batch with the attribute keys of its spans, which not everything that makes batches notes."""
    if batch.span_keys.num_rows or not batch.spans.num_rows:
        return batch
    found = object_keys(one_array(batch.spans["attributes"]), kinds[numbers(batch.spans["resource_row"])])
    row_of = np.zeros(kinds.max(initial=0) + 1, np.int32)
    row_of[kinds[::-1]] = np.arange(kinds.size, dtype=np.int32)[::-1]
    keys = pa.table({"resource_row": row_of[numbers(found["group"])], "key": found["key"]})
    return replace(batch, span_keys=keys)


def _order(services: NDArray[np.int64], traces: NDArray[np.uint64]) -> NDArray[np.int64] | None:
    """The rows by service, a service's spans of one trace next to each other, otherwise as they came.

    None where they lie so already. Spans of one service share their attribute keys: DuckDB stores each key as
    a column of its own, for whole groups of 122,880 rows, and the fewer keys a group has, the faster it is
    written and the smaller it is. Neighbours of one trace make a stored trace id nearly free.
    """
    first = first_rows(traces)
    place = services * first.size + first
    return None if np.all(place[1:] >= place[:-1]) else np.argsort(place, kind="stable")


def _reordered(batch: Batch, order: NDArray[np.int64], new_row: NDArray[np.int64]) -> Batch:
    return replace(
        batch,
        spans=batch.spans.take(pa.array(order)),
        span_events=_following(batch.span_events, new_row),
        span_links=_following(batch.span_links, new_row),
    )


def _following(parts: pa.Table, new_row: NDArray[np.int64]) -> pa.Table:
    """Events or links in the order of the spans that they belong to."""
    if parts.num_rows == 0:
        return parts
    rows = new_row[numbers(parts["span_row"])]
    order = np.argsort(rows, kind="stable")
    kind = parts.schema.field("span_row").type
    return replaced(parts.take(pa.array(order)), {"span_row": pa.array(rows[order]).cast(kind)})
