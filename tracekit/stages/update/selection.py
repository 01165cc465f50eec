"""Which traces and training steps are to be made, in which batches: temporary tables of a transaction."""

from __future__ import annotations

from typing import Any

import duckdb

from tracekit import queries
from tracekit.schema import FUTURE_TOLERANCE_NS, LONGEST_REQUEST_NS, PAST_TOLERANCE_NS

_NOTHING_BUILT = -1
_EVERYTHING_BUILT = 2**32

CLOCK_SLACK_NS = 5_000_000
"""How far the clocks of the traces of one request are let differ."""

MOST_TRACES = 64
"""A name that more traces have than this is no name of one request."""

_NAMED = "request_id VARCHAR, trace_id UUID, first_ns BIGINT, last_ns BIGINT"

MOST_GROUPS = 8
"""A name that comes again more often than this, apart in time, is no name of one request."""

_PLAUSIBLE: dict[str, Any] = {
    "past_tolerance_ns": PAST_TOLERANCE_NS,
    "future_tolerance_ns": FUTURE_TOLERANCE_NS,
    "longest_ns": LONGEST_REQUEST_NS,
}


def make(cursor: duckdb.DuckDBPyConnection, table: str, *, query: str | None = None, **parameters: int) -> None:
    """Make the temporary table that `queries/units/<query>.sql` describes; `query` defaults to `table`."""
    statement = f"CREATE OR REPLACE TEMP TABLE {table} AS {queries.text(f'units/{query or table}')}"
    cursor.execute(statement, parameters or None)


def select_late(
    cursor: duckdb.DuckDBPyConnection, *, built_through: int, batch_spans: int, crowded: set[str] | None = None
) -> None:
    """Select the traces and steps that have spans which arrived after ingest `built_through` (-1: all).

    `crowded` are names that are known to be of no request, because many traces have them; those that are found are
    added.
    """
    cursor.execute("SET VARIABLE shown_trace = NULL::UUID")
    _select(cursor, built_through=built_through, named_through=built_through, batch_spans=batch_spans, crowded=crowded)


def select_trace(cursor: duckdb.DuckDBPyConnection, *, trace_id: str, batch_spans: int) -> None:
    """Select one trace, those that are one request with it, and all steps that it has a part in."""
    cursor.execute("SET VARIABLE shown_trace = $trace_id::UUID", {"trace_id": trace_id})
    _select(cursor, built_through=_NOTHING_BUILT, named_through=_EVERYTHING_BUILT, batch_spans=batch_spans)


def _select(
    cursor: duckdb.DuckDBPyConnection,
    *,
    built_through: int,
    named_through: int,
    batch_spans: int,
    crowded: set[str] | None = None,
) -> None:
    """`named_through`: the last ingest whose names of requests are stored already."""
    cursor.execute(f"SET VARIABLE built_through = {named_through}")
    define_request_ids(cursor)
    make(cursor, "new_request_ids")
    cursor.execute(f"SET VARIABLE built_through = {built_through}")
    make(cursor, "training_resources")
    make(cursor, "touched_traces")
    _reach(cursor, set() if crowded is None else crowded)
    make(cursor, "dirty_traces")
    _join(cursor)
    _plan(cursor, batch_spans)


def _reach(cursor: duckdb.DuckDBPyConnection, crowded: set[str]) -> None:
    """Add to `touched_traces` those that share names with them, directly or by others.

    Only the names of touched traces are looked up: what it takes grows with what is new, besides a scan or two over
    the names that the store has. Names of crowds, which one sender may give all its requests, are not looked up again.
    """
    cursor.execute("CREATE OR REPLACE TEMP TABLE touched_names (request_id VARCHAR, trace_id UUID)")
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE crowded_request_ids AS SELECT unnest($names::VARCHAR[]) AS request_id",
        {"names": sorted(crowded)},
    )
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE shared_request_ids ({_NAMED})")
    cursor.execute("CREATE OR REPLACE TEMP TABLE reached_traces AS FROM touched_traces")
    while cursor.execute("SELECT 1 FROM reached_traces LIMIT 1").fetchall():
        _add(cursor, "touched_names", query="reached_names")
        make(cursor, "reached_request_ids")
        _add(cursor, "crowded_request_ids", most_traces=MOST_TRACES)
        _add(cursor, "shared_request_ids")
        make(cursor, "reached_traces")
        cursor.execute("INSERT INTO touched_traces FROM reached_traces")
    crowded.update(name for (name,) in cursor.execute("FROM crowded_request_ids").fetchall())


def _add(cursor: duckdb.DuckDBPyConnection, table: str, *, query: str | None = None, **parameters: int) -> None:
    """Add to a temporary table what `queries/units/<query>.sql` describes; `query` defaults to `table`."""
    cursor.execute(f"INSERT INTO {table} {queries.text(f'units/{query or table}')}", parameters or None)


def _join(cursor: duckdb.DuckDBPyConnection) -> None:
    """Find the traces that are part of a request; to plan that takes its time, and few stores have any."""
    shared = "SELECT 1 FROM shared_request_ids GROUP BY request_id HAVING count(DISTINCT trace_id) > 1 LIMIT 1"
    if cursor.execute(shared).fetchall():
        make(cursor, "joined_traces", most_traces=MOST_TRACES, most_groups=MOST_GROUPS, slack_ns=CLOCK_SLACK_NS)
    else:
        columns = "trace_id UUID, request_trace_id UUID, is_ambiguous BOOLEAN"
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE joined_traces ({columns})")


def define_request_ids(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    """Let `said_request_ids` give the names of requests that the attributes of a span tell, as a list.

    To look for an attribute that a row group does not have is slow: only those that some span has are looked for, by
    base.span_attribute_keys. Returns these.
    """
    keys = [key for (key,) in cursor.execute(queries.text("units/request_id_keys")).fetchall()]
    cursor.execute("SET VARIABLE request_id_keys = $keys", {"keys": keys})
    cursor.execute(queries.text("units/plain_request_id"))
    said = ", ".join(f"plain_request_id(attributes['{key}']::VARCHAR)" for key in keys) or "NULL::VARCHAR"
    known = f"list_distinct(list_filter([{said}], lambda one: one IS NOT NULL))"
    cursor.execute(f"CREATE OR REPLACE TEMP MACRO said_request_ids(attributes) AS {known}")
    return keys


def _plan(cursor: duckdb.DuckDBPyConnection, batch_spans: int) -> None:
    cursor.execute(queries.text("units/said_values"))
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
