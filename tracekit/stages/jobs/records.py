"""What is known of one training job: frames as `queries/jobs` reads them from a store."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import polars as pl

from tracekit import queries
from tracekit.stages.jobs.extremes import least, most

TRAINER_PHASES = ("init", "load", "run", "steps", "step", "save", "write", "custom")
"""Phases that processes of the job itself are in."""


@dataclass(frozen=True, eq=False)
class JobRecords:
    """All that arrived about one job, with the columns of `queries/jobs/<name>.sql`; times in nanoseconds."""

    job: str
    spans: pl.DataFrame
    processes: pl.DataFrame
    step_stages: pl.DataFrame
    events: pl.DataFrame
    grants: pl.DataFrame
    held: pl.DataFrame


def read_records(cursor: duckdb.DuckDBPyConnection, job: str) -> JobRecords:
    """Read a job whose resources are in the temporary table `job_resources`."""
    processes = _rows(cursor, "processes", job=job)
    first_ns, last_ns = least(processes["first_ns"]), most(processes["last_ns"])
    return JobRecords(
        job=job,
        spans=_rows(cursor, "spans", job=job),
        processes=processes,
        step_stages=_rows(cursor, "step_stages", job=job),
        events=_rows(cursor, "events", job=job, first_ns=first_ns or 0, last_ns=(last_ns or 0) + SLACK_NS),
        grants=_rows(cursor, "grants", job=job),
        held=_rows(cursor, "held", job=job),
    )


SLACK_NS = 600_000_000_000
"""Records of hosts count until so long after the last span: clocks differ, and logs come behind."""


def outside_steps() -> pl.Expr:
    """Spans that belong to no step: those inside steps are in the units of steps."""
    in_steps = pl.col("phase").is_in(["save", "write", "custom"]) & pl.col("step").is_not_null()
    return (pl.col("phase") != "step") & ~in_steps


def _rows(cursor: duckdb.DuckDBPyConnection, name: str, **parameters: object) -> pl.DataFrame:
    return cursor.sql(queries.text(f"jobs/{name}"), params=parameters).pl()
