"""Brings units and unit stages up to date with the spans that arrived."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import duckdb

from tracekit import queries
from tracekit.errors import UsageError
from tracekit.stages.batches import read_batch, read_step_batch, select_batch, select_step_batch
from tracekit.stages.requests import UnitFrames, build_requests
from tracekit.stages.selection import batch_ranges, host_of_resources, make, select_late
from tracekit.stages.steps import build_steps
from tracekit.stages.tables import add_requests, add_steps
from tracekit.store import Database

_SPANS_PER_TRACE = 10


@dataclass(frozen=True)
class UnitsUpdate:
    """What one call of `update_units` did.

    `built_through`: last ingest whose spans are in the units, None for an empty store; `requests` and
    `steps`: units that were made, new ones and ones made anew; `replaced`: units that they took the place of.
    """

    built_through: int | None
    requests: int
    steps: int
    replaced: int


def update_units(database: Database, *, batch_traces: int = 50_000) -> UnitsUpdate:
    """Compute the units of every trace and training step that has spans which are not in its units yet.

    The units of a key are made anew from all its spans, the old ones deleted in the same transaction, so the
    result does not depend on the order or the portions in which spans arrive. `batch_traces` is the number of
    traces of ten spans that are in memory at a time. Raises `UsageError` for a batch of no traces and
    `StoreError` where the store cannot be written.
    """
    if batch_traces < 1:
        raise UsageError(f"batch_traces is {batch_traces}; give at least 1")
    with database.building, database.transaction() as cursor:
        built_through, newest = _progress(cursor)
        if newest is None or built_through >= newest:
            return UnitsUpdate(built_through=newest, requests=0, steps=0, replaced=0)
        select_late(cursor, built_through=built_through, batch_spans=batch_traces * _SPANS_PER_TRACE)
        replaced = _delete_old(cursor)
        requests = _add_requests(cursor)
        steps = _add_steps(cursor)
        cursor.execute("DELETE FROM base.built_through")
        cursor.execute("INSERT INTO base.built_through VALUES ($newest)", {"newest": newest})
    return UnitsUpdate(built_through=newest, requests=requests, steps=steps, replaced=replaced)


def _progress(cursor: duckdb.DuckDBPyConnection) -> tuple[int, int | None]:
    """The last ingest that is in the units (-1 for none) and the newest one (None for an empty store)."""
    built = _value(cursor, "SELECT coalesce(max(ingest_id)::BIGINT, -1) FROM base.built_through")
    return built, _value(cursor, "SELECT max(ingest_id)::BIGINT FROM base.spans")


def _value(cursor: duckdb.DuckDBPyConnection, statement: str) -> Any:
    return cursor.execute(statement).fetchall()[0][0]


def _delete_old(cursor: duckdb.DuckDBPyConnection) -> int:
    """Delete the units that are made anew, with all that hangs on them; returns their number."""
    make(cursor, "old_units")
    replaced = _value(cursor, "SELECT count(*) FROM old_units")
    if replaced:
        for table in ("units", "unit_stages", "step_waits"):
            cursor.execute(f"DELETE FROM base.{table} WHERE unit_id IN (SELECT unit_id FROM old_units)")
    return replaced


def _add_requests(cursor: duckdb.DuckDBPyConnection) -> int:
    """Read, build and store one batch of traces after the other; returns the number of requests.

    Only this thread talks to the store: while it reads a batch, another thread builds the one before.
    """
    host_of = host_of_resources(cursor)
    meanings = cursor.sql(queries.text("units/window_stages")).pl()
    added = 0
    with ThreadPoolExecutor(max_workers=1) as builder:
        building: _Building | None = None
        for batch_no, first_ns, last_ns in batch_ranges(cursor, "request_ranges"):
            select_batch(cursor, batch_no=batch_no, first_ns=first_ns, last_ns=last_ns)
            batch = read_batch(cursor, host_of=host_of, meanings=meanings)
            added += _store(cursor, building)
            building = _Building(builder.submit(build_requests, batch), first_ns, last_ns)
        added += _store(cursor, building)
    return added


class _Building(NamedTuple):
    """A batch that another thread builds, and the range of time in which its spans start."""

    frames: Future[UnitFrames]
    first_ns: int
    last_ns: int


def _store(cursor: duckdb.DuckDBPyConnection, building: _Building | None) -> int:
    if building is None:
        return 0
    frames = building.frames.result()
    return add_requests(cursor, frames, first_ns=building.first_ns, last_ns=building.last_ns)


def _add_steps(cursor: duckdb.DuckDBPyConnection) -> int:
    """Build and store one batch of training steps after the other; returns the number of units."""
    added = 0
    for batch_no, first_ns, last_ns in batch_ranges(cursor, "step_ranges"):
        select_step_batch(cursor, batch_no=batch_no, first_ns=first_ns, last_ns=last_ns)
        frames = build_steps(read_step_batch(cursor))
        added += add_steps(cursor, frames, first_ns=first_ns, last_ns=last_ns)
    return added
