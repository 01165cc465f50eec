"""Reads the traces and steps of a batch from the store as Arrow tables: all that their units are made from."""

from __future__ import annotations

import duckdb
import polars as pl
import pyarrow as pa

from tracekit import queries
from tracekit.stages.mapping import STEP_EXPORTERS, batch_statement, make_batch_spans, map_spans
from tracekit.stages.units import StepTables, TraceTables
from tracekit.stages.update.selection import CLOCK_SLACK_NS

READ_BY_MAPPINGS = {
    "batch_calls": "units/batch_calls",
    "batch_outcomes": "units/span_outcomes",
    "batch_readers": "units/stream_readers",
}
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
    _tell_callers_apart(cursor)
    _drop_copies(cursor)
    _hang_joined(cursor)
    if MODEL_CALL_KEYS & set(keys):
        _hang_leaked(cursor, keys)
    for table, query in READ_BY_MAPPINGS.items():
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS " + batch_statement(query, keys))
    return TraceTables(
        spans=_table(cursor, "units/batch_columns"),
        mapped=map_spans(cursor, keys=keys),
        outcomes=cursor.sql("SELECT span_row, outcome FROM batch_outcomes").to_arrow_table(),
        unawaited=cursor.sql(batch_statement("units/batch_async", keys)).to_arrow_table(),
        waits=_table(cursor, "units/batch_waits"),
        hosts=_table(cursor, "units/resource_hosts"),
        window_overrides=_table(cursor, "units/window_overrides"),
        alternatives=_table(cursor, "units/batch_alternatives"),
    )


MODEL_CALL_KEYS = {"gen_ai.operation.name", "openinference.span.kind"}
"""Attributes that say of a span that it calls a model."""

_JOINED_COLUMNS = "span_row BIGINT, trace_id UUID, span_id UBIGINT, request_trace_id UUID, parent_span_id UBIGINT"

_NESTED_COPIES = 4
"""Copies whose parents are copies are found a level a round."""


def _tell_callers_apart(cursor: duckdb.DuckDBPyConnection) -> None:
    """Let spans that share their id with their caller hang below it."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE batch_shared AS " + queries.text("units/shared_span_ids"))
    cursor.execute(
        "UPDATE batch_rows SET span_id = batch_shared.span_id, parent_span_id = batch_shared.parent_span_id "
        "FROM batch_shared WHERE batch_shared.span_row = batch_rows.span_row"
    )


def _drop_copies(cursor: duckdb.DuckDBPyConnection) -> None:
    """Leave one of the spans that were recorded twice, with what hangs below the others; `batch_copies` has those."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE batch_copies (span_row BIGINT, trace_id UUID)")
    for _ in range(_NESTED_COPIES):
        cursor.execute("CREATE OR REPLACE TEMP TABLE copies AS " + queries.text("units/repeated_spans"))
        if not cursor.execute("SELECT count(*) FROM copies").fetchall()[0][0]:
            return
        cursor.execute("INSERT INTO batch_copies SELECT span_row, trace_id FROM copies")
        cursor.execute("DELETE FROM batch_rows WHERE span_row IN (SELECT span_row FROM copies)")
        cursor.execute(
            "UPDATE batch_rows SET parent_span_id = copies.kept_span_id FROM copies "
            "WHERE copies.trace_no = batch_rows.trace_no AND copies.span_id = batch_rows.parent_span_id"
        )


def read_repeated_traces(cursor: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Traces of requests of the batch with spans that were recorded more than once: `trace_id` as text."""
    return cursor.sql(
        "SELECT DISTINCT coalesce(joined_traces.request_trace_id, batch_copies.trace_id)::VARCHAR AS trace_id "
        "FROM batch_copies LEFT JOIN joined_traces USING (trace_id) ORDER BY trace_id"
    ).pl()


def _hang_joined(cursor: duckdb.DuckDBPyConnection) -> None:
    """Let the topmost spans of traces that are part of a request hang in it, before anything is read from them."""
    if not cursor.execute("SELECT 1 FROM joined_traces LIMIT 1").fetchall():
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE batch_joined ({_JOINED_COLUMNS})")
        return
    statement = "CREATE OR REPLACE TEMP TABLE batch_joined AS " + queries.text("units/batch_joined")
    cursor.execute(statement, {"slack_ns": CLOCK_SLACK_NS})
    cursor.execute(
        "UPDATE batch_rows SET parent_span_id = batch_joined.parent_span_id FROM batch_joined "
        "WHERE batch_joined.span_row = batch_rows.span_row"
    )


def _hang_leaked(cursor: duckdb.DuckDBPyConnection, keys: frozenset[str]) -> None:
    """Let calls of a model whose named parent had ended hang below the span that holds them."""
    cursor.execute("CREATE OR REPLACE TEMP TABLE batch_leaked AS " + batch_statement("units/leaked_calls", keys))
    cursor.execute(
        "UPDATE batch_rows SET parent_span_id = batch_leaked.parent_span_id FROM batch_leaked "
        "WHERE batch_leaked.span_row = batch_rows.span_row"
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
        facts=cursor.sql(batch_statement("units/step_spans", keys)).to_arrow_table(),
    )


def _table(cursor: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    return cursor.sql(queries.text(query)).to_arrow_table()
