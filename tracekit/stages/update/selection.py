"""Which traces and training steps are to be made, in which batches: temporary tables of a transaction."""

from __future__ import annotations

from typing import Any

import duckdb

from tracekit import queries

_NOTHING_BUILT = -1
_DAY_NS = 86_400_000_000_000
_PLAUSIBLE: dict[str, Any] = {
    "past_tolerance_ns": 20 * 365 * _DAY_NS,
    "future_tolerance_ns": _DAY_NS,
    "longest_ns": _DAY_NS,
}


def make(cursor: duckdb.DuckDBPyConnection, table: str, *, query: str | None = None, **parameters: int) -> None:
    """Make the temporary table that `queries/units/<query>.sql` describes; `query` defaults to `table`."""
    statement = f"CREATE OR REPLACE TEMP TABLE {table} AS {queries.text(f'units/{query or table}')}"
    cursor.execute(statement, parameters or None)


def select_late(cursor: duckdb.DuckDBPyConnection, *, built_through: int, batch_spans: int) -> None:
    """Select the traces and steps that have spans which arrived after ingest `built_through` (-1: all)."""
    cursor.execute(f"SET VARIABLE built_through = {built_through}")
    cursor.execute("SET VARIABLE shown_trace = NULL::UUID")
    make(cursor, "training_resources")
    make(cursor, "dirty_traces")
    _plan(cursor, batch_spans)


def select_trace(cursor: duckdb.DuckDBPyConnection, *, trace_id: str, batch_spans: int) -> None:
    """Select one trace, and all steps that it has a part in."""
    cursor.execute(f"SET VARIABLE built_through = {_NOTHING_BUILT}")
    cursor.execute("SET VARIABLE shown_trace = $trace_id::UUID", {"trace_id": trace_id})
    make(cursor, "training_resources")
    make(cursor, "dirty_traces", query="one_trace")
    _plan(cursor, batch_spans)


def _plan(cursor: duckdb.DuckDBPyConnection, batch_spans: int) -> None:
    make(cursor, "first_token_events")
    make(cursor, "error_events")
    make(cursor, "wait_links")
    make(cursor, "implausible_traces", **_PLAUSIBLE)
    make(cursor, "request_batches", batch_spans=batch_spans)
    make(cursor, "training_spans")
    make(cursor, "step_members")
    make(cursor, "numbered_steps")
    make(cursor, "dirty_steps", batch_spans=batch_spans)


def batch_ranges(cursor: duckdb.DuckDBPyConnection, query: str) -> list[tuple[int, int, int]]:
    """Number, earliest and latest start of the spans of each batch, in order.

    `query` is `request_ranges` or `step_ranges`.
    """
    return cursor.execute(queries.text(f"units/{query}")).fetchall()
