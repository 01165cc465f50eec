"""Writes units and their stages to the store."""

from __future__ import annotations

import duckdb
import polars as pl

from tracekit import queries
from tracekit.stages.requests import UnitFrames
from tracekit.stages.steps import StepFrames


def add_requests(
    cursor: duckdb.DuckDBPyConnection, frames: UnitFrames, *, first_ns: int, last_ns: int
) -> int:
    """Store requests whose spans start in a range of time; returns their number."""
    first_unit_id = next_unit_id(cursor)
    where = {"first_unit_id": first_unit_id, "first_ns": first_ns, "last_ns": last_ns}
    insert(cursor, "add_requests", "new_units", frames.units, where)
    insert(cursor, "add_unit_stages", "new_stages", frames.stages, {"first_unit_id": first_unit_id})
    return frames.units.height


def add_steps(cursor: duckdb.DuckDBPyConnection, frames: StepFrames, *, first_ns: int, last_ns: int) -> int:
    """Store steps whose spans start in a range of time; returns their number."""
    first_unit_id = next_unit_id(cursor)
    where = {"first_unit_id": first_unit_id, "first_ns": first_ns, "last_ns": last_ns}
    insert(cursor, "add_steps", "new_units", frames.units, where)
    insert(cursor, "add_unit_stages", "new_stages", frames.stages, {"first_unit_id": first_unit_id})
    insert(cursor, "add_step_waits", "new_waits", frames.waits, {"first_unit_id": first_unit_id})
    return frames.units.height


def next_unit_id(cursor: duckdb.DuckDBPyConnection) -> int:
    """The smallest number that no unit has or follows."""
    statement = "SELECT coalesce(max(unit_id)::BIGINT, 0) + 1 FROM base.units"
    return int(cursor.execute(statement).fetchall()[0][0])


def insert(
    cursor: duckdb.DuckDBPyConnection, name: str, table: str, frame: pl.DataFrame, parameters: dict[str, int]
) -> None:
    """Run `queries/units/<name>.sql` with the frame as its registered table."""
    cursor.register(table, frame)
    try:
        cursor.execute(queries.text(f"units/{name}"), parameters)
    finally:
        cursor.unregister(table)
