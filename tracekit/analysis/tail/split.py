"""The excess of the tail as frames whose rows sum to it: stages, operations, causes, classes, size, levels.

Means are exact fractions; they become whole nanoseconds by cumulative rounding in the order of stage names.
So the stages of each cohort sum to its rounded mean, and the excess of a stage is the difference of its two
whole means. Rows below a stage are apportioned inside it. Every sum is exact, and no row is off by more than
a nanosecond or two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from tracekit.analysis.selection import CLASS_LIMIT
from tracekit.analysis.statistics.rounding import apportioned, rounded_parts
from tracekit.analysis.tail.cohorts import REFERENCE, TAIL, Cohort, StageSums
from tracekit.analysis.tail.comparison import Comparison
from tracekit.analysis.tail.judgement import Judgement
from tracekit.analysis.tail.mix import CohortSums, MixSplit, like_split, mix_split, weighted_sums
from tracekit.schema import UNATTRIBUTED, StepStage, UnitKind

LARGE_FACTOR = 1.5
"""A stage that takes so many times its baseline matters, whatever its share of the whole."""

GROWN_FACTOR = 1.1
"""A stage that takes so many times its baseline matters where it is not a negligible part of the whole."""

TRIFLE_SHARE = 0.001
"""Less than this of what the baseline takes is never called significant."""

STAGE_SCHEMA = {
    "stage": pl.String,
    "owner": pl.String,
    "layer": pl.String,
    "tail_mean_ns": pl.Int64,
    "baseline_mean_ns": pl.Int64,
    "excess_ns": pl.Int64,
    "share": pl.Float64,
    "low_ns": pl.Int64,
    "high_ns": pl.Int64,
    "significant": pl.Boolean,
    "alternative_excess_ns": pl.Int64,
    "ambiguity_ns": pl.Int64,
    "mix_ns": pl.Int64,
    "rate_ns": pl.Int64,
    "calls_ns": pl.Int64,
    "per_call_ns": pl.Int64,
    "tail_calls": pl.Float64,
    "baseline_calls": pl.Float64,
}
OPERATION_SCHEMA = {
    "stage": pl.String,
    "unit_window": pl.String,
    "operation": pl.String,
    "tail_mean_ns": pl.Int64,
    "baseline_mean_ns": pl.Int64,
    "excess_ns": pl.Int64,
}
CAUSE_SCHEMA = {
    "culprit_rank": pl.Int64,
    "culprit_stage": pl.String,
    "culprit_operation": pl.String,
    "culprit_host": pl.String,
    "tail_mean_ns": pl.Int64,
    "baseline_mean_ns": pl.Int64,
    "excess_ns": pl.Int64,
}
CLASS_SCHEMA = {
    "class": pl.String,
    "presence": pl.String,
    "tail_count": pl.Int64,
    "baseline_count": pl.Int64,
    "tail_share": pl.Float64,
    "baseline_share": pl.Float64,
    "mix_ns": pl.Int64,
    "rate_ns": pl.Int64,
}
LEVEL_SCHEMA = {
    "level": pl.String,
    "stage": pl.String,
    "selection_mean_ns": pl.Int64,
    "baseline_mean_ns": pl.Int64,
    "excess_ns": pl.Int64,
    "share": pl.Float64,
}


def class_cohorts(comparison: Comparison) -> tuple[CohortSums, CohortSums]:
    """The tail and the baseline by class and stage."""
    tail, baseline = _cohorts_by_class(comparison, TAIL, REFERENCE)
    return tail, baseline


def stage_frame(
    comparison: Comparison,
    judgement: Judgement,
    by_class: tuple[CohortSums, CohortSums],
    *,
    floor_ns: int,
    resolution_ns: int,
) -> tuple[pl.DataFrame, MixSplit]:
    """One row a stage (STAGE_SCHEMA), the largest excess first, and the split by mix, stages in name order.

    `floor_ns`: no smaller excess is called significant, unless its stage grew for itself (`GROWN_FACTOR`); none is
    below the resolution of the clocks.
    """
    sums, cohorts = comparison.sums, comparison.layout.cohorts
    tail = rounded_parts(_totals(sums, TAIL), cohorts[TAIL].count)
    baseline = rounded_parts(_totals(sums, REFERENCE), cohorts[REFERENCE].count)
    excess = np.array(tail, dtype=np.int64) - np.array(baseline, dtype=np.int64)
    mix = _mix(comparison, by_class, excess)
    floors_ns = np.full(len(excess), floor_ns)
    if comparison.layout.levels:
        floors_ns = _floors(tail, baseline, floor_ns, resolution_ns)
    owners = comparison.rows("tail/stage_owners", stages=sums.stages)
    alternative = _alternative_excess(sums, cohorts)
    columns = {
        "stage": sums.stages,
        "owner": owners["owner"],
        "layer": owners["layer"],
        "tail_mean_ns": tail,
        "baseline_mean_ns": baseline,
        "excess_ns": excess,
        "share": shares(excess),
        **_judged(excess, mix.rate_ns, judgement, floors_ns=floors_ns),
        "alternative_excess_ns": alternative,
        "ambiguity_ns": np.abs(alternative - excess),
        "mix_ns": mix.mix_ns,
        "rate_ns": mix.rate_ns,
        "calls_ns": mix.calls_ns,
        "per_call_ns": mix.per_call_ns,
        "tail_calls": by_class[TAIL].call_counts.sum(axis=0) / cohorts[TAIL].count,
        "baseline_calls": by_class[REFERENCE].call_counts.sum(axis=0) / cohorts[REFERENCE].count,
    }
    frame = pl.DataFrame(columns, schema=STAGE_SCHEMA)
    return frame.sort("excess_ns", "stage", descending=[True, False]), mix


def _mix(comparison: Comparison, by_class: tuple[CohortSums, CohortSums], excess_ns: np.ndarray) -> MixSplit:
    """The excess by cause: class by class inside one selection, and against like units of another."""
    layout = comparison.layout
    if layout.like is None:
        return mix_split(*by_class, excess_ns)
    number = layout.like_number
    matched, own, pooled = _cohorts_by_class(comparison, number, number + 1, layout.pooled)
    weights = np.zeros((CLASS_LIMIT + 1, 1))
    weights[: len(layout.like.class_weights), 0] = layout.like.class_weights
    like = weighted_sums([(matched, weights), (own, np.full_like(weights, layout.like.own_weight))])
    return like_split(by_class[TAIL], like, pooled, excess_ns)


def operation_frame(comparison: Comparison, stages: pl.DataFrame) -> pl.DataFrame:
    """One row a stage, window and operation (OPERATION_SCHEMA); the rows of a stage sum to it."""
    sums = comparison.rows("tail/operation_sums")
    parts = [
        _apportioned_rows(part, stage_row)
        for (stage,), part in sums.group_by(["stage"], maintain_order=True)
        for stage_row in stages.filter(pl.col("stage") == stage).iter_rows(named=True)
    ]
    return _ordered(parts, OPERATION_SCHEMA)


def cause_frame(comparison: Comparison, stages: pl.DataFrame) -> pl.DataFrame:
    """Who was waited for and what it was doing (CAUSE_SCHEMA); the rows sum to the waiting stage.

    Waiting that was charged to nobody is a row without a rank. Empty for requests.
    """
    sums, waiting = comparison.sums, StepStage.STRAGGLER_WAIT
    if comparison.selection.metric.unit_kind != UnitKind.STEP or waiting not in sums.stages:
        return pl.DataFrame(schema=CAUSE_SCHEMA)
    waits = comparison.rows("tail/cause_sums").cast({"culprit_rank": pl.Int64})
    number = sums.stages.index(waiting)
    left = [
        int(sums.total_ns(band)[number] - waits[column].sum()) for band, column in enumerate(("tail_ns", "baseline_ns"))
    ]
    if any(left):
        nobody = pl.DataFrame([[None, UNATTRIBUTED, "", None, *left]], schema=waits.schema, orient="row")
        waits = pl.concat([waits, nobody])
    stage_row = stages.row(by_predicate=pl.col("stage") == waiting, named=True)
    return _ordered([_apportioned_rows(waits, stage_row)], CAUSE_SCHEMA)


def class_frame(comparison: Comparison, by_class: tuple[CohortSums, CohortSums], mix: MixSplit) -> pl.DataFrame:
    """One row a class of units (CLASS_SCHEMA); `mix_ns` and `rate_ns` together sum to the excess."""
    tail, baseline = by_class[TAIL].unit_counts, by_class[REFERENCE].unit_counts
    frame = pl.DataFrame(
        {
            "class": _class_labels(comparison),
            "presence": np.where(tail == 0, "baseline only", np.where(baseline == 0, "tail only", "both")),
            "tail_count": tail,
            "baseline_count": baseline,
            "tail_share": tail / tail.sum(),
            "baseline_share": baseline / baseline.sum(),
            "mix_ns": mix.class_mix_ns,
            "rate_ns": mix.class_rate_ns,
        },
        schema=CLASS_SCHEMA,
    )
    occurring = frame.filter((pl.col("tail_count") > 0) | (pl.col("baseline_count") > 0))
    return occurring.sort("tail_count", "class", descending=[True, False])


def level_frame(comparison: Comparison) -> pl.DataFrame:
    """The same split at other levels of the metric (LEVEL_SCHEMA), rows of a level sum to its excess.

    Empty without a baseline selection.
    """
    sums, cohorts = comparison.sums, comparison.layout.cohorts
    parts = [
        pl.DataFrame(
            {
                "level": [level] * len(sums.stages),
                "stage": sums.stages,
                "selection_mean_ns": rounded_parts(_totals(sums, selection), cohorts[selection].count),
                "baseline_mean_ns": rounded_parts(_totals(sums, baseline), cohorts[baseline].count),
            }
        )
        .with_columns(excess_ns=pl.col("selection_mean_ns") - pl.col("baseline_mean_ns"))
        .with_columns(share=pl.col("excess_ns") / _nonzero(pl.col("excess_ns").sum()))
        .sort("excess_ns", "stage", descending=[True, False])
        for level, (selection, baseline) in comparison.layout.levels.items()
    ]
    return pl.concat([pl.DataFrame(schema=LEVEL_SCHEMA), *parts])


def shares(excess_ns: np.ndarray) -> list[float | None]:
    """Each part over the sum; None where the sum is zero. Negative parts stay negative."""
    total = int(excess_ns.sum())
    return [float(part) / total if total else None for part in excess_ns]


def _nonzero(expression: pl.Expr) -> pl.Expr:
    return pl.when(expression != 0).then(expression)


def _totals(sums: StageSums, cohort: int) -> list[int]:
    return [int(total) for total in sums.total_ns(cohort)]


def _floors(tail: list[int], baseline: list[int], floor_ns: int, resolution_ns: int) -> np.ndarray:
    """The least excess of each stage that matters: of the whole, or of what the stage itself took."""
    before = np.array(baseline)
    has_moved = np.abs(np.array(tail) - before) >= (GROWN_FACTOR - 1) * before
    trifle_ns = max(resolution_ns, round(TRIFLE_SHARE * int(before.sum())))
    return np.where(has_moved, min(trifle_ns, floor_ns), floor_ns)


def _alternative_excess(sums: StageSums, cohorts: list[Cohort]) -> np.ndarray:
    tail, baseline = (
        rounded_parts([int(total) for total in sums.alternative_ns[number]], cohorts[number].count)
        for number in (TAIL, REFERENCE)
    )
    return np.array(tail, dtype=np.int64) - np.array(baseline, dtype=np.int64)


def _judged(
    excess_ns: np.ndarray, rate_ns: np.ndarray, judgement: Judgement, *, floors_ns: np.ndarray
) -> dict[str, object]:
    if judgement.uncertainty is None or judgement.deciding is None:
        nothing = [None] * len(excess_ns)
        return {"low_ns": nothing, "high_ns": nothing, "significant": nothing}
    estimates = np.append(excess_ns, excess_ns.sum()).astype(np.float64)
    low, high = judgement.uncertainty.intervals(estimates)
    decisive_ns = excess_ns if judgement.like_uncertainty is None else rate_ns
    exceeds = judgement.deciding.exceeds(np.append(decisive_ns, decisive_ns.sum()).astype(np.float64))[:-1]
    return {
        "low_ns": np.rint(low[:-1]).astype(np.int64),
        "high_ns": np.rint(high[:-1]).astype(np.int64),
        "significant": exceeds & (np.abs(decisive_ns) >= floors_ns),
    }


def _cohorts_by_class(comparison: Comparison, *numbers: int) -> list[CohortSums]:
    """Cohorts by class and stage."""
    frame = comparison.rows("tail/class_sums", bands=list(numbers))
    stages, cohorts = comparison.sums.stages, comparison.layout.cohorts
    return [_by_class(frame, stages, cohorts, number) for number in numbers]


def _by_class(frame: pl.DataFrame, stages: list[str], cohorts: list[Cohort], number: int) -> CohortSums:
    cohort = cohorts[number]
    part = frame.filter(pl.col("band") == number)
    numbers = {stage: position for position, stage in enumerate(stages)}
    # Units without duration have no stages at all, and an empty column no integer type of its own.
    where = (
        part["class_id"].to_numpy().astype(np.intp),
        part["stage"].replace_strict(numbers, return_dtype=pl.Int64).to_numpy().astype(np.intp),
    )
    self_ns, calls = (np.zeros((CLASS_LIMIT + 1, len(stages)), dtype=np.int64) for _ in range(2))
    self_ns[where] = part["self_ns"].to_numpy()
    calls[where] = part["call_count"].to_numpy()
    counts = np.bincount(cohort.units.class_id[cohort.positions], minlength=CLASS_LIMIT + 1)
    return CohortSums(counts, self_ns, calls)


def _apportioned_rows(part: pl.DataFrame, stage_row: dict[str, int]) -> pl.DataFrame:
    """The rows with means that sum to those of their stage."""
    means = {
        f"{side}_mean_ns": apportioned(stage_row[f"{side}_mean_ns"], part[f"{side}_ns"].to_list())
        if part[f"{side}_ns"].sum()
        else [0] * len(part)
        for side in ("tail", "baseline")
    }
    whole = part.with_columns(pl.Series(name, values, dtype=pl.Int64) for name, values in means.items())
    return whole.with_columns(excess_ns=pl.col("tail_mean_ns") - pl.col("baseline_mean_ns"))


def _ordered(parts: Sequence[pl.DataFrame], schema: dict[str, type[pl.DataType]]) -> pl.DataFrame:
    chosen = [part.select(pl.col(name).cast(kind) for name, kind in schema.items()) for part in parts]
    frame = pl.concat([pl.DataFrame(schema=schema), *chosen])
    return frame.sort("excess_ns", *list(schema)[:3], descending=[True, False, False, False])


def _class_labels(comparison: Comparison) -> list[str]:
    frame = comparison.rows("tail/named_classes")
    labels = ["all rarer classes"] + [""] * CLASS_LIMIT
    for row in frame.iter_rows(named=True):
        parts = [
            row["population"] or "all",
            _bucket("input", row["input_bucket"]),
            _bucket("output", row["output_bucket"]),
        ]
        labels[row["class_id"]] = ", ".join(part for part in parts if part)
    return labels


def _bucket(direction: str, power: int) -> str:
    return f"{direction} {2**power}-{2 ** (power + 1) - 1} tokens" if power >= 0 else ""
