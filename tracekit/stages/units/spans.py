"""The spans of a batch as columns, sorted by trace and span id, with the row of each one's parent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.kernels import kernel
from tracekit.partition import PARENT_MISSING, PARENTLESS, Array

_LARGEST_SPREAD = 8
_INSERTION_SORTED = 32


@dataclass(frozen=True, eq=False)
class SpanNumbers:
    """Finds rows by the numbers that spans have in the store.

    Numbers of one batch mostly lie close together: then `row_of[number - first]` is the row. Where they do
    not, `row_of` has the rows by ascending number and `ascending` the numbers.
    """

    first: int
    row_of: NDArray[np.int64]
    ascending: NDArray[np.int64] | None

    @classmethod
    def of(cls, span_row: NDArray[np.int64]) -> SpanNumbers:
        """The finder for rows with these numbers."""
        first = int(span_row.min()) if len(span_row) else 0
        spread = int(span_row.max()) - first + 1 if len(span_row) else 0
        if spread > _LARGEST_SPREAD * len(span_row):
            by_number = np.argsort(span_row)
            return cls(first, by_number, span_row[by_number])
        row_of = np.full(spread, -1, dtype=np.int64)
        row_of[span_row - first] = np.arange(len(span_row))
        return cls(first, row_of, None)

    def rows(self, span_row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of numbers that are there."""
        if self.ascending is not None:
            return self.row_of[np.searchsorted(self.ascending, span_row)]
        return self.row_of[span_row - self.first]


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans of many keys (traces, or steps), one row each, sorted by the key they came with and span id.

    Columns
    -------
    span_row : int64, number of the span in the store.
    key : int64, dense number of the trace or step inside the batch.
    span_id, parent_span_id : uint64; a parent of 0 is none.
    parent : int64, row of the parent, `PARENTLESS` or `PARENT_MISSING`.
    start_ns, end_ns : int64, nanoseconds since the epoch.
    kind : uint8, OTLP span kind.
    resource_id : int64.
    """

    span_row: NDArray[np.int64]
    key: NDArray[np.int64]
    span_id: NDArray[np.uint64]
    parent_span_id: NDArray[np.uint64]
    parent: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    kind: NDArray[np.uint8]
    resource_id: NDArray[np.int64]
    numbers: SpanNumbers

    @classmethod
    def from_table(cls, table: pa.Table) -> Spans:
        """Spans from a table with the columns above without `parent`; `key` counts from the smallest."""
        columns = {name: table[name].to_numpy() for name in table.column_names}
        key = columns["key"].astype(np.int64)
        columns["key"] = key - (key.min() if len(key) else 0)
        order = _order(columns["key"], columns["span_id"])
        columns = {name: column[order] for name, column in columns.items()}
        key = columns.pop("key")
        parent = _parent_rows(key, columns["span_id"], columns["parent_span_id"])
        return cls(key=key, parent=parent, numbers=SpanNumbers.of(columns["span_row"]), **columns)

    @property
    def count(self) -> int:
        """Number of spans."""
        return len(self.key)

    def rows_of(self, span_row: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of spans by their numbers in the store; every one must be there."""
        return self.numbers.rows(span_row)


@kernel
def _order(key: Array, span_id: Array) -> Array:
    """Rows by key and span id: counted into place by key, then sorted within each key."""
    keys = key.max() + 1 if key.shape[0] else 0
    first = np.zeros(keys + 1, dtype=np.int64)
    for row in range(key.shape[0]):
        first[key[row] + 1] += 1
    first[:] = np.cumsum(first)
    free = first.copy()
    order = np.empty(key.shape[0], dtype=np.int64)
    for row in range(key.shape[0]):
        order[free[key[row]]] = row
        free[key[row]] += 1
    for at in range(keys):
        if first[at + 1] - first[at] > _INSERTION_SORTED:
            inside = order[first[at] : first[at + 1]]
            order[first[at] : first[at + 1]] = inside[np.argsort(span_id[inside])]
        else:
            _insertion_sort(order, first[at], first[at + 1], span_id)
    return order


@kernel
def _insertion_sort(order: Array, first: int, end: int, span_id: Array) -> None:
    for at in range(first + 1, end):
        row = order[at]
        before = at - 1
        while before >= first and span_id[order[before]] > span_id[row]:
            order[before + 1] = order[before]
            before -= 1
        order[before + 1] = row


@kernel
def _parent_rows(key: Array, span_id: Array, parent_span_id: Array) -> Array:
    parent = np.empty(key.shape[0], dtype=np.int64)
    first = 0
    while first < key.shape[0]:
        end = first
        while end < key.shape[0] and key[end] == key[first]:
            end += 1
        for row in range(first, end):
            parent[row] = _row_of(span_id, first, end, parent_span_id[row])
        first = end
    return parent


@kernel
def _row_of(span_id: Array, first: int, end: int, wanted: int) -> int:
    if wanted == 0:
        return PARENTLESS
    low, high = first, end
    while low < high:
        middle = (low + high) // 2
        if span_id[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return low if low < end and span_id[low] == wanted else PARENT_MISSING
