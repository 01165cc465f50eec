"""What failed first in training jobs, and who only followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.analysis.jobs.hang_incidents import hang_incidents
from tracekit.analysis.worded import in_words
from tracekit.schema import JobStage, exchanged, unsplit
from tracekit.store import Database

MOST_VICTIMS = 256
"""Victims of a failure that are listed one by one; all are counted, and all are in the view `job_members`."""

INCIDENT_SCHEMA = pl.Schema({
    "id": pl.String(), "job_id": pl.String(), "attempt": pl.Int64(), "kind": pl.String(), "owner": pl.String(),
    "rule": pl.String(), "stage": pl.String(), "manner": pl.String(), "ranks": pl.List(pl.Int64),
    "hosts": pl.List(pl.String), "service": pl.String(), "message": pl.String(), "source": pl.String(),
    "trace_id": pl.String(), "span_id": pl.String(), "onset_ns": pl.Int64(), "onset_slack_ns": pl.Int64(),
    "declared_ns": pl.Int64(), "recovered_ns": pl.Int64(), "recovery": pl.String(), "resumed_step": pl.Int64(),
    "blast_radius": pl.Int64(), "lost_ns": pl.Decimal(38, 0), "lost_work_ns": pl.Decimal(38, 0),
    "detect_ns": pl.Decimal(38, 0), "recover_ns": pl.Decimal(38, 0), "restart_ns": pl.Decimal(38, 0),
    "cost": pl.Float64(),
})  # fmt: skip
_LOSSES = {
    JobStage.LOST_WORK: "lost_work_ns",
    unsplit(JobStage.KEPT_STEPS, JobStage.LOST_WORK): "lost_work_ns",
    JobStage.DETECT: "detect_ns",
    JobStage.RECOVER: "recover_ns",
}
_NS_PER_HOUR = 3_600_000_000_000


@exchanged("job_failures")
@dataclass(frozen=True)
class JobFailures:
    """Failures of training jobs: one incident a failed attempt.

    incidents: one row a failure (INCIDENT_SCHEMA), in order of time. `lost_ns` is the accelerator time of its attempt
        that is lost to it (`lost_work_ns + detect_ns + recover_ns`); `restart_ns` is what the next start took, beside
        it. `kind` and `owner` are the culprit's; hosts and ranks are empty where nobody can be named.
    victims: processes that only followed, at most `MOST_VICTIMS` a failure, the first ones first.
    roles: how many processes of each failure had which role and manner, all of them.
    failed: number of failed attempts, `len(incidents)`.
    """

    failed: int
    incidents: pl.DataFrame
    victims: pl.DataFrame
    roles: pl.DataFrame

    @property
    def summary(self) -> str:
        """How many failed, what it took, and the dearest; empty for none."""
        return in_words(self)

    def as_list(self) -> list[dict[str, Any]]:
        """The incidents as `tracekit failures --json` prints them."""
        return [self._incident(row) for row in self.incidents.iter_rows(named=True)]

    def _incident(self, row: dict[str, Any]) -> dict[str, Any]:
        mine = (pl.col("job_id") == row["job_id"]) & (pl.col("attempt") == row["attempt"])
        counted = self.roles.filter(mine).drop("job_id", "attempt").to_dicts()
        cause = {
            "stage": row["stage"], "rank": row["ranks"][0] if row["ranks"] else None, "ranks": row["ranks"],
            "host": row["hosts"][0] if row["hosts"] else None, "hosts": row["hosts"], "service": row["service"],
            "span_id": row["span_id"], "trace_id": row["trace_id"], "rule": row["rule"], "message": row["message"],
            "kind": row["kind"], "owner": row["owner"], "manner": row["manner"], "source": row["source"],
        }  # fmt: skip
        return {
            "id": row["id"], "unit": row["job_id"], "attempt": row["attempt"], "kind": row["kind"],
            "time_ns": row["onset_ns"], "first_cause": cause,
            "victims": self.victims.filter(mine).drop("job_id", "attempt").to_dicts(), "roles": counted,
            **{name: row[name] for name in (
                "blast_radius", "onset_ns", "onset_slack_ns", "declared_ns", "recovered_ns", "recovery",
                "resumed_step", "cost",
            )},
            **{name: None if row[name] is None else int(row[name]) for name in (
                "lost_ns", "lost_work_ns", "detect_ns", "recover_ns", "restart_ns",
            )},
        }  # fmt: skip


def job_failures(database: Database, *, job: str | None = None, price: float | None = None) -> JobFailures:
    """The failures of every job, or of `job`, with first cause, victims, cost and recovery."""
    incidents = _incidents(database, job, price)
    dumped = hang_incidents(database, job=job, known=incidents["job_id"])
    if not dumped.incidents.is_empty():
        added = pl.concat([incidents, dumped.incidents], how="diagonal_relaxed")
        incidents = added.select(list(INCIDENT_SCHEMA)).cast(INCIDENT_SCHEMA)
    victims = dumped.victims.head(MOST_VICTIMS)
    return JobFailures(
        failed=incidents.height,
        incidents=incidents,
        victims=_with(database.query("jobs/victims", job=job, most=MOST_VICTIMS), victims),
        roles=_with(database.query("jobs/roles", job=job), dumped.roles),
    )


def _with(told: pl.DataFrame, dumped: pl.DataFrame) -> pl.DataFrame:
    """Rows of one frame behind those of another, in its columns and types."""
    if dumped.is_empty():
        return told
    return pl.concat([told, dumped], how="diagonal_relaxed").select(told.columns).cast(told.schema)


def _incidents(database: Database, job: str | None, price: float | None) -> pl.DataFrame:
    found = database.query("jobs/incidents", job=job)
    key = ["job_id", "attempt"]
    priced = pl.col("lost_ns").cast(pl.Float64) / _NS_PER_HOUR * (price or 0.0)
    return (
        found.join(_losses(database, job), on=key, how="left")
        .join(_restarts(database, job), on=key, how="left")
        .with_columns(
            id=pl.col("job_id") + "/" + pl.col("attempt").cast(pl.String),
            cost=priced if price is not None else pl.lit(None, dtype=pl.Float64),
        )
        .select(list(INCIDENT_SCHEMA))
        .cast(INCIDENT_SCHEMA)
    )


def _losses(database: Database, job: str | None) -> pl.DataFrame:
    """Accelerator time lost in each attempt, in a column a leaf and as a whole."""
    losses = database.query("jobs/losses", job=job)
    columns = {
        name: pl.col("ns").filter(pl.col("leaf").is_in([str(leaf) for leaf, to in _LOSSES.items() if to == name])).sum()
        for name in dict.fromkeys(_LOSSES.values())
    }
    return losses.group_by("job_id", "attempt").agg(lost_ns=pl.col("ns").sum(), **columns)


def _restarts(database: Database, job: str | None) -> pl.DataFrame:
    """What the attempt behind each one took to start."""
    restarts = database.query("jobs/restarts", job=job)
    order = database.query("jobs/attempts", job=job).select(
        "job_id", "attempt", after=pl.col("attempt").shift(-1).over("job_id", order_by="begun_ns")
    )
    behind = order.join(restarts, left_on=["job_id", "after"], right_on=["job_id", "attempt"], how="left")
    return behind.select("job_id", "attempt", restart_ns="ns")
