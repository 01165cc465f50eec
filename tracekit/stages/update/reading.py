"""Reads the traces and steps of a batch from the store as Arrow tables: all that their units are made from."""

from __future__ import annotations

import duckdb
import polars as pl
import pyarrow as pa

from tracekit import queries
from tracekit.stages.mapping import STEP_EXPORTERS, make_batch_spans, map_spans
from tracekit.stages.units import StepTables, TraceTables
from tracekit.stages.update.selection import CLOCK_SLACK_NS

READ_BY_MAPPINGS = {"batch_calls": "units/batch_calls", "batch_outcomes": "units/span_outcomes"}
"""Temporary tables of a batch that mappings read, and the queries that make them."""


def select_batch(cursor: duckdb.DuckDBPyConnection, *, batch_no: int, first_ns: int, last_ns: int) -> None:
    """Select the spans of a batch of `request_batches`, which start in a range of time."""
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE batch_traces AS "
        "SELECT trace_id, trace_no FROM request_batches WHERE batch_no = $batch_no",
        {"batch_no": batch_no},
    )
    _set_range(cursor, first_ns, last_ns)


def select_shown_trace(cursor: duckdb.DuckDBPyConnection) -> bool:
    """Select all spans of the trace that is shown, and of those that are one request with it.

    Returns whether it has any.
    """
    cursor.execute("CREATE OR REPLACE TEMP TABLE batch_traces AS " + queries.text("units/shown_request"))
    in_range = "SELECT min(first_ns), max(last_ns) FROM dirty_traces SEMI JOIN batch_traces USING (trace_id)"
    first_ns, last_ns = cursor.execute(in_range).fetchall()[0]
    if first_ns is None:
        return False
    _set_range(cursor, first_ns, last_ns)
    return True


def read_traces(cursor: duckdb.DuckDBPyConnection) -> TraceTables:
    """The batch that `select_batch` selected."""
    keys = make_batch_spans(cursor, "batch_spans")
    _hang_joined(cursor)
    for table, query in READ_BY_MAPPINGS.items():
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS " + queries.text(query))
    return TraceTables(
        spans=_table(cursor, "units/batch_columns"),
        mapped=map_spans(cursor, keys=keys),
        outcomes=cursor.sql("SELECT span_row, outcome FROM batch_outcomes").to_arrow_table(),
        unawaited=_table(cursor, "units/batch_async"),
        waits=_table(cursor, "units/batch_waits"),
        hosts=_table(cursor, "units/resource_hosts"),
        window_overrides=_table(cursor, "units/window_overrides"),
    )


def _hang_joined(cursor: duckdb.DuckDBPyConnection) -> None:
    """Let the topmost spans of traces that are part of a request hang in it, before anything is read from them."""
    statement = "CREATE OR REPLACE TEMP TABLE batch_joined AS " + queries.text("units/batch_joined")
    cursor.execute(statement, {"slack_ns": CLOCK_SLACK_NS})
    cursor.execute(
        "UPDATE batch_rows SET parent_span_id = batch_joined.parent_span_id FROM batch_joined "
        "WHERE batch_joined.span_row = batch_rows.span_row"
    )


def read_joined_spans(cursor: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Where traces that are part of a request of the batch hang in it; ids as text and numbers."""
    return cursor.sql(
        "SELECT * EXCLUDE (span_row) REPLACE (trace_id::VARCHAR AS trace_id, "
        "request_trace_id::VARCHAR AS request_trace_id) FROM batch_joined"
    ).pl()


def select_step_batch(cursor: duckdb.DuckDBPyConnection, *, batch_no: int, first_ns: int, last_ns: int) -> None:
    """Select the spans of a batch of `dirty_steps`, which start in a range of time."""
    members = "CREATE OR REPLACE TEMP TABLE batch_members AS " + queries.text("units/batch_members")
    cursor.execute(members, {"batch_no": batch_no})
    _set_range(cursor, first_ns, last_ns)


def _set_range(cursor: duckdb.DuckDBPyConnection, first_ns: int, last_ns: int) -> None:
    cursor.execute(f"SET VARIABLE batch_first_ns = {first_ns}")
    cursor.execute(f"SET VARIABLE batch_last_ns = {last_ns}")


def read_steps(cursor: duckdb.DuckDBPyConnection) -> StepTables:
    """The batch that `select_step_batch` selected."""
    keys = make_batch_spans(cursor, "step_batch_spans")
    return StepTables(
        spans=_table(cursor, "units/batch_columns"),
        mapped=map_spans(cursor, keys=keys, exporters=STEP_EXPORTERS),
        facts=_table(cursor, "units/step_spans"),
    )


def _table(cursor: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    return cursor.sql(queries.text(query)).to_arrow_table()
