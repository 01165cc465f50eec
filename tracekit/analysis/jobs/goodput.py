"""Where the paid accelerator time of training jobs went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.analysis.exact import plain_rows
from tracekit.analysis.jobs.peaks import model_flops_utilisation
from tracekit.analysis.jobs.savings import job_savings
from tracekit.analysis.stragglers.question import StragglersAnswer, stragglers
from tracekit.analysis.worded import Drawn, in_words
from tracekit.schema import JobStage, StepStage, exchanged, unsplit
from tracekit.store import Database

NS_PER_HOUR = 3_600_000_000_000
QUEUED = (
    str(JobStage.QUEUE),
    unsplit(JobStage.QUEUE, JobStage.GANG_WAIT),
    unsplit(JobStage.QUEUE, JobStage.DEGRADED_IDLE),
)
"""Leaves without accelerators; what may be without counts as such."""

IDEAL = (str(JobStage.KEPT_STEPS), str(StepStage.COMPUTE))
"""Leaves that count as training at the reference speed: `step` is kept steps whose inside nobody tells."""

FAILED = tuple(
    map(str, (JobStage.LOST_WORK, JobStage.DETECT, JobStage.RECOVER, unsplit(JobStage.KEPT_STEPS, JobStage.LOST_WORK)))
)
"""Leaves that belong to whoever owns the cause of their attempt's end."""

LEAVES_SCHEMA = pl.Schema({
    "job_id": pl.String(), "leaf": pl.String(), "ns": pl.Decimal(38, 0), "derived_ns": pl.Decimal(38, 0),
    "share": pl.Float64(), "cost": pl.Float64(),
})  # fmt: skip
LOST_SCHEMA = pl.Schema({
    "job_id": pl.String(), "leaf": pl.String(), "owner": pl.String(), "cause": pl.String(), "ns": pl.Decimal(38, 0),
    "share": pl.Float64(), "cost": pl.Float64(),
})  # fmt: skip
JOB_SCHEMA = pl.Schema({
    "job_id": pl.String(), "accelerators": pl.Int64(), "start_ns": pl.Int64(), "end_ns": pl.Int64(),
    "is_ended": pl.Boolean(),
    "attempt_count": pl.Int64(), "failed_count": pl.Int64(), "total_ns": pl.Decimal(38, 0), "goodput": pl.Float64(),
    "sg": pl.Float64(), "rg": pl.Float64(), "pg": pl.Float64(), "inside_known": pl.Float64(), "ettr": pl.Float64(),
    "mfu": pl.Float64(), "tokens": pl.Int64(), "tokens_per_s": pl.Float64(),
    "tokens_per_s_per_accelerator": pl.Float64(),
    "cost": pl.Float64(), "lost_cost": pl.Float64(),
})  # fmt: skip


@exchanged("job_goodput")
@dataclass(frozen=True)
class JobGoodput(Drawn):
    """The ledgers of training jobs; accelerator nanoseconds are exact decimals without digits behind the point.

    jobs: one row a job (JOB_SCHEMA): `sg * rg * pg == goodput`, the share of all requested accelerator time that
        trained at the reference speed. sg: allocated of requested; rg: kept steps of allocated; pg: ideal compute of
        kept steps. inside_known: share of the kept steps whose inside spans tell; the rest counts as ideal. ettr:
        kept steps of the time in which all accelerators were granted.
    leaves: one row a job and leaf (LEAVES_SCHEMA); over a job they sum to `total_ns` exactly.
    lost: one row a job, leaf, owner and cause (LOST_SCHEMA): all that is not kept ideal steps, the largest first.
    savings: what changes inside steps would give back, by replay (SAVINGS_SCHEMA): beside the ledger and no part of it.
    culprits: who made others wait or was slow inside steps (`tracekit stragglers`); part of the leaves of steps.
    scaling: one row a job and world (`world_size`, `step_ns`, `efficiency` against the smallest world of all jobs
        asked about, for the same work a step).
    notes: what was noticed about the records, one row a job and finding.
    skipped: steps whose work was thrown away because gradients overflowed, one row a step (`job_id`, `attempt`, `step`,
        `rank_count`, `ns` over all ranks). The ledger holds them where they lie: what they took is no further loss
        beside its leaves, but part of what counts as trained.
    """

    jobs: pl.DataFrame
    leaves: pl.DataFrame
    lost: pl.DataFrame
    culprits: pl.DataFrame
    scaling: pl.DataFrame
    notes: pl.DataFrame
    savings: pl.DataFrame
    skipped: pl.DataFrame
    price: float | None

    @property
    def summary(self) -> str:
        """One sentence a job, as `tracekit.wording` says it."""
        return in_words(self)

    def as_list(self) -> list[dict[str, Any]]:
        """One object a job, as `tracekit goodput --json` prints it."""
        return [self._job(row) for row in self.jobs.iter_rows(named=True)]

    def _job(self, row: dict[str, Any]) -> dict[str, Any]:
        mine = pl.col("job_id") == row["job_id"]
        told = {"job": row["job_id"], **{key: value for key, value in row.items() if key != "job_id"}}
        parts = {
            name: plain_rows(getattr(self, name).filter(mine).drop("job_id"))
            for name in ("leaves", "lost", "culprits", "scaling", "notes", "savings", "skipped")
        }
        return told | {"total_ns": int(row["total_ns"])} | parts


def job_goodput(
    database: Database,
    *,
    job: str | None = None,
    price: float | None = None,
    flops_per_token: float | None = None,
    device: str | None = None,
    precision: str = "bf16",
) -> JobGoodput:
    """The ledger of every job, or of `job`, and its ratios.

    price: of one accelerator for one hour, in any currency; costs are null without it. MFU is null unless
    `flops_per_token` (forward and backward) and a `device` of `peaks.DEVICES` are given and tokens were counted.
    The ratios are those of ML Productivity Goodput; ETTR is that of Meta's "Revisiting Reliability".
    """
    ledger = database.query("jobs/ledger", job=job)
    leaves = _leaves(ledger, price)
    culprits = _culprits(database, job, ledger)
    tokens = database.query("jobs/tokens", job=job)
    usage = {"flops_per_token": flops_per_token, "device": device, "precision": precision}
    jobs = _jobs(database.query("jobs/jobs", job=job), leaves, tokens, price, usage)
    lost = _lost(database, job, ledger, price)
    scaling = _scaling(database.query("jobs/worlds", job=job))
    savings = job_savings(database, job=job, kept=_told_inside(leaves), hour_price=price)
    return JobGoodput(
        jobs=jobs, leaves=leaves, lost=lost, culprits=culprits, scaling=scaling,
        notes=database.query("jobs/notes", job=job), savings=savings,
        skipped=database.query("jobs/skipped_steps", job=job), price=price,
    )  # fmt: skip


def is_step_leaf() -> pl.Expr:
    """Leaves inside kept steps; what no span explains there is one of them."""
    leaf = pl.col("leaf")
    return (leaf == JobStage.KEPT_STEPS) | leaf.str.starts_with("step.") | leaf.str.starts_with("unsplit(step.") | ~(
        leaf.str.starts_with("job.") | leaf.str.starts_with("unsplit(")
    )  # fmt: skip


def _told_inside(leaves: pl.DataFrame) -> dict[str, int]:
    """Time of kept steps of each job whose inside spans tell."""
    told = leaves.filter(is_step_leaf())
    inside = told.filter(pl.col("leaf").str.starts_with("step."))
    summed = told.join(inside, on="job_id", how="semi").group_by("job_id").agg(pl.col("ns").sum())
    return {name: int(ns) for name, ns in summed.iter_rows()}


def _cost(price: float | None) -> pl.Expr:
    hours = pl.col("ns").cast(pl.Float64) / NS_PER_HOUR
    return (hours * price if price is not None else pl.lit(None, dtype=pl.Float64)).alias("cost")


def _leaves(ledger: pl.DataFrame, price: float | None) -> pl.DataFrame:
    summed = ledger.group_by("job_id", "leaf").agg(pl.col("ns").sum(), pl.col("derived_ns").sum())
    share = pl.col("ns").cast(pl.Float64) / pl.col("ns").sum().over("job_id").cast(pl.Float64)
    return (
        summed.with_columns(share=share)
        .with_columns(_cost(price))
        .select(list(LEAVES_SCHEMA))
        .cast(LEAVES_SCHEMA)
        .sort("job_id", pl.col("ns"), "leaf", descending=[False, True, False])
    )


def _jobs(
    jobs: pl.DataFrame, leaves: pl.DataFrame, tokens: pl.DataFrame, price: float | None, usage: dict[str, Any]
) -> pl.DataFrame:
    counted = dict(tokens.iter_rows())
    rows = [
        _job(row, leaves.filter(pl.col("job_id") == row["job_id"]), counted.get(row["job_id"]), price, usage)
        for row in jobs.iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=JOB_SCHEMA)


def _job(
    job: dict[str, Any], leaves: pl.DataFrame, tokens: int | None, price: float | None, usage: dict[str, Any]
) -> dict[str, Any]:
    total = _sum(leaves)
    queued = _sum(leaves.filter(pl.col("leaf").is_in(QUEUED)))
    gang = _sum(leaves.filter(pl.col("leaf") == JobStage.GANG_WAIT))
    kept = _sum(leaves.filter(is_step_leaf()))
    ideal = _sum(leaves.filter(pl.col("leaf").is_in(IDEAL)))
    told = kept - _sum(leaves.filter(pl.col("leaf") == JobStage.KEPT_STEPS))
    run_ns = kept + _sum(leaves.filter(pl.col("leaf") == JobStage.LOST_WORK))
    sg, rg, pg = _ratio(total - queued, total), _ratio(kept, total - queued), _ratio(ideal, kept)
    per_accelerator = None if not tokens or not run_ns else tokens / (run_ns / 1e9)
    hours = price / NS_PER_HOUR if price is not None else None
    return {
        **{name: job[name] for name in JOB_SCHEMA if name in job},
        "total_ns": total, "goodput": _ratio(ideal, total), "sg": sg, "rg": rg, "pg": pg,
        "inside_known": _ratio(told, kept), "ettr": _ratio(kept, total - queued - gang),
        "mfu": model_flops_utilisation(tokens=tokens, run_ns=run_ns, **usage), "tokens": tokens,
        "tokens_per_s": None if per_accelerator is None else per_accelerator * job["accelerators"],
        "tokens_per_s_per_accelerator": per_accelerator,
        "cost": None if hours is None else total * hours,
        "lost_cost": None if hours is None else (total - ideal) * hours,
    }  # fmt: skip


def _sum(leaves: pl.DataFrame) -> int:
    return int(leaves["ns"].sum() or 0)


def _ratio(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _lost(database: Database, job: str | None, ledger: pl.DataFrame, price: float | None) -> pl.DataFrame:
    """All that is not ideal steps, time lost to failures by the cause of each."""
    beside = ledger.filter(~pl.col("leaf").is_in([*IDEAL, *FAILED])).select(
        "job_id", "leaf", "owner", pl.lit(None, dtype=pl.String).alias("cause"), "ns"
    )
    causes = database.query("jobs/incidents", job=job).select("job_id", "attempt", "owner", cause=_cause_text())
    failed = (
        database.query("jobs/losses", job=job)
        .join(causes, on=["job_id", "attempt"], how="left")
        .with_columns(pl.col("owner").fill_null("platform"), pl.col("cause").fill_null("planned stop"))
        .group_by("job_id", "leaf", "owner", "cause")
        .agg(pl.col("ns").sum())
    )
    totals = ledger.group_by("job_id").agg(total=pl.col("ns").sum())
    share = pl.col("ns").cast(pl.Float64) / pl.col("total").cast(pl.Float64)
    columns = ["job_id", "leaf", "owner", "cause", "ns"]
    return (
        pl.concat([beside.select(columns), failed.select(columns)], how="vertical_relaxed")
        .filter(pl.col("ns") > 0)
        .join(totals, on="job_id")
        .with_columns(share=share)
        .with_columns(_cost(price))
        .select(list(LOST_SCHEMA))
        .cast(LOST_SCHEMA)
        .sort("job_id", "ns", "leaf", "cause", descending=[False, True, False, False], nulls_last=True)
    )


def _cause_text() -> pl.Expr:
    who = pl.when(pl.col("hosts").list.len() > 0).then(pl.lit(" on ") + pl.col("hosts").list.join(", "))
    return pl.col("kind") + who.otherwise(pl.lit(""))


def _culprits(database: Database, job: str | None, ledger: pl.DataFrame) -> pl.DataFrame:
    """Who was slow inside steps; nothing to look for where no step's inside is told."""
    inside = ledger.filter(pl.col("leaf").str.starts_with("step."))
    empty = pl.DataFrame(schema={"job_id": pl.String})
    if inside.is_empty():
        return empty
    answer: StragglersAnswer = stragglers(database, job=job)
    return answer.culprits


def _scaling(worlds: pl.DataFrame) -> pl.DataFrame:
    """Strong scaling: E = (N0 T0) / (N T), T the time of a step with N accelerators, 0 the smallest world."""
    timed = worlds.with_columns(step_ns=pl.col("trained_ns") // pl.col("steps"))
    if timed["world_size"].n_unique() < 2:
        return timed.clear().with_columns(efficiency=pl.lit(None, dtype=pl.Float64))
    spent = pl.col("world_size").cast(pl.Float64) * pl.col("step_ns")
    return timed.sort("world_size", "job_id").with_columns(efficiency=spent.first() / spent)
