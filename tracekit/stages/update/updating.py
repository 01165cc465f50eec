"""Brings units and unit stages up to date with the spans that arrived."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import duckdb
import polars as pl

from tracekit import queries
from tracekit.errors import UsageError
from tracekit.stages.units import build_requests, build_steps
from tracekit.stages.update.jobs import update_jobs
from tracekit.stages.update.reading import (
    read_joined_spans,
    read_repeated_traces,
    read_steps,
    read_traces,
    select_batch,
    select_step_batch,
)
from tracekit.stages.update.selection import batch_ranges, select_late
from tracekit.stages.update.storing import UnitStorer
from tracekit.stages.update.tables import JoinedSpans, SpanRange, add_requests, add_steps
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


def update_units(
    database: Database, *, batch_traces: int = 50_000, is_following: bool = False, with_jobs: bool = True
) -> UnitsUpdate:
    """Compute the units of every trace and training step that has spans which are not in its units yet.

    The units of a key are made anew from all its spans, the old ones deleted in the same transaction, so the
    result does not depend on the order or the portions in which spans arrive. Each batch is a transaction: an
    update that breaks off leaves whole units, and the next one makes them again. `batch_traces` is the number
    of traces of ten spans that a batch has; up to four are in memory. `is_following` says that more calls come soon:
    jobs, which are made as a whole, may then wait for one of those; `with_jobs` whether they are made at all.
    Raises `UsageError` for a batch of no traces and `StoreError` where the store cannot be written.
    """
    if batch_traces < 1:
        raise UsageError(
            f"batch_traces is {batch_traces}; give at least 1", option="batch_traces", value=str(batch_traces)
        )
    with database.building:
        updated = _update_traces(database, batch_traces)
        if with_jobs:
            update_jobs(database, is_following=is_following)
        return updated


def _update_traces(database: Database, batch_traces: int) -> UnitsUpdate:
    """Compute requests and steps; the caller holds `database.building`."""
    with database.transaction() as cursor:
        built_through, newest = _progress(cursor)
        if newest is None or built_through >= newest:
            return UnitsUpdate(built_through=newest, requests=0, steps=0, replaced=0)
        select_late(
            cursor,
            built_through=built_through,
            batch_spans=batch_traces * _SPANS_PER_TRACE,
            crowded=database.crowded_request_ids,
        )
        old_units = cursor.sql(queries.text("units/old_units")).pl()
        request_ids = cursor.sql("SELECT * REPLACE (trace_id::VARCHAR AS trace_id) FROM new_request_ids").pl()
        with UnitStorer(database) as storer:
            _store_requests(cursor, storer, old_units)
            _store_steps(cursor, storer, old_units)
            unreplaced = _replaced_by(old_units, None, None)
            stored = storer.finish(built_through=newest, old_units=unreplaced, request_ids=request_ids)
    return UnitsUpdate(newest, requests=stored["request"], steps=stored["step"], replaced=old_units.height)


def _progress(cursor: duckdb.DuckDBPyConnection) -> tuple[int, int | None]:
    """The last ingest that is in the units (-1 for none) and the newest one (None for an empty store)."""
    built = _value(cursor, "SELECT coalesce(max(ingest_id)::BIGINT, -1) FROM base.built_through")
    return built, _value(cursor, "SELECT max(ingest_id)::BIGINT FROM base.spans")


def _value(cursor: duckdb.DuckDBPyConnection, statement: str) -> Any:
    return cursor.execute(statement).fetchall()[0][0]


def _replaced_by(old_units: pl.DataFrame, kind: str | None, batch_no: int | None) -> pl.DataFrame:
    """The old units that a batch takes the place of; those of no batch for None."""
    of_batch = pl.col("kind").eq_missing(kind) & pl.col("batch_no").eq_missing(batch_no)
    return old_units.filter(of_batch).select("unit_id")


def _store_requests(cursor: duckdb.DuckDBPyConnection, storer: UnitStorer, old_units: pl.DataFrame) -> None:
    """Read one batch of traces after the other; they are built and stored beside."""
    marks = cursor.sql(queries.text("units/request_marks")).pl()
    stale = cursor.sql(queries.text("units/stale_joined")).pl()
    for batch_no, first_ns, last_ns in batch_ranges(cursor, "request_ranges"):
        select_batch(cursor, batch_no=batch_no, first_ns=first_ns, last_ns=last_ns)
        build = partial(build_requests, read_traces(cursor))
        joined = JoinedSpans(read_joined_spans(cursor), stale.filter(pl.col("batch_no") == batch_no).select("trace_id"))
        add = partial(
            add_requests,
            spans=SpanRange(first_ns, last_ns),
            request_marks=marks,
            repeated_traces=read_repeated_traces(cursor),
            joined=joined,
        )
        storer.store("request", build, add, _replaced_by(old_units, "request", batch_no))


def _store_steps(cursor: duckdb.DuckDBPyConnection, storer: UnitStorer, old_units: pl.DataFrame) -> None:
    """Read one batch of training steps after the other; they are built and stored beside."""
    for batch_no, first_ns, last_ns in batch_ranges(cursor, "step_ranges"):
        select_step_batch(cursor, batch_no=batch_no, first_ns=first_ns, last_ns=last_ns)
        build = partial(build_steps, read_steps(cursor))
        of_batch = "SELECT * FROM dirty_steps WHERE batch_no = $batch_no"
        steps = cursor.sql(of_batch, params={"batch_no": batch_no}).pl()
        add = partial(add_steps, spans=SpanRange(first_ns, last_ns), dirty_steps=steps)
        storer.store("step", build, add, _replaced_by(old_units, "step", batch_no))
