"""The input of the partition: the operations of many traces as columns."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tracekit.errors import UsageError
from tracekit.kernels import kernel
from tracekit.partition.arrays import Array

PARENTLESS = -1
"""Value of `Forest.parent` for a row that names no parent."""

PARENT_MISSING = -2
"""Value of `Forest.parent` for a row whose named parent did not arrive."""

NO_WAIT = -1
"""Value of `Forest.waits_for` for a row that names no row it waited for."""

UNKNOWN_HOST = -1
"""Value of `Forest.host` for a row of unknown host; its clock is then never corrected."""

_FAULTS = {
    1: "has a negative key; keys are dense numbers from 0",
    2: "names a parent row that does not exist; use -1 for none, -2 for one that did not arrive",
    3: "names a parent row of another key; rows of two traces cannot be parent and child",
    4: "waits for a row that does not exist; use -1 for none",
    5: "waits for a row of another key; drop the link before partitioning",
}


@dataclass(frozen=True, eq=False)
class Forest:
    """Operations of many independent traces, one row each, in any row order.

    An operation is a span or a part of one (a virtual child). Every column has one value a row. Build it with
    `Forest.from_columns`, which fills in what is not known and checks what is given.

    Columns
    -------
    key : int64, dense number of the trace, 0 and up; rows of one key need not lie together.
    parent : int64, row of the parent, `PARENTLESS` (-1) or `PARENT_MISSING` (-2).
    missing_parent_id : uint64, the id that `PARENT_MISSING` refers to; rows that share it are grouped.
    start_ns, end_ns : int64, nanoseconds; the half-open interval `[start_ns, end_ns)`.
    blocking : bool, False where the parent does not wait for the subtree (asynchronous work).
    tiebreak : uint64, the last tie-break, for example the span id. Unique within a key, it makes every result
        independent of the order of the rows.
    waits_for : int64, row that this one explicitly waited for (a span link), or -1.
    host : int32, number of the host whose clock wrote the times, or -1 where unknown.
    is_client, is_server : bool, the two ends of a remote call; used for clock skew and for edges.
    """

    key: NDArray[np.int64]
    parent: NDArray[np.int64]
    missing_parent_id: NDArray[np.uint64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    blocking: NDArray[np.bool_]
    tiebreak: NDArray[np.uint64]
    waits_for: NDArray[np.int64]
    host: NDArray[np.int32]
    is_client: NDArray[np.bool_]
    is_server: NDArray[np.bool_]

    @classmethod
    def from_columns(
        cls,
        *,
        key: ArrayLike,
        parent: ArrayLike,
        start_ns: ArrayLike,
        end_ns: ArrayLike,
        tiebreak: ArrayLike,
        missing_parent_id: ArrayLike | None = None,
        blocking: ArrayLike | None = None,
        waits_for: ArrayLike | None = None,
        host: ArrayLike | None = None,
        is_client: ArrayLike | None = None,
        is_server: ArrayLike | None = None,
    ) -> Forest:
        """A forest from columns of equal length; see the class for their meaning.

        Left out: every missing parent has id 0, every row blocks, waits for none, has no known host and is
        neither client nor server. Raises `UsageError` where lengths differ or a row refers to one that
        cannot be.
        """
        rows = np.asarray(key).shape[0]
        forest = cls(
            key=_column(key, np.int64),
            parent=_column(parent, np.int64),
            missing_parent_id=_column_or(missing_parent_id, 0, rows, np.uint64),
            start_ns=_column(start_ns, np.int64),
            end_ns=_column(end_ns, np.int64),
            blocking=_column_or(blocking, True, rows, np.bool_),
            tiebreak=_column(tiebreak, np.uint64),
            waits_for=_column_or(waits_for, NO_WAIT, rows, np.int64),
            host=_column_or(host, UNKNOWN_HOST, rows, np.int32),
            is_client=_column_or(is_client, False, rows, np.bool_),
            is_server=_column_or(is_server, False, rows, np.bool_),
        )
        _check(forest)
        return forest

    @property
    def row_count(self) -> int:
        """Number of operations."""
        return int(self.key.shape[0])

    @property
    def key_count(self) -> int:
        """Number of keys: the largest key plus one, 0 for an empty forest."""
        return int(self.key.max()) + 1 if self.row_count else 0


def _column(values: ArrayLike, dtype: type) -> Array:
    # Kernels are compiled for writable arrays in C order: a read-only column (Arrow) is copied once here.
    return np.require(values, dtype=dtype, requirements=["C", "A", "W"])


def _column_or(values: ArrayLike | None, default: object, rows: int, dtype: type) -> Array:
    return np.full(rows, default, dtype=dtype) if values is None else _column(values, dtype)


def _check(forest: Forest) -> None:
    for field in fields(forest):
        column = getattr(forest, field.name)
        if column.shape != forest.key.shape:
            raise UsageError(
                f"column {field.name} of the forest has shape {column.shape}, column key {forest.key.shape}; "
                "give every column one value a row"
            )
    if forest.row_count >= 2**31 - 1:
        raise UsageError(f"a forest of {forest.row_count} rows is too large; partition batches of under 2^31 rows")
    row, fault = _first_fault(forest.key, forest.parent, forest.waits_for)
    if fault:
        raise UsageError(f"row {row} of the forest {_FAULTS[fault]}")


@kernel
def _first_fault(key: Array, parent: Array, waits_for: Array) -> tuple[int, int]:
    rows = key.shape[0]
    for row in range(rows):
        if key[row] < 0:
            return row, 1
        if parent[row] < PARENT_MISSING or parent[row] >= rows:
            return row, 2
        if parent[row] >= 0 and key[parent[row]] != key[row]:
            return row, 3
        if waits_for[row] < NO_WAIT or waits_for[row] >= rows:
            return row, 4
        if waits_for[row] >= 0 and key[waits_for[row]] != key[row]:
            return row, 5
    return 0, 0
