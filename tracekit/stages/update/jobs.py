"""Brings the units of jobs up to date with what arrived."""

from __future__ import annotations

import time
from typing import Any
from weakref import WeakKeyDictionary

import duckdb
import polars as pl

from tracekit import queries
from tracekit.stages.units import JobFrames, JobRecords, build_job
from tracekit.store import Database, registered

_TABLES = {
    "jobs": "jobs", "job_attempts": "attempts", "job_leaves": "leaves", "job_incidents": "incidents",
    "job_members": "members", "job_notes": "notes",
}  # fmt: skip
"""Tables of the store and the frames that fill them."""


SLACK_NS = 600_000_000_000
"""Records of hosts count until so long after the last span: clocks differ, and logs come behind."""


_RESTS = 9
"""While data keeps arriving, making jobs rests so many times as long as it took: a tenth of the time is theirs."""

_RESTING_UNTIL_S: WeakKeyDictionary[Database, float] = WeakKeyDictionary()


def update_jobs(database: Database, *, is_following: bool = False) -> int:
    """Make the units of every job anew about which something arrived; returns how many jobs were made.

    The units of a job are made from all that is known of it, so that they do not depend on the order or the portions
    of arrival. Large jobs take seconds: where `is_following` says that the next call comes soon, it may do the work
    that this one leaves. The caller holds `database.building`. Raises `StoreError` where the store cannot be written.
    """
    if is_following and time.monotonic() < _RESTING_UNTIL_S.get(database, 0.0):
        return 0
    begun_s = time.monotonic()
    made = _make(database)
    ended_s = time.monotonic()
    _RESTING_UNTIL_S[database] = ended_s + _RESTS * (ended_s - begun_s)
    return made


def _make(database: Database) -> int:
    with database.transaction() as cursor:
        built, newest = cursor.execute(queries.text("jobs/newest")).fetchall()[0]
        if built >= newest or not _select(cursor, built):
            return 0
        dirty = [row[0] for row in cursor.execute(queries.text("jobs/dirty")).fetchall()]
        owners = dict(cursor.execute("SELECT stage, owner FROM base.stages").fetchall())
        for job in dirty:
            _replace(cursor, job, build_job(_read(cursor, job), owners=owners))
        cursor.execute("DELETE FROM base.jobs_built_through")
        cursor.execute("INSERT INTO base.jobs_built_through VALUES ($newest)", {"newest": newest})
        return len(dirty)


def _select(cursor: duckdb.DuckDBPyConnection, built: int) -> bool:
    """Make the temporary table `job_resources`; whether it has any rows."""
    cursor.execute(f"SET VARIABLE jobs_built_through = {built}")
    cursor.execute("CREATE OR REPLACE TEMP TABLE job_resources AS " + queries.text("jobs/resources"))
    return bool(cursor.execute("SELECT count(*) FROM job_resources").fetchall()[0][0])


def _replace(cursor: duckdb.DuckDBPyConnection, name: str, frames: JobFrames) -> None:
    """Store the units of one job in the place of its old ones."""
    for table in reversed(_TABLES):
        cursor.execute(
            f"DELETE FROM base.{table} WHERE job_id IN (SELECT job_id FROM base.jobs WHERE name = $name)",
            {"name": name},
        )
    for table, frame in _TABLES.items():
        _insert(cursor, table, getattr(frames, frame))


def _read(cursor: duckdb.DuckDBPyConnection, job: str) -> JobRecords:
    """Read a job whose resources are in the temporary table `job_resources`."""
    processes = _rows(cursor, "processes", job=job)
    first_ns: Any = processes["first_ns"].min()
    last_ns: Any = processes["last_ns"].max()
    return JobRecords(
        job=job,
        spans=_rows(cursor, "spans", job=job),
        processes=processes,
        step_stages=_rows(cursor, "step_stages", job=job),
        events=_rows(cursor, "events", job=job, first_ns=first_ns or 0, last_ns=(last_ns or 0) + SLACK_NS),
        grants=_rows(cursor, "grants", job=job),
        held=_rows(cursor, "held", job=job),
    )


def _rows(cursor: duckdb.DuckDBPyConnection, name: str, **parameters: object) -> pl.DataFrame:
    return cursor.sql(queries.text(f"jobs/{name}"), params=parameters).pl()


def _insert(cursor: duckdb.DuckDBPyConnection, table: str, frame: pl.DataFrame) -> None:
    with registered(cursor, {"new_rows": frame}):
        cursor.execute(f"INSERT INTO base.{table} BY NAME SELECT * FROM new_rows")
