"""What slow work and slow links cost the steps of training jobs, and who is named for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from tracekit.analysis.stragglers.bandwidth import bandwidths
from tracekit.analysis.stragglers.culprits import (
    GAP_STAGE,
    charged,
    culprits,
    excess_by_operation,
    spread,
    with_operations,
)
from tracekit.analysis.stragglers.knock_on import with_knock_on
from tracekit.analysis.stragglers.links import HELD_BY_SCHEMA, MEMBERS_SCHEMA, TRANSFER_SCHEMA, link_excess, slow_links
from tracekit.analysis.stragglers.pipeline import heavy_excess
from tracekit.analysis.stragglers.schedule_bubble import PAIR_SCHEMA, bubbles
from tracekit.analysis.stragglers.scheduled import SCHEDULED_STAGES, scheduled, with_usual
from tracekit.analysis.stragglers.slow_ranks import slow_times
from tracekit.analysis.stragglers.uneven_work import uneven_excess, uneven_work
from tracekit.schema import BETWEEN_STEPS, UNATTRIBUTED
from tracekit.store import Database

CULPRIT_SCHEMA = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "place": pl.String,
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
    "is_assumed": pl.Boolean,
}

SPREAD_SCHEMA = {
    "job_id": pl.String,
    "stage": pl.String,
    "operation": pl.String,
    "ranks": pl.Int64,
    "steps": pl.Int64,
    "own_ns": pl.Int64,
    "waited_ns": pl.Int64,
    "lost_ns": pl.Int64,
    "share": pl.Float64,
}
RANK_SCHEMA = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "step": pl.Int64,
    "rank": pl.Int64,
    "role": pl.String,
    "host": pl.String,
    "step_ns": pl.Int64,
}
HELD_UP_SCHEMA = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "step": pl.Int64,
    "rank": pl.Int64,
    "stage": pl.String,
    "operation": pl.String,
    "waited_ns": pl.Int64,
    "assumed_ns": pl.Int64,
}
Schema = Mapping[str, pl.DataType | type[pl.DataType]]

_STEP = ["job_id", "attempt", "step"]
_RANK = [*_STEP, "rank"]
_EXCESS_SCHEMA = pl.Schema({
    "job_id": pl.String(), "attempt": pl.Int64(), "step": pl.Int64(), "rank": pl.Int64(), "excess_ns": pl.Int64(),
})  # fmt: skip


@dataclass(frozen=True, eq=False)
class StepCosts:
    """Frames and sums of `StragglersAnswer` of the same names."""

    culprits: pl.DataFrame
    spread: pl.DataFrame
    scheduled: pl.DataFrame
    links: pl.DataFrame
    collectives: pl.DataFrame
    uneven: pl.DataFrame
    bubble_ns: int


def costs_of(database: Database, job: str | None, jobs: pl.DataFrame, stages: pl.DataFrame) -> StepCosts:
    """What is named and told of the jobs of a frame (rows of `stragglers/jobs`); `job` limits what is read.

    stages: their pipeline stages, rows of `pipeline.with_heaviness`.
    """

    def read(name: str, schema: Schema) -> pl.DataFrame:
        return database.query(f"stragglers/{name}", job=job).cast(pl.Schema(schema)).join(jobs, on="job_id", how="semi")

    own = _gaps_apart(database.query("stragglers/own_times", job=job).join(jobs, on="job_id", how="semi"))
    held, ranks = read("held_up", HELD_UP_SCHEMA), read("ranks", RANK_SCHEMA)
    key = [*_RANK, "role", "stage"]
    usual = with_usual(own.group_by(key, maintain_order=True).agg(pl.col("own_ns").sum()), jobs)
    slow = slow_times(usual.select(*key, pl.col("own_ns") - pl.col("usual_ns")))
    transfers, members = read("transfers", TRANSFER_SCHEMA), read("group_members", MEMBERS_SCHEMA)
    uneven = uneven_work(own, jobs)
    above = [
        slow.filter(pl.col("rank").is_not_null()), link_excess(transfers, members), uneven_excess(own, uneven),
        heavy_excess(stages, ranks),
    ]  # fmt: skip
    above_by_rank = pl.concat([frame.select(*_RANK, "excess_ns").cast(_EXCESS_SCHEMA) for frame in above])
    bubble = bubbles(read("pair_waits", PAIR_SCHEMA), above_by_rank, ranks)
    cost = with_knock_on(charged(slow, ranks, _held_at_work(held)), _left(held, bubble, ranks))
    named = culprits(cost, jobs)
    excess = excess_by_operation(own, slow)
    links = slow_links(transfers, members, read("held_by_transfer", HELD_BY_SCHEMA), ranks, jobs)
    return StepCosts(
        culprits=_typed(with_operations(_with_assumed(named, held), excess), CULPRIT_SCHEMA),
        spread=_typed(with_operations(spread(cost, named, jobs), excess), SPREAD_SCHEMA),
        scheduled=scheduled(usual, held, jobs),
        links=links,
        collectives=bandwidths(transfers),
        uneven=uneven,
        bubble_ns=int(bubble["bubble_ns"].sum()),
    )


def _left(held: pl.DataFrame, bubble: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """The waiting in each step that may have followed from slow work: not for saves, nor the pipeline's own.

    Columns: `job_id`, `attempt`, `step_at` (as in `CHARGED_SCHEMA`), `left_ns`.
    """
    steps = ranks.select(_STEP).unique().with_columns(step_at=pl.col("step").rank("dense").over("job_id", "attempt"))
    is_work = ~pl.col("stage").is_in([*map(str, SCHEDULED_STAGES), str(UNATTRIBUTED)])
    waits = _gaps_apart(held).filter(is_work).group_by(_STEP).agg(pl.col("waited_ns").sum())
    left_ns = pl.col("waited_ns").fill_null(0) - pl.col("bubble_ns").fill_null(0)
    every = steps.join(waits, on=_STEP, how="left").join(bubble, on=_STEP, how="left")
    return every.select("job_id", "attempt", pl.col("step_at").cast(pl.Int64), left_ns=pl.max_horizontal(left_ns, 0))


def _typed(frame: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    return frame.with_columns(pl.col("stage").replace(GAP_STAGE, UNATTRIBUTED)).select(
        pl.col(name).cast(kind) for name, kind in schema.items()
    )


def _with_assumed(named: pl.DataFrame, held: pl.DataFrame) -> pl.DataFrame:
    """Culprits with `is_assumed`: whether part of the waiting for them rests on convention alone."""
    assumed = held.filter(pl.col("assumed_ns") > 0).select("job_id", "attempt", "rank", "stage", "step").unique()
    numbered = named.with_row_index("at")
    resting = numbered.join(assumed, on=["job_id", "attempt", "rank", "stage"]).filter(
        pl.col("step").is_between("first_step", "last_step")
    )
    return numbered.with_columns(is_assumed=pl.col("at").is_in(resting["at"].implode())).drop("at")


def _gaps_apart(rows: pl.DataFrame) -> pl.DataFrame:
    is_gap = (pl.col("stage") == UNATTRIBUTED) & (pl.col("operation") == BETWEEN_STEPS)
    return rows.with_columns(stage=pl.when(is_gap).then(pl.lit(GAP_STAGE)).otherwise("stage"))


def _held_at_work(held: pl.DataFrame) -> pl.DataFrame:
    """The waiting for each rank and step, what nothing explains apart."""
    return (
        _gaps_apart(held)
        .with_columns(is_unexplained=pl.col("stage") == UNATTRIBUTED)
        .group_by(*_RANK, "is_unexplained")
        .agg(pl.col("waited_ns").sum())
    )
