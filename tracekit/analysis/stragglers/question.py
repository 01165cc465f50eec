"""Which rank made the others wait, in which stage and in which steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import polars as pl

from tracekit.analysis.answer import UNITS_SCHEMA, BaseAnswer, question, registered
from tracekit.analysis.evidence import Evidence, evidence
from tracekit.analysis.selection import Selection
from tracekit.analysis.stragglers.bandwidth import BANDWIDTH_SCHEMA
from tracekit.analysis.stragglers.links import LINK_SCHEMA
from tracekit.analysis.stragglers.pipeline import with_heaviness
from tracekit.analysis.stragglers.scheduled import SCHEDULED_SCHEMA
from tracekit.analysis.stragglers.step_costs import CULPRIT_SCHEMA, SPREAD_SCHEMA, StepCosts, costs_of
from tracekit.analysis.stragglers.uneven_work import UNEVEN_SCHEMA
from tracekit.schema import StragglersVerdict
from tracekit.store import Database

STEP_SHARE = 0.06
"""A pipeline stage is heavy that computes this share of the median step longer than the typical stage."""

MINIMUM_STEPS = 8
"""Fewer steps give no reference to call anything slow."""

CLEAR_SHARE = 0.25
"""A rank that was waited for by more than this share of all waiting, and by more than twice what falls to each rank, is
told, slow itself or not, if ...
"""

TOLD_SHARE = 0.02
"""... the others lost this share of all time by it."""

PIPELINE_SCHEMA = {
    "job_id": pl.String,
    "pipeline_stage": pl.Int64,
    "rank_count": pl.Int64,
    "host": pl.String,
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
WAITED_FOR_SCHEMA = pl.Schema({"job_id": pl.String, "rank": pl.Int64, "waited_ns": pl.Int64})


@registered("stragglers", rows="culprits", title="Which rank made the others wait?")
@dataclass(frozen=True)
class StragglersAnswer(BaseAnswer):
    """Who was slow, and what it cost. Times are integer nanoseconds of accelerators, shares of `wall_ns`.

    culprits: one row a rank, stage and run of steps, the costliest first; runs too short to count for themselves
        share a row, with their first and last step. `own_ns` is the rank's own time above its reference, `waited_ns`
        the waiting of the others for it, `lost_ns` their sum. `operation`: the spans that most of the excess lies in.
        `place` is the host where all its ranks were slow, else the rank or pipeline stage.
        `is_assumed`: that it was this rank is known by convention alone (rank 0 writes what all ranks save together).
        `rank` is null where all ranks were slow together and the spans do not tell who held them (`place` is null,
        too), and where all of a pipeline stage were, which `pipeline_stage` then names (`own_ns` is the sum over
        these ranks).
    spread: one row a stage that many ranks lost time in, now one and now another, without anybody who stands out:
        `ranks` and `steps` that lost, and the same sums.
    uneven: one row a job whose ranks compute for different times in every step, each time others: what they are given
        differs, as sequences of different length do. `deviation` of a typical rank from the median of its role, as a
        share; `correlation` of its two largest operations in that; `waited_ns` for the longest of each role.
    scheduled: one row a rank and stage of work that only few ranks do, on a schedule (the save of rank 0), as far as it
        took what it usually takes: `waited_ns` of the others for it. What it took longer is in `culprits`.
    pipeline: one row a pipeline stage of a job with enough steps that reports them: `rank_count`, `host` (that runs all
        its ranks and no others, else null), `compute_ns` of a typical rank in a typical step, `typical_ns` of the
        typical stage, the job's `median_step_ns`, `waited_ns` of the others, and `is_heavy`: it computes `STEP_SHARE`
        of the median step longer than the typical one.
    links: one row a group of ranks and run of steps whose collectives transfer slowly beside `peer_count` groups that
        do the same, or without those beside what is usual: `ratio`, `transfer_ns` of a typical collective where it is
        slow, `usual_ns`; `own_ns` is the exposed excess of its `ranks`, `waited_ns` the waiting of the others for them.
        `candidates`: where the slow link may be; which of them the spans do not tell.
    collectives: one row a kind of collective and size of group: bandwidth, and transfer exposed and hidden.
    jobs: one row a job, with its median step time and what was not looked at.
    slowdown: time of all steps over what they would take at the median step of their job; None without steps.
    wall_ns: durations of all ranks in all steps that were looked at, and of what led into them beyond what all ranks
        did alike. waited_ns: waiting of all ranks in them;
        `sum(culprits.waited_ns) + unnamed_wait_ns == waited_ns` always. bubble_ns: the part of it that the schedule of
        a pipeline makes ranks wait in nine of ten steps, whoever is slow.
    verdict, summary: the conclusion as a stable code and as a sentence. evidence: what the data can bear.
    job: the job that was asked about, None for all. waited_for: where no culprit is named, how long the others waited
        for each rank. other_jobs: where there are no steps of the job, the jobs that have some.
    units: the ranks' parts of the steps that were looked at.
    """

    schema: ClassVar = {
        "culprits": CULPRIT_SCHEMA,
        "spread": SPREAD_SCHEMA,
        "uneven": UNEVEN_SCHEMA,
        "scheduled": SCHEDULED_SCHEMA,
        "links": LINK_SCHEMA,
        "collectives": BANDWIDTH_SCHEMA,
        "pipeline": PIPELINE_SCHEMA,
        "jobs": JOB_SCHEMA,
        "waited_for": WAITED_FOR_SCHEMA,
    }
    not_in_json: ClassVar = BaseAnswer.not_in_json | {"job", "waited_for", "other_jobs"}

    culprits: pl.DataFrame
    spread: pl.DataFrame
    uneven: pl.DataFrame
    scheduled: pl.DataFrame
    links: pl.DataFrame
    collectives: pl.DataFrame
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
    bubble_ns: int = 0


@question("stragglers")
def stragglers(database: Database, *, job: str | None = None) -> StragglersAnswer:
    """Name the ranks whose own work, and not their waiting, made steps slow; `job` limits it to one job.

    A rank is judged on its own work summed a step and stage, beside what its role (pipeline coordinate) takes in that
    step and usually; see `slow_ranks` for when that is more than chance, and `culprits` for who is named: whoever lost
    enough of the job's time, or of the time of the steps concerned, however long the job is. A host or a pipeline stage
    is named where all its ranks were slow in the same steps; a stage that computes longer than the others all the
    time is told in `pipeline`. What many ranks lost now and then is `spread`. The reference is robust and knows
    roles, as the OSDI 2025 what-if analysis of stragglers asks for; the numbers are occupancy, not a replay.
    """
    jobs = database.query("stragglers/jobs", job=job)
    pipeline = database.query("stragglers/pipeline_stages", job=job)
    enough = jobs.filter(pl.col("step_count") >= MINIMUM_STEPS)
    pipeline = with_heaviness(pipeline.join(enough, on="job_id", how="semi"), step_share=STEP_SHARE)
    costs = costs_of(database, job, enough, pipeline)
    waited_ns = int(jobs["waited_ns"].sum())
    judged = _evidence(database, job)
    is_refused = judged.verdict == "refused"
    return StragglersAnswer(
        culprits=costs.culprits,
        spread=costs.spread,
        uneven=costs.uneven,
        scheduled=costs.scheduled,
        links=costs.links,
        collectives=costs.collectives,
        pipeline=pipeline,
        jobs=jobs,
        slowdown=_slowdown(jobs),
        wall_ns=int(jobs["wall_ns"].sum()),
        waited_ns=waited_ns,
        unnamed_wait_ns=waited_ns - int(costs.culprits["waited_ns"].sum()),
        bubble_ns=costs.bubble_ns,
        verdict="refused" if is_refused else _verdict(jobs, enough, costs, pipeline),
        evidence=judged,
        units=database.query("stragglers/units", job=job).with_columns(cohort=pl.lit("selection")).cast(UNITS_SCHEMA),
        job=job,
        waited_for=_waited_for(database, job, is_named=bool(len(costs.culprits))),
        other_jobs=[] if len(jobs) else database.query("stragglers/jobs", job=None)["job_id"].to_list(),
    )


def _evidence(database: Database, job: str | None) -> Evidence:
    quoted = None if job is None else "job_id = '" + job.replace("'", "''") + "'"
    with Selection(database, "step", where=quoted) as selection:
        return evidence(selection)


def _waited_for(database: Database, job: str | None, *, is_named: bool) -> pl.DataFrame:
    """How long the others waited for each rank (WAITED_FOR_SCHEMA), longest first; none where culprits are named."""
    if is_named:
        return pl.DataFrame(schema=WAITED_FOR_SCHEMA)
    held_up = database.query("stragglers/held_up", job=job)
    summed = held_up.group_by("job_id", "rank").agg(pl.col("waited_ns").sum()).cast(WAITED_FOR_SCHEMA)
    return summed.sort("waited_ns", "job_id", "rank", descending=[True, False, False])


def _slowdown(jobs: pl.DataFrame) -> float | None:
    looked_at = jobs.filter(pl.col("step_count") > 0)
    if not len(looked_at):
        return None
    taken_ns = int((looked_at["mean_step_ns"] * looked_at["step_count"]).sum())
    return taken_ns / int((looked_at["median_step_ns"] * looked_at["step_count"]).sum())


def _verdict(jobs: pl.DataFrame, enough: pl.DataFrame, costs: StepCosts, pipeline: pl.DataFrame) -> StragglersVerdict:
    if not len(jobs):
        return "no_steps"
    if not len(enough):
        return "too_few_steps"
    if len(costs.culprits):
        return "stragglers"
    if len(costs.links):
        return "slow_links"
    if len(costs.spread) or len(costs.uneven):
        return "spread"
    return "uneven_pipeline" if pipeline["is_heavy"].any() else "no_stragglers"
