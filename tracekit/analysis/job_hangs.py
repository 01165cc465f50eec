"""Hangs of training jobs that left Flight Recorder dumps, as incidents beside those that spans and logs tell."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracekit.analysis.hangs import Hang, explain_hang
from tracekit.store import Database

# A host that enqueues nothing may lack a processor or hold a lock: dumps do not tell whose fault that is.
_OWNERS = {"culprit_device": "provider", "culprit_host": "nobody", "culprit_software": "application"}
_KINDS = {"culprit_device": "device", "culprit_host": "host", "culprit_software": "software"}
_NETWORK = ("network", "provider")
_UNKNOWN = ("unknown", "nobody")


@dataclass(frozen=True, eq=False)
class DumpedHangs:
    """What the dumps tell: `incidents`, one row a job, `victims` and `roles`, as `tracekit.analysis.job_failures`."""

    incidents: pl.DataFrame
    victims: pl.DataFrame
    roles: pl.DataFrame


def hang_incidents(database: Database, *, job: str | None = None, known: pl.Series | None = None) -> DumpedHangs:
    """The hangs of jobs that left dumps, of `job` or of all; jobs in `known` have an incident already.

    A job without anything pending in its dumps has no hang. What a hang cost is not known from dumps alone.
    """
    dumped = database.query("failures/dumped_ranks", job=job)
    if known is not None:
        dumped = dumped.filter(~pl.col("job").is_in(known.implode()))
    groups, entries = (database.query(f"failures/{name}", job=job) for name in ("dump_groups", "dump_entries"))
    found = [
        (name, _hang(groups, entries, ranks, name))
        for (name,), ranks in dumped.group_by("job", maintain_order=True)
        if isinstance(name, str)
    ]
    hangs = [(name, hang) for name, hang in found if hang.rule != "none"]
    if not hangs:
        return DumpedHangs(pl.DataFrame(), pl.DataFrame(), pl.DataFrame())
    victims = pl.concat([_victims(name, hang) for name, hang in hangs])
    roles = pl.concat([_followers(name, hang, every=True) for name, hang in hangs])
    counted = roles.group_by("job_id", "attempt", "role", "manner").agg(process_count=pl.len().cast(pl.Int64))
    incidents = pl.DataFrame([_incident(name, hang) for name, hang in hangs], infer_schema_length=None)
    return DumpedHangs(incidents, victims, counted.sort("job_id", "attempt", "role", "manner"))


def _hang(groups: pl.DataFrame, entries: pl.DataFrame, ranks: pl.DataFrame, job: str) -> Hang:
    mine = pl.col("job") == job
    return explain_hang(groups.filter(mine).drop("job"), entries.filter(mine).drop("job"), dumped=ranks["rank"])


def _incident(job: str, hang: Hang) -> dict[str, object]:
    kinds = hang.culprits["class"].unique().sort().to_list()
    kind, owner = (_KINDS[kinds[0]], _OWNERS[kinds[0]]) if kinds else _NETWORK if hang.links.height else _UNKNOWN
    manners = hang.culprits["manner"].unique().sort().to_list()
    return {
        "id": f"{job}/0",
        "job_id": job,
        "attempt": 0,
        "kind": kind,
        "owner": owner,
        "rule": hang.rule,
        "manner": manners[0] if manners else "implicit_hang",
        "ranks": hang.culprits["rank"].to_list(),
        "hosts": [],
        "message": hang.summary,
        "source": "flight_recorder",
        "onset_ns": hang.onset_ns,
        "declared_ns": hang.declared_ns,
        "blast_radius": hang.blast_radius,
    }


def _victims(job: str, hang: Hang) -> pl.DataFrame:
    return _followers(job, hang, every=False)


def _followers(job: str, hang: Hang, *, every: bool) -> pl.DataFrame:
    """Ranks with role and manner: all, or those that only followed."""
    rows = hang.ranks if every else hang.ranks.filter(pl.col("role") != "initiating")
    return rows.select(
        pl.lit(job).alias("job_id"),
        pl.lit(0, pl.Int64).alias("attempt"),
        pl.col("rank"),
        pl.col("role"),
        pl.col("manner").fill_null(pl.col("role")),
        time_ns=pl.col("created_ns"),
    )
