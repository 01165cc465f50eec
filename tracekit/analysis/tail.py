"""Which stage made the slow ones slow."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import Any, get_args

import duckdb
import numpy as np
import polars as pl

from tracekit.analysis import split
from tracekit.analysis.cohorts import (
    BODY,
    REFERENCE,
    TAIL,
    Cohort,
    StageSums,
    band_cohort,
    edge_cohorts,
    stage_sums,
)
from tracekit.analysis.differences import difference_frame
from tracekit.analysis.evidence import evidence
from tracekit.analysis.judgement import MINIMUM_UNITS, QUANTILES, Judgement, judge
from tracekit.analysis.load import LOAD_SCHEMA, load_frame
from tracekit.analysis.measured import OUTCOMES, MeasuredUnits, Metric, band, rows, select_units
from tracekit.analysis.size import SIZE_SCHEMA, size_frame
from tracekit.analysis.summary import concluded
from tracekit.analysis.tail_answer import TailAnswer
from tracekit.analysis.windows import window_cohort
from tracekit.errors import UsageError
from tracekit.store import Database

PRACTICAL_SHARE = 0.05
"""A stage with less than this share of the excess is not called significant, however certain it is."""

EXEMPLAR_LIMIT = 5
"""Units that are shown for each stage."""


@dataclass(frozen=True)
class _Comparison:
    """The cohorts of a question: tail, reference, the ends of both, and further levels.

    `edges`: numbers of the end cohorts of the tail and the reference. `levels`: pairs of cohort numbers by
    name. `rest`: number of the cohort that attributes of the tail are compared with.
    """

    cohorts: list[Cohort]
    edges: dict[int, tuple[int, int]]
    levels: dict[str, tuple[int, int]]
    rest: int


def tail(
    database: Database,
    metric: Metric,
    *,
    quantile: float | None = None,
    where: str | None = None,
    baseline: str = "body",
    outcome: str = "ok",
) -> TailAnswer:
    """Compare the units at or above a quantile of `metric` with a baseline, stage by stage, exactly.

    metric: `ttft`, `tpot`, `e2e` (requests) or `step` (training steps, one unit a rank).
    quantile: the tail is `metric >= quantile`; 0 takes all units. None takes the highest of `QUANTILES` that
        leaves at least `MINIMUM_UNITS` units in the tail of the selection and of the baseline selection, and
        all units where none does.
    where: SQL condition over the view `units` that selects them, for example `model = 'x'`.
    baseline: `body` compares the tail with the middle (p40 to p60) of the same units: where the tail is. A
        SQL condition selects other units, and the tail of the selection is compared with the tail of those at
        the same quantile: what changed. Then `levels` also holds the middle of the one against that of the
        other.
    outcome: one of `OUTCOMES` that units must have, or `any`.

    Chance is judged by windows where the baseline selection holds at least 20 that are as long as the
    selection and hold about as many units, and else by blocks of time that are long enough to be independent.

    Raises `UsageError` for a bad option, `QueryError` for a condition that DuckDB refuses, and
    `InsufficientDataError` where the stored stages contradict the durations.
    """
    _check(metric, quantile, outcome)
    with closing(database.cursor()) as cursor:
        baseline_condition = None if baseline == "body" else baseline
        sides = select_units(cursor, metric, where=where, baseline=baseline_condition, outcome=outcome)
        used = chosen_quantile(sides, baseline) if quantile is None else quantile
        comparison = _comparison(sides, baseline, quantile=used)
        question: dict[str, Any] = {
            "metric": metric,
            "unit": "step" if metric == "step" else "request",
            "quantile": used,
            "quantile_asked": quantile,
            "where": where,
            "baseline": baseline,
            "outcome": outcome,
            "comparison": "body" if baseline == "body" else "selection",
        }
        return concluded(TailAnswer(**question, **_answer(cursor, metric, sides, comparison)))


def chosen_quantile(sides: list[MeasuredUnits], baseline: str) -> float:
    """The highest of `QUANTILES` that leaves enough units in every tail that is compared, else 0."""
    compared = sides[:1] if baseline == "body" else sides
    for quantile in QUANTILES:
        if all(band(units, lower=quantile).count >= MINIMUM_UNITS for units in compared):
            return quantile
    return 0.0


def _check(metric: str, quantile: float | None, outcome: str) -> None:
    if metric not in get_args(Metric):
        raise UsageError(f"metric {metric!r} is unknown; use one of {', '.join(get_args(Metric))}")
    if quantile is not None and not 0 <= quantile < 1:
        raise UsageError(f"quantile {quantile} is not in [0, 1); use for example 0.99")
    if outcome not in (*OUTCOMES, "any"):
        raise UsageError(f"outcome {outcome!r} is unknown; use one of {', '.join(OUTCOMES)}, or any")


def _comparison(sides: list[MeasuredUnits], baseline: str, *, quantile: float) -> _Comparison:
    selection, other = sides
    tail_cohort = band_cohort(selection, lower=quantile)
    if baseline == "body":
        reference = band_cohort(selection, lower=BODY[0], upper=BODY[1])
    else:
        windows = window_cohort(selection, other, quantile=quantile)
        reference = windows or band_cohort(other, lower=quantile)
    tail_edges, reference_edges = edge_cohorts(tail_cohort), edge_cohorts(reference)
    cohorts = [tail_cohort, reference, *tail_edges, *reference_edges]
    edges = {TAIL: (2, 3)} | ({REFERENCE: (4, 5)} if reference_edges else {})
    if baseline == "body":
        return _Comparison(cohorts, edges, {}, REFERENCE)
    middles = [band_cohort(units, lower=BODY[0], upper=BODY[1]) for units in sides]
    levels = {"body": (len(cohorts), len(cohorts) + 1)}
    return _Comparison([*cohorts, *middles], edges, levels, len(cohorts))


def _answer(
    cursor: duckdb.DuckDBPyConnection, metric: Metric, sides: list[MeasuredUnits], comparison: _Comparison
) -> dict[str, Any]:
    cohorts = comparison.cohorts
    sums = stage_sums(cursor, metric, cohorts)
    left_out = rows(cursor, "tail/left_out")
    facts: dict[str, Any] = {
        "count": sides[0].count,
        "baseline_selection_count": (sides[1] if comparison.levels else sides[0]).count,
        "tail_count": cohorts[TAIL].count,
        "baseline_count": cohorts[REFERENCE].count,
        "threshold_ns": _threshold(cohorts[TAIL]),
        "baseline_threshold_ns": _threshold(cohorts[REFERENCE]),
        "clock_resolution_ns": clock_resolution_ns(sides),
        "stored_count": rows(cursor, "tail/stored_count", {"metric": metric}).item(),
        "left_out": left_out,
        "evidence": evidence(cursor, left_out),
    }
    if cohorts[TAIL].count == 0 or cohorts[REFERENCE].count == 0:
        return facts | _NOTHING
    return facts | _split(cursor, metric, sums, comparison, resolution_ns=facts["clock_resolution_ns"])


def _split(
    cursor: duckdb.DuckDBPyConnection,
    metric: Metric,
    sums: StageSums,
    comparison: _Comparison,
    *,
    resolution_ns: int,
) -> dict[str, Any]:
    cohorts = comparison.cohorts
    judgement = judge(sums, cohorts, comparison.edges)
    by_class = split.class_cohorts(cursor, sums, cohorts)
    excess_ns = cohorts[TAIL].mean_ns - cohorts[REFERENCE].mean_ns
    floor_ns = max(resolution_ns, round(PRACTICAL_SHARE * abs(excess_ns)))
    stages, mix = split.stage_frame(cursor, sums, cohorts, judgement, by_class, floor_ns=floor_ns)
    operations = split.operation_frame(cursor, stages)
    differences, set_aside = difference_frame(cursor, judgement, rest=comparison.rest)
    return _excess(judgement, cohorts, resolution_ns) | {
        "stages": stages,
        "operations": operations,
        "causes": split.cause_frame(cursor, stages, sums, metric),
        "classes": split.class_frame(cursor, by_class, mix),
        "size": size_frame(metric, operations, cohorts[TAIL], cohorts[REFERENCE]),
        "load": load_frame(cursor, metric) if comparison.levels else pl.DataFrame(schema=LOAD_SCHEMA),
        "levels": split.level_frame(sums, cohorts, comparison.levels),
        "differences": differences,
        "attributes_set_aside": set_aside,
        "exemplars": rows(cursor, "tail/exemplars", {"limit": EXEMPLAR_LIMIT}),
    }


def _excess(judgement: Judgement, cohorts: list[Cohort], resolution_ns: int) -> dict[str, Any]:
    tail_mean_ns, baseline_mean_ns = cohorts[TAIL].mean_ns, cohorts[REFERENCE].mean_ns
    excess_ns = tail_mean_ns - baseline_mean_ns
    facts: dict[str, Any] = {
        "tail_mean_ns": tail_mean_ns,
        "baseline_mean_ns": baseline_mean_ns,
        "excess_ns": excess_ns,
        "low_ns": None,
        "high_ns": None,
        "significant": None,
        "method": judgement.method,
        "block_counts": judgement.block_counts,
        "block_ns": judgement.block_ns,
        "shortage": judgement.shortage,
    }
    if judgement.uncertainty is None:
        return facts
    # The whole is the last of the family that is tested together.
    estimates = np.zeros(len(judgement.uncertainty.standard_error))
    estimates[-1] = excess_ns
    low, high = judgement.uncertainty.intervals(estimates)
    certain = bool(judgement.uncertainty.exceeds(estimates)[-1]) and abs(excess_ns) >= resolution_ns
    return facts | {"low_ns": round(low[-1]), "high_ns": round(high[-1]), "significant": certain}


_NOTHING: dict[str, Any] = {
    "tail_mean_ns": 0,
    "baseline_mean_ns": 0,
    "excess_ns": 0,
    "low_ns": None,
    "high_ns": None,
    "significant": None,
    "method": "none",
    "block_counts": [],
    "block_ns": [],
    "stages": pl.DataFrame(schema=split.STAGE_SCHEMA),
    "operations": pl.DataFrame(schema=split.OPERATION_SCHEMA),
    "causes": pl.DataFrame(schema=split.CAUSE_SCHEMA),
    "classes": pl.DataFrame(schema=split.CLASS_SCHEMA),
    "size": pl.DataFrame(schema=SIZE_SCHEMA),
    "load": pl.DataFrame(schema=LOAD_SCHEMA),
    "levels": pl.DataFrame(schema=split.LEVEL_SCHEMA),
    "differences": pl.DataFrame(),
    "attributes_set_aside": [],
    "exemplars": pl.DataFrame(),
}


def _threshold(cohort: Cohort) -> int | None:
    """Smallest metric in a cohort; None without units, and for windows with quantiles of their own."""
    if cohort.band is None or cohort.count == 0:
        return None
    return int(cohort.units.value_ns[cohort.positions[0]])


def clock_resolution_ns(sides: list[MeasuredUnits]) -> int:
    """The largest power of ten, up to a second, that all starts and durations are multiples of."""
    times = np.concatenate([part for units in sides for part in (units.start_ns, units.value_ns)])
    resolution = 1
    while len(times) and resolution < 1_000_000_000 and not (times % (10 * resolution)).any():
        resolution *= 10
    return resolution
