"""The spans of training steps with what they belong to: units, clocks, collectives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.stages.units.collectives import match_collectives, odd_sizes
from tracekit.stages.units.common_ends import SAVE, savers
from tracekit.stages.units.operations import EARLIEST_NS, Operations
from tracekit.stages.units.rank_clocks import clock_shifts
from tracekit.stages.units.spans import Spans
from tracekit.stages.units.waits import NO_UNIT

COLLECTIVE = "step.exposed_comm"
WAIT = "step.straggler_wait"
UNSPLIT = f"unsplit({WAIT}|{COLLECTIVE})"


@dataclass(frozen=True, eq=False)
class StepBatch:
    """All spans of some training steps, what they are, and what they tell (`StepTables.facts`, row by row)."""

    spans: Spans
    operations: Operations
    facts: pl.DataFrame


@dataclass(frozen=True, eq=False)
class Steps:
    """The batch with its units: one a step span; `rows` has a row a span, with its `unit` or null.

    `units`: `unit`, `step`, `step_no`, `rank`, `row` (of the step span), `start_ns`, `end_ns`, `shift_ns` (what was
    added to the clock of the rank), `is_context`, `previous_unit` (the rank's step before, or `NO_UNIT`), `is_failed`,
    `has_several_steps`.
    """

    batch: StepBatch
    units: pl.DataFrame
    rows: pl.DataFrame


def with_steps(batch: StepBatch) -> Steps:
    """The batch with its units, all times of a step on one clock, and what is known of its collectives."""
    return _with_savers(_with_collectives(_on_one_clock(_with_units(batch))))


def _with_units(batch: StepBatch) -> Steps:
    """A unit is the earliest step span of a rank, of several the longest, then the smallest span id."""
    spans, operations = batch.spans, batch.operations
    rows = batch.facts.with_columns(
        row=pl.int_range(pl.len(), dtype=pl.Int64),
        span_id=pl.Series(spans.span_id),
        start_ns=pl.Series(spans.start_ns),
        end_ns=pl.Series(np.maximum(spans.start_ns, spans.end_ns)),
        stage=pl.Series(operations.stage),
        is_collective=pl.Series(operations.stage == operations.codes.code(COLLECTIVE)),
    )
    best_first = rows.filter("is_step").sort("start_ns", "end_ns", "span_id", descending=[False, True, False])
    units = (
        best_first.group_by("step_no", "rank", maintain_order=True)
        .agg(
            pl.col("row", "start_ns", "end_ns", "is_failed", "step", "previous_no", "is_context").first(),
            has_several_steps=pl.len() > 1,
        )
        .sort("step_no", "rank")
        .with_row_index("unit")
        .with_columns(pl.col("unit").cast(pl.Int64))
    )
    before = units.select("rank", previous_no="step_no", previous_unit="unit")
    linked = units.join(before, on=["previous_no", "rank"], how="left", maintain_order="left")
    by_rank = units.select("step_no", "rank", "unit", root_row="row")
    return Steps(
        batch,
        linked.with_columns(pl.col("previous_unit").fill_null(NO_UNIT)),
        rows.join(by_rank, on=["step_no", "rank"], how="left", maintain_order="left"),
    )


def _on_one_clock(steps: Steps) -> Steps:
    """All times of a step as the clock of its typical host would tell them, where collectives show who is off."""
    shifts = clock_shifts(steps.rows)
    key = ["step_no", "rank"]
    units, rows = (
        frame.join(shifts, on=key, how="left", maintain_order="left")
        .with_columns(pl.col("shift_ns").fill_null(0))
        .with_columns(pl.col("start_ns", "end_ns") + pl.col("shift_ns"))
        for frame in (steps.units, steps.rows)
    )
    return Steps(steps.batch, units, rows)


def _with_collectives(steps: Steps) -> Steps:
    """Rows with `arrival_ns`, `culprit_rank`, `culprit_unit`, `is_separable` and `has_odd_size` of collectives."""
    odd = odd_sizes(steps.rows)
    matched = match_collectives(steps.rows)
    culprits = steps.units.select("step_no", culprit_rank="rank", culprit_unit="unit")
    rows = steps.rows.join(matched, on="row", how="left", maintain_order="left").join(
        culprits, on=["step_no", "culprit_rank"], how="left", maintain_order="left"
    )
    codes = steps.batch.operations.codes
    is_unsplit = pl.col("is_collective") & ~pl.col("is_separable")
    return Steps(
        steps.batch,
        steps.units,
        rows.with_columns(
            odd.alias("has_odd_size"),
            pl.col("culprit_unit").fill_null(NO_UNIT),
            pl.col("is_separable", "is_contradicted").fill_null(False),
            collective_bytes=pl.when(~odd).then("collective_bytes"),
            stage=pl.when(is_unsplit).then(codes.code(UNSPLIT)).otherwise("stage"),
            arrival_ns=pl.when("is_separable").then("arrival_ns").otherwise(EARLIEST_NS),
        ),
    )


def _with_savers(steps: Steps) -> Steps:
    """Rows with `sharing_unit`: the unit of the rank that all others wait for in their own span of a save."""
    saving = savers(steps.rows, stage=steps.batch.operations.codes.code(SAVE))
    by_rank = steps.units.select("step_no", saving_rank="rank", sharing_unit="unit")
    rows = (
        steps.rows.join(saving, on="row", how="left", maintain_order="left")
        .join(by_rank, on=["step_no", "saving_rank"], how="left", maintain_order="left")
        .with_columns(sharing_unit=pl.when(pl.col("sharing_unit") != pl.col("unit")).then("sharing_unit"))
    )
    return Steps(steps.batch, steps.units, rows.with_columns(pl.col("sharing_unit").fill_null(NO_UNIT)))
