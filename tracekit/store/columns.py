"""Arrow columns in the shape that the tables of a store want."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Column: TypeAlias = pa.Array | pa.ChunkedArray


def one_array(column: Column) -> pa.Array:
    """The column as one contiguous array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def as_uuid(trace_ids: Column) -> pa.Array:
    """Trace ids of 16 bytes as UUIDs, over the same memory."""
    return pa.ExtensionArray.from_storage(pa.uuid(), one_array(trace_ids))


def as_json(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    """JSON texts as such, over the same memory: DuckDB takes them without reading them once more to check."""
    kind = pa.json_(pa.string())
    return pa.chunked_array([pa.ExtensionArray.from_storage(kind, chunk) for chunk in texts.chunks], kind)


def as_words(trace_ids: Column) -> NDArray[np.uint64]:
    """Trace ids of 16 bytes as two 64-bit words each, shape (rows, 2), over the same memory."""
    array = one_array(trace_ids)
    words = np.frombuffer(array.buffers()[1], dtype=np.uint64) if len(array) else np.empty(0, np.uint64)
    return words.reshape(-1, 2)[array.offset : array.offset + len(array)]


def numbers(column: Column) -> NDArray[np.generic]:
    """A column of numbers without nulls as a numpy array."""
    return one_array(column).to_numpy(zero_copy_only=False)


def numbered(table: pa.Table) -> pa.Table:
    """The table with a column `row`, the position of each row."""
    return table.append_column("row", pa.array(np.arange(table.num_rows, dtype=np.int64)))


def replaced(table: pa.Table, columns: Mapping[str, Column], *, without: tuple[str, ...] = ()) -> pa.Table:
    """The table with some columns exchanged or added, and some taken away."""
    kept = {name: table[name] for name in table.column_names if name not in without}
    return pa.table({**kept, **columns})
