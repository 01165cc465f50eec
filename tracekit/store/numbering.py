"""Resources, scopes and metric series by number: each distinct one is stored once, its records share it."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit import queries
from tracekit.store.columns import numbered, numbers, replaced
from tracekit.store.known_numbers import KnownNumbers
from tracekit.store.statements import registered


def resource_ids(cursor: duckdb.DuckDBPyConnection, resources: pa.Table, known: KnownNumbers) -> NDArray[np.int64]:
    """The number in the store of each incoming resource; new ones are added."""
    return _ids(cursor, "resources", "resource_id", resources, known)


def scope_ids(cursor: duckdb.DuckDBPyConnection, scopes: pa.Table, known: KnownNumbers) -> NDArray[np.int64]:
    """The number in the store of each incoming instrumentation scope; new ones are added."""
    return _ids(cursor, "scopes", "scope_id", scopes, known)


def stream_ids(cursor: duckdb.DuckDBPyConnection, streams: pa.Table, known: KnownNumbers) -> NDArray[np.int64]:
    """The number in the store of each incoming metric series; new ones are added.

    `streams` has `resource_id` and `scope_id` beside the decoder's columns.
    """
    return _ids(cursor, "metric_streams", "stream_id", streams, known)


def with_sender(table: pa.Table, resources: NDArray[np.int64], scopes: NDArray[np.int64]) -> pa.Table:
    """The records with `resource_id` and `scope_id` in place of `resource_row` and `scope_row`."""
    ids = {
        "resource_id": pa.array(resources[numbers(table["resource_row"])]),
        "scope_id": pa.array(scopes[numbers(table["scope_row"])]),
    }
    return replaced(table, ids, without=("resource_row", "scope_row"))


def with_stream(table: pa.Table, streams: NDArray[np.int64]) -> pa.Table:
    """The points with `stream_id` in place of `stream_row`."""
    ids = {"stream_id": pa.array(streams[numbers(table["stream_row"])])}
    return replaced(table, ids, without=("stream_row",))


def _ids(
    cursor: duckdb.DuckDBPyConnection, kind: str, column: str, table: pa.Table, known: KnownNumbers
) -> NDArray[np.int64]:
    """The column of numbers that `store/add_<kind>` answers with, a row for each of the table."""
    contents = list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    ids = known.find(kind, contents)
    if ids is None:
        with registered(cursor, {f"incoming_{kind.removeprefix('metric_')}": numbered(table)}):
            ids = cursor.execute(queries.text(f"store/add_{kind}")).fetchnumpy()[column].tolist()
        known.note(kind, contents, ids)
    return np.asarray(ids, np.int64)
