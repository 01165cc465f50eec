"""Which rank made the others wait, in which stage and in which steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from tracekit.analysis.answer import UNITS_SCHEMA, BaseAnswer, question, registered
from tracekit.analysis.evidence import Evidence, evidence
from tracekit.analysis.pipeline import is_whole_stage, with_heaviness
from tracekit.analysis.rounding import apportioned
from tracekit.analysis.selection import Selection
from tracekit.schema import StragglersVerdict
from tracekit.store import Database

SPREADS = 6.0
"""A rank's own time is slow when it is this many robust standard deviations above its reference, and ..."""

STEP_SHARE = 0.10
"""... this share of the median step time above it, and ..."""

LOST_SHARE = 0.01
"""... its slow steps, or those of its host, together lost this share of the job's time. Less is not named."""

MINIMUM_STEPS = 8
"""Fewer steps give no reference to call anything slow."""

CLEAR_SHARE = 2 / 3
"""A rank that was waited for by more than this share of all waiting is told, slow itself or not."""

_STEP_GAP = 2

CULPRIT_SCHEMA = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "rank": pl.Int64,
    "pipeline_stage": pl.Int64,
    "stage": pl.String,
    "operation": pl.String,
    "steps": pl.Int64,
    "first_step": pl.Int64,
    "last_step": pl.Int64,
    "own_ns": pl.Int64,
    "waited_ns": pl.Int64,
    "lost_ns": pl.Int64,
    "share": pl.Float64,
}

PIPELINE_SCHEMA = {
    "job_id": pl.String,
    "pipeline_stage": pl.Int64,
    "rank_count": pl.Int64,
    "compute_ns": pl.Int64,
    "typical_ns": pl.Int64,
    "median_step_ns": pl.Int64,
    "waited_ns": pl.Int64,
    "is_heavy": pl.Boolean,
}
JOB_SCHEMA = {
    "job_id": pl.String,
    "attempt_count": pl.Int64,
    "rank_count": pl.Int64,
    "step_count": pl.Int64,
    "warm_up_count": pl.Int64,
    "failed_count": pl.Int64,
    "median_step_ns": pl.Int64,
    "mean_step_ns": pl.Int64,
    "wall_ns": pl.Int64,
    "waited_ns": pl.Int64,
}
WAITED_FOR_SCHEMA = {"job_id": pl.String, "rank": pl.Int64, "waited_ns": pl.Int64}


@registered("stragglers", rows="culprits", title="Which rank made the others wait?")
@dataclass(frozen=True)
class StragglersAnswer(BaseAnswer):
    """Who was slow, and what it cost. Times are integer nanoseconds of accelerators, shares of `wall_ns`.

    culprits: one row a rank, stage, operation and run of steps, the costliest first; runs too short to count
        for themselves share a row, with their first and last step. `own_ns` is the rank's own time above its
        reference, `waited_ns` the waiting of the others for it, `lost_ns` their sum.
        `rank` is null where all ranks were slow together and the spans do not tell who held them, and where all
        of a pipeline stage were, which `pipeline_stage` then names (`own_ns` is the sum over these ranks).
    pipeline: one row a pipeline stage of a job with enough steps that reports them: `rank_count`, `compute_ns` of a
        typical rank in a typical step, `typical_ns` of the typical stage, the job's `median_step_ns`, `waited_ns` of
        the others, and `is_heavy`: it computes `STEP_SHARE` of the median step longer than the typical one.
    jobs: one row a job, with its median step time and what was not looked at.
    slowdown: time of all steps over what they would take at the median step of their job; None without steps.
    wall_ns: durations of all ranks in all steps that were looked at. waited_ns: waiting of all ranks in them;
        `sum(culprits.waited_ns) + unnamed_wait_ns == waited_ns` always.
    verdict, summary: the conclusion as a stable code and as a sentence. evidence: what the data can bear.
    job: the job that was asked about, None for all. waited_for: where no culprit is named, how long the others waited
        for each rank. other_jobs: where there are no steps of the job, the jobs that have some.
    units: the ranks' parts of the steps that were looked at.
    """

    schema: ClassVar = {
        "culprits": CULPRIT_SCHEMA,
        "pipeline": PIPELINE_SCHEMA,
        "jobs": JOB_SCHEMA,
        "waited_for": WAITED_FOR_SCHEMA,
    }
    not_in_json: ClassVar = BaseAnswer.not_in_json | {"job", "waited_for", "other_jobs"}

    culprits: pl.DataFrame
    pipeline: pl.DataFrame
    jobs: pl.DataFrame
    slowdown: float | None
    wall_ns: int
    waited_ns: int
    unnamed_wait_ns: int
    verdict: StragglersVerdict
    evidence: Evidence
    units: pl.DataFrame
    job: str | None
    waited_for: pl.DataFrame
    other_jobs: list[str]


@question("stragglers")
def stragglers(database: Database, *, job: str | None = None) -> StragglersAnswer:
    """Name the ranks whose own work, and not their waiting, made steps slow; `job` limits it to one job.

    A rank is named for steps in which an operation of its own took more than `SPREADS` robust deviations and
    `STEP_SHARE` of the median step above what it takes a typical rank of its role (the median over ranks of
    their medians), if these steps lost `LOST_SHARE` of the job's time, in a row (one step may be missing
    between two) or scattered, on one rank or on all of its host. A pipeline stage whose ranks are all slow in the
    same steps is named instead of them, and one that computes longer than the others all the time is told in
    `pipeline` and `summary`. The waiting of others for a rank in such
    a step is charged to its slow operations in proportion to their excess. The reference is robust and knows
    roles, as the OSDI 2025 what-if analysis of stragglers asks for; the numbers are occupancy, not a replay.
    """
    jobs = database.query("stragglers/jobs", job=job)
    slow = database.query("stragglers/slow_times", job=job, spreads=SPREADS, step_share=STEP_SHARE)
    pipeline = database.query("stragglers/pipeline_stages", job=job)
    enough = jobs.filter(pl.col("step_count") >= MINIMUM_STEPS)
    culprits = _culprits(_charged(slow), enough)
    pipeline = with_heaviness(pipeline.join(enough, on="job_id", how="semi"), step_share=STEP_SHARE)
    wall_ns, waited_ns = int(jobs["wall_ns"].sum()), int(jobs["waited_ns"].sum())
    judged = _evidence(database, job)
    is_refused = judged.verdict == "refused"
    return StragglersAnswer(
        culprits=culprits,
        pipeline=pipeline,
        jobs=jobs,
        slowdown=_slowdown(jobs),
        wall_ns=wall_ns,
        waited_ns=waited_ns,
        unnamed_wait_ns=waited_ns - int(culprits["waited_ns"].sum()),
        verdict="refused" if is_refused else _verdict(jobs, enough, culprits, pipeline),
        evidence=judged,
        units=database.query("stragglers/units", job=job).with_columns(cohort=pl.lit("selection")).cast(UNITS_SCHEMA),
        job=job,
        waited_for=_waited_for(database, job, is_named=bool(len(culprits))),
        other_jobs=[] if len(jobs) else database.query("stragglers/jobs", job=None)["job_id"].to_list(),
    )


def _evidence(database: Database, job: str | None) -> Evidence:
    quoted = None if job is None else "job_id = '" + job.replace("'", "''") + "'"
    with Selection(database, "step", where=quoted) as selection:
        return evidence(selection)


def _waited_for(database: Database, job: str | None, *, is_named: bool) -> pl.DataFrame:
    """How long the others waited for each rank (WAITED_FOR_SCHEMA); empty where culprits are named."""
    if is_named:
        return pl.DataFrame(schema=WAITED_FOR_SCHEMA)
    return database.query("stragglers/waited_for", job=job).cast(WAITED_FOR_SCHEMA)


def _charged(slow: pl.DataFrame) -> pl.DataFrame:
    """Slow operations with the waiting charged to them: a row a rank, or a pipeline stage, or for all ranks.

    `place` is the host where all its ranks were slow in that step, else the rank; of a pipeline stage its number.
    """
    key = ["job_id", "attempt", "step", "stage", "operation"]
    together = (pl.len().over(key) >= pl.col("rank_count")) & (pl.col("rank_count") > 1)
    whole_host = pl.col("host").is_not_null() & (pl.len().over(*key, "host") >= pl.col("host_rank_count"))
    marked = slow.with_columns(
        together=together,
        whole_stage=is_whole_stage(key),
        place=pl.when(whole_host).then("host").otherwise(pl.col("rank").cast(pl.String)),
    )
    alone = _with_waits(marked.filter(~pl.col("together")))
    parts = [
        alone.filter(~pl.col("whole_stage")).with_columns(pipeline_stage=pl.lit(None, dtype=pl.Int64)),
        _summed(alone.filter("whole_stage"), [*key, "pipeline_stage"], place=pl.col("pipeline_stage").cast(pl.String)),
        # Who held whom is not known: their waiting is charged to nobody.
        _summed(marked.filter("together").with_columns(waited_ns=pl.lit(0, dtype=pl.Int64)), key, place=pl.lit(None)),
    ]
    columns = [*key, "rank", "pipeline_stage", "place", "excess_ns", "waited_ns"]
    typed = {"rank": slow.schema["rank"], "pipeline_stage": pl.Int64, "place": pl.String}
    return pl.concat([part.cast({name: typed[name] for name in typed}).select(columns) for part in parts])


def _with_waits(alone: pl.DataFrame) -> pl.DataFrame:
    """The waiting for a rank in a step shared to its slow operations in proportion to their excess."""
    waits = [
        share
        for _, part in alone.group_by(["job_id", "attempt", "step", "rank"], maintain_order=True)
        for share in apportioned(part["waited_ns"][0], part["excess_ns"].to_list())
    ]
    return alone.with_columns(waited_ns=pl.Series(waits, dtype=pl.Int64))


def _summed(slow: pl.DataFrame, key: list[str], *, place: pl.Expr) -> pl.DataFrame:
    summed = slow.group_by(key, maintain_order=True).agg(pl.col("excess_ns", "waited_ns").sum())
    missing = [pl.lit(None).alias(name) for name in ("rank", "pipeline_stage") if name not in key]
    return summed.with_columns(*missing, place=place)


def _culprits(charged: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """Runs of steps with the same culprit that lost enough, alone or together (CULPRIT_SCHEMA)."""
    who = ["job_id", "attempt", "place", "rank", "pipeline_stage", "stage", "operation"]
    is_new_run = (pl.col("step").diff().over(who, order_by="step") > _STEP_GAP).fill_null(value=False)
    runs = (
        charged.sort(*who, "step")
        .with_columns(run=is_new_run.cum_sum().over(who, order_by="step"))
        .group_by(*who, "run")
        .agg(
            steps=pl.len(),
            first_step=pl.col("step").min(),
            last_step=pl.col("step").max(),
            own_ns=pl.col("excess_ns").sum(),
            waited_ns=pl.col("waited_ns").sum(),
        )
        .join(jobs.select("job_id", "wall_ns"), on="job_id")
    )
    large = _with_loss(_scattered_together(_with_loss(runs), who)).filter(_place_share() >= LOST_SHARE)
    named = large.select(pl.col(name).cast(kind) for name, kind in CULPRIT_SCHEMA.items())
    return named.sort(
        "lost_ns", "job_id", "first_step", "rank", "pipeline_stage", descending=[True, False, False, False, False]
    )


def _place_share() -> pl.Expr:
    """What a rank lost in a run of steps, or all ranks of its host where they were slow together.

    The small runs that were made one count for themselves: large ones beside them do not lift them.
    """
    return pl.col("share").sum().over("job_id", "attempt", "place", "pipeline_stage", "stage", "operation", "run")


def _with_loss(runs: pl.DataFrame) -> pl.DataFrame:
    lost = runs.with_columns(lost_ns=pl.col("own_ns") + pl.col("waited_ns"))
    return lost.with_columns(share=pl.col("lost_ns") / pl.col("wall_ns"))


def _scattered_together(runs: pl.DataFrame, who: list[str]) -> pl.DataFrame:
    """Runs with the small ones of the same culprit made one: a rank that is slow now and then."""
    is_small = pl.col("share") < LOST_SHARE
    return (
        runs.with_columns(run=pl.when(is_small).then(None).otherwise("run"))
        .group_by(*who, "run")
        .agg(
            pl.col("first_step").min(),
            pl.col("last_step").max(),
            pl.col("steps", "own_ns", "waited_ns").sum(),
            pl.col("wall_ns").first(),
        )
    )


def _slowdown(jobs: pl.DataFrame) -> float | None:
    looked_at = jobs.filter(pl.col("step_count") > 0)
    if not len(looked_at):
        return None
    taken_ns = int((looked_at["mean_step_ns"] * looked_at["step_count"]).sum())
    return taken_ns / int((looked_at["median_step_ns"] * looked_at["step_count"]).sum())


def _verdict(
    jobs: pl.DataFrame, enough: pl.DataFrame, culprits: pl.DataFrame, pipeline: pl.DataFrame
) -> StragglersVerdict:
    if not len(jobs):
        return "no_steps"
    if not len(enough):
        return "too_few_steps"
    if len(culprits):
        return "stragglers"
    return "uneven_pipeline" if pipeline["is_heavy"].any() else "no_stragglers"
