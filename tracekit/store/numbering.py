"""Resources, scopes and metric series by number: each distinct one is stored once, its records share it."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit import queries
from tracekit.store.columns import numbered, numbers, replaced
from tracekit.store.statements import registered


def resource_ids(cursor: duckdb.DuckDBPyConnection, resources: pa.Table) -> NDArray[np.uint32]:
    """The number in the store of each incoming resource; new ones are added."""
    return np.asarray(_found(cursor, "resources", resources).get("resource_id", ()), np.uint32)


def scope_ids(cursor: duckdb.DuckDBPyConnection, scopes: pa.Table) -> NDArray[np.uint32]:
    """The number in the store of each incoming instrumentation scope; new ones are added."""
    return np.asarray(_found(cursor, "scopes", scopes).get("scope_id", ()), np.uint32)


def stream_ids(cursor: duckdb.DuckDBPyConnection, streams: pa.Table) -> NDArray[np.uint32]:
    """The number in the store of each incoming metric series; new ones are added.

    `streams` has `resource_id` and `scope_id` beside the decoder's columns.
    """
    return np.asarray(_found(cursor, "metric_streams", streams).get("stream_id", ()), np.uint32)


def with_sender(table: pa.Table, resources: NDArray[np.uint32], scopes: NDArray[np.uint32]) -> pa.Table:
    """The records with `resource_id` and `scope_id` in place of `resource_row` and `scope_row`."""
    ids = {
        "resource_id": pa.array(resources[numbers(table["resource_row"])]),
        "scope_id": pa.array(scopes[numbers(table["scope_row"])]),
    }
    return replaced(table, ids, without=("resource_row", "scope_row"))


def with_stream(table: pa.Table, streams: NDArray[np.uint32]) -> pa.Table:
    """The points with `stream_id` in place of `stream_row`."""
    ids = {"stream_id": pa.array(streams[numbers(table["stream_row"])])}
    return replaced(table, ids, without=("stream_row",))


def _found(cursor: duckdb.DuckDBPyConnection, kind: str, table: pa.Table) -> dict[str, NDArray[np.generic]]:
    """The columns that `store/add_<kind>` answers with, a row for each of the table; none for no rows."""
    if table.num_rows == 0:
        return {}
    with registered(cursor, {f"incoming_{kind.removeprefix('metric_')}": numbered(table)}):
        columns: dict[str, NDArray[np.generic]] = cursor.execute(queries.text(f"store/add_{kind}")).fetchnumpy()
    return columns
