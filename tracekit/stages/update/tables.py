"""Writes units and their stages to the store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import duckdb
import polars as pl

from tracekit import queries
from tracekit.stages.units import RequestFrames, StepFrames
from tracekit.store import registered


@dataclass(frozen=True)
class SpanRange:
    """The earliest and the latest start of the spans of a batch, nanoseconds since the epoch."""

    first_ns: int
    last_ns: int


@dataclass(frozen=True)
class JoinedSpans:
    """Where traces that are part of a request hang in it.

    spans: rows of base.joined_spans, ids as text and numbers. stale: `trace_id` of traces whose stored rows go.
    """

    spans: pl.DataFrame
    stale: pl.DataFrame


def add_requests(
    cursor: duckdb.DuckDBPyConnection,
    frames: RequestFrames,
    *,
    spans: SpanRange,
    request_marks: pl.DataFrame,
    repeated_traces: pl.DataFrame,
    joined: JoinedSpans,
) -> int:
    """Store requests whose spans start in a range of time; returns their number.

    `request_marks`: what was noticed about requests, by the `trace_id` of each, as `flags`.
    `repeated_traces`: `trace_id` of those with spans that were recorded more than once.
    """
    first_unit_id = next_unit_id(cursor)
    where = {"first_unit_id": first_unit_id, "first_ns": spans.first_ns, "last_ns": spans.last_ns}
    tables = {"new_units": frames.units, "request_marks": request_marks, "repeated_traces": repeated_traces}
    insert(cursor, "add_requests", tables, where)
    insert(cursor, "add_unit_stages", {"new_stages": frames.stages}, {"first_unit_id": first_unit_id})
    if joined.stale.height:
        insert(cursor, "remove_joined_spans", {"stale_traces": joined.stale}, {})
    if joined.spans.height:
        insert(cursor, "add_joined_spans", {"new_joined_spans": joined.spans}, {})
    return frames.units.height


def add_request_ids(cursor: duckdb.DuckDBPyConnection, request_ids: pl.DataFrame) -> None:
    """Store the names of requests that spans tell: rows of base.request_ids, trace ids as text."""
    if request_ids.height:
        insert(cursor, "add_request_ids", {"new_request_ids": request_ids}, {})


def add_steps(
    cursor: duckdb.DuckDBPyConnection, frames: StepFrames, *, spans: SpanRange, dirty_steps: pl.DataFrame
) -> int:
    """Store steps whose spans start in a range of time; returns their number."""
    first_unit_id = next_unit_id(cursor)
    where = {"first_unit_id": first_unit_id, "first_ns": spans.first_ns, "last_ns": spans.last_ns}
    insert(cursor, "add_steps", {"new_units": frames.units, "dirty_steps": dirty_steps}, where)
    insert(cursor, "add_unit_stages", {"new_stages": frames.stages}, {"first_unit_id": first_unit_id})
    parts = {"waits": frames.waits, "lead_ins": frames.lead_ins, "collectives": frames.collectives}
    for part, rows in parts.items():
        insert(cursor, f"add_step_{part}", {f"new_{part}": rows}, {"first_unit_id": first_unit_id})
    return frames.units.height


def delete_units(cursor: duckdb.DuckDBPyConnection, units: pl.DataFrame) -> None:
    """Delete units by their `unit_id`, with all that hangs on them."""
    if units.is_empty():
        return
    with registered(cursor, {"gone_units": units}):
        for table in ("units", "unit_stages", "step_waits", "step_lead_ins", "step_collectives"):
            cursor.execute(f"DELETE FROM base.{table} WHERE unit_id IN (SELECT unit_id FROM gone_units)")


def set_built_through(cursor: duckdb.DuckDBPyConnection, ingest_id: int) -> None:
    """Note the last ingest whose spans are in the units."""
    cursor.execute("DELETE FROM base.built_through")
    cursor.execute("INSERT INTO base.built_through VALUES ($ingest_id)", {"ingest_id": ingest_id})


def next_unit_id(cursor: duckdb.DuckDBPyConnection) -> int:
    """The smallest number that no unit has or follows."""
    statement = "SELECT coalesce(max(unit_id)::BIGINT, 0) + 1 FROM base.units"
    return int(cursor.execute(statement).fetchall()[0][0])


def insert(
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    tables: Mapping[str, pl.DataFrame],
    parameters: dict[str, int],
) -> None:
    """Run `queries/units/<name>.sql` with the frames as its registered tables."""
    with registered(cursor, tables):
        cursor.execute(queries.text(f"units/{name}"), parameters or None)
