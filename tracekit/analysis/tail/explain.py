"""Which stage made the slow ones slow: select, compare, judge, answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from tracekit.analysis.answer import question
from tracekit.analysis.evidence import evidence
from tracekit.analysis.measured import MeasuredUnits, band, clock_resolution_ns
from tracekit.analysis.population import FROM_MESSAGE
from tracekit.analysis.selection import Selection
from tracekit.analysis.statistics.blocks import MINIMUM_BLOCKS
from tracekit.analysis.tail import split
from tracekit.analysis.tail.answer import TailAnswer
from tracekit.analysis.tail.change import Change, found_changes
from tracekit.analysis.tail.cohorts import Cohort
from tracekit.analysis.tail.comparison import AUTOMATIC_BASELINE, BODY_BASELINE, Comparison, Layout
from tracekit.analysis.tail.counters import counter_frame
from tracekit.analysis.tail.differences import difference_frame
from tracekit.analysis.tail.growth import create_call_rows, drop_call_rows, growth_frame
from tracekit.analysis.tail.judgement import Judgement, judge, judge_like
from tracekit.analysis.tail.kinds import telling_attribute
from tracekit.analysis.tail.like_units import LikeUnits
from tracekit.analysis.tail.load import load_frame
from tracekit.analysis.tail.question import TailQuestion
from tracekit.analysis.tail.rare_calls import rare_call_frame
from tracekit.analysis.tail.services import service_frames
from tracekit.analysis.tail.size import size_frame
from tracekit.analysis.tail.verdict import NEGLIGIBLE_SHARE, verdict_of
from tracekit.analysis.tail.whose import clear_whose, whose_frame
from tracekit.schema import DEFAULT_QUANTILES, MINIMUM_UNITS, OUTCOMES, Metric, UnitKind
from tracekit.store import Database

PRACTICAL_SHARE = 0.05
"""A stage with less than this share of the excess is not called significant, however certain it is."""

SURE_PART = 0.25
"""A stage that is surely slower and has this share of the excess comes before larger ones that could be chance."""

TIED_FACTOR = 1.5
"""A quantile at which so many times the units lie that it should leave is one value of many units, and not taken."""

EXEMPLAR_LIMIT = 5
"""Units that are shown for each stage."""


@question("tail")
def tail(
    database: Database,
    metric: Metric,
    *,
    quantile: float | None = None,
    where: str | None = None,
    baseline: str = AUTOMATIC_BASELINE,
    outcome: str = OUTCOMES[0],
) -> TailAnswer:
    """Compare the units at or above a quantile of `metric` with a baseline, stage by stage, exactly.

    metric: `ttft`, `tpot`, `e2e` (requests) or `step` (training steps, one unit a rank).
    quantile: the tail is `metric >= quantile`; 0 takes all units. None takes the highest of `DEFAULT_QUANTILES` that
        leaves at least `MINIMUM_UNITS` units in the tail of the selection and of the baseline selection, and
        all units where none does, or where two selections differ in nothing at that quantile and do over all.
    where: SQL condition over the view `units` that selects them, for example `model = 'x'`.
    baseline: `auto` finds when the store changed (`found_changes`) and compares the requests of that time with those
        before; where it did not change, and for steps, it is `body`. `body` compares the tail with the middle (p40 to
        p60) of the same units: where the tail is. A SQL condition selects other units, and the tail of the selection
        is compared with the tail of those at the same quantile: what changed. Then, and after a change, `levels` also
        holds the middle of the one against that of the other.
    outcome: one of `OUTCOMES` that units must have, or `any`.

    Chance is judged by windows where the baseline selection holds at least 20 that are as long as the
    selection and hold about as many units, and else by blocks of time that are long enough to be independent.

    Raises `UsageError` for a bad option, `QueryError` for a condition that DuckDB refuses, and
    `InsufficientDataError` where the stored stages contradict the durations.
    """
    asked = TailQuestion(metric, quantile, where, baseline, outcome)
    with _selected(database, asked) as selection:
        answer = _of_time_or_slowest(database, selection, asked)
        has_messages = bool((selection.left_out["reason"] == FROM_MESSAGE).any())
    if not has_messages or not _shows_nothing(answer):
        return answer
    # Work that messages start hides nobody's time, and may be slow where the requests are not.
    of_messages = replace(asked, messages="only")
    with _selected(database, of_messages) as selection:
        other = _of_time_or_slowest(database, selection, of_messages)
    return answer if _shows_nothing(other) or other.verdict in AMBIGUOUS else other


def _of_time_or_slowest(database: Database, selection: Selection, asked: TailQuestion) -> TailAnswer:
    """The answer of the time in which the store changed, where that is asked for and it did; else of the slowest."""
    is_open = asked.baseline == AUTOMATIC_BASELINE and selection.metric.unit_kind == UnitKind.REQUEST
    changes = found_changes(selection) if is_open else []
    answer = _of_change(database, asked, changes)
    return _of_like_kinds(selection, asked) if answer is None else answer


def _shows_nothing(answer: TailAnswer) -> bool:
    """Whether no other time or selection is slower: what the slow ones have that the middle has not is always there."""
    return answer.comparison == "body" or answer.verdict in (*UNCONFIRMED, "improved")


def _of_change(database: Database, asked: TailQuestion, changes: list[Change]) -> TailAnswer | None:
    """The answer of the clearest change that a comparison bears out; of one that could be load only without another."""
    doubtful = None
    for change in changes:
        of_change = replace(asked, change=change)
        with _selected(database, of_change) as selection:
            answer = _of_like_kinds(selection, of_change)
        if answer.verdict in AMBIGUOUS:
            doubtful = doubtful or answer
        # Slower times are searched: that the slowest of them are faster is not what stood out.
        elif answer.verdict not in (*UNCONFIRMED, "improved"):
            return answer
    return doubtful


UNCONFIRMED = ("no_excess", "too_few_blocks", "too_few_units", "no_units")
"""Verdicts that nothing follows from."""

SLOWER = ("excess_explained", "excess_unattributed", "excess_spread", "stage_slower")
"""Verdicts that something became slower."""

AMBIGUOUS = ("load_or_slowness", "size_or_slowness", "mix_not_slowness")
"""Verdicts that accuse no stage for certain."""


def _selected(database: Database, asked: TailQuestion) -> Selection:
    conditions = {"where": asked.selection_condition, "baseline": asked.baseline_condition}
    return Selection(database, asked.metric, **conditions, outcome=asked.outcome, messages=asked.messages)


def _of_like_kinds(selection: Selection, asked: TailQuestion) -> TailAnswer:
    """The answer; where something is slower and an attribute tells that other requests came, by kinds of that."""
    answer = _of_slowest_or_all(selection, asked)
    is_slower = answer.comparison == "selection" and answer.verdict in SLOWER
    attribute = telling_attribute(selection) if is_slower and answer.unit == UnitKind.REQUEST else None
    if attribute is None:
        return answer
    selection.divide(attribute)
    return replace(_of_slowest_or_all(selection, asked), kind_attribute=attribute)


def _of_slowest_or_all(selection: Selection, asked: TailQuestion) -> TailAnswer:
    """The answer of the slowest; where it names no stage, that of all, who show a small change better, if it does."""
    answer = _answered(selection, asked)
    is_open = asked.quantile is None and answer.quantile > 0 and answer.comparison == "selection"
    is_besides = asked.change is not None and answer.verdict == "improved"
    if not is_open or not (is_besides or answer.verdict in (*UNCONFIRMED, "excess_spread")):
        return answer
    of_all = _answered(selection, replace(asked, used=0.0))
    names_more = of_all.verdict not in UNCONFIRMED and not (answer.verdict == of_all.verdict == "excess_spread")
    return replace(of_all, is_of_all=True) if names_more else answer


def _answered(selection: Selection, asked: TailQuestion) -> TailAnswer:
    quantile = asked.quantile if asked.used is None else asked.used
    used = chosen_quantile(selection.sides, asked.comparison) if quantile is None else quantile
    places = 1.0 if asked.change is None else asked.change.places
    layout = Layout.of(selection.sides, asked.comparison, quantile=used, places=places)
    with Comparison(selection, layout) as comparison:
        if comparison.is_empty:
            return _answer(asked, comparison, None, {}, quantile=used)
        grown = selection.kept("growth", lambda: _growth(comparison))
        judgement = _judged(comparison, used, has_grown=bool(grown["growth"]["has_grown"].any()))
        return _answer(asked, comparison, judgement, grown, quantile=used)


def _judged(comparison: Comparison, quantile: float, *, has_grown: bool) -> Judgement:
    """Where a stage has grown call by call, as often as places were searched, the means need not show that again."""
    layout, sums = comparison.layout, comparison.sums
    places = 1.0 if has_grown else layout.places
    # A time that was found holds some requests of an incident, not just those: how that swings is chance, too.
    middles = None if layout.places > 1 else layout.levels.get(BODY_BASELINE)
    judgement = judge(sums, layout.cohorts, layout.edges, middles=middles, places=places)
    return judge_like(judgement, layout, sums, quantile, places=places)


def chosen_quantile(sides: list[MeasuredUnits], baseline: str) -> float:
    """The highest of `DEFAULT_QUANTILES` that leaves enough units in every tail that is compared, else 0."""
    compared = sides[:1] if baseline == BODY_BASELINE else sides
    like = LikeUnits.of(*sides) if baseline != BODY_BASELINE else None
    for quantile in DEFAULT_QUANTILES:
        has_enough = all(_has_tail(units, quantile) for units in compared)
        # A few units that stand for many say little.
        has_like = like is None or not like.is_changed or like.effective_count(quantile) >= MINIMUM_UNITS
        if has_enough and has_like:
            return quantile
    return 0.0


def _has_tail(units: MeasuredUnits, quantile: float) -> bool:
    """Whether a quantile leaves enough units, and not far more than it says: equal values at it are no slow ones."""
    count = band(units, lower=quantile).count
    return count >= MINIMUM_UNITS and count <= max(TIED_FACTOR * (1 - quantile) * units.count, MINIMUM_UNITS)


def _answer(
    asked: TailQuestion,
    comparison: Comparison,
    judgement: Judgement | None,
    grown: dict[str, pl.DataFrame],
    *,
    quantile: float,
) -> TailAnswer:
    selection, sides = comparison.selection, comparison.selection.sides
    resolution_ns = clock_resolution_ns(sides)
    answer = TailAnswer(
        metric=asked.metric,
        unit=str(selection.metric.unit_kind),
        quantile=quantile,
        where=asked.where,
        baseline=asked.baseline,
        outcome=asked.outcome,
        quantile_asked=asked.quantile,
        comparison=asked.comparison,
        is_of_messages=asked.messages == "only",
        change_start_ns=None if asked.change is None else asked.change.start_ns,
        change_end_ns=None if asked.change is None else asked.change.end_ns,
        change_lasts=None if asked.change is None else asked.change.lasts,
        change_is_first=None if asked.change is None else asked.change.before_start_ns >= asked.change.end_ns,
        change_series=None if asked.change is None else asked.change.series,
        stored_count=selection.stored_count,
        count=sides[0].count,
        baseline_selection_count=(sides[1] if comparison.layout.levels else sides[0]).count,
        tail_count=comparison.tail.count,
        baseline_count=comparison.reference.count,
        threshold_ns=_threshold(comparison.tail),
        baseline_threshold_ns=_threshold(comparison.reference),
        clock_resolution_ns=resolution_ns,
        left_out=selection.left_out,
        not_served=selection.rows("tail/not_served", threshold_ns=_threshold(comparison.tail)),
        evidence=selection.kept("evidence", lambda: evidence(selection)),
        units=comparison.units,
        **(_NOTHING if judgement is None else _split(comparison, judgement, grown, resolution_ns=resolution_ns)),
    )
    return replace(answer, verdict=verdict_of(answer))


def _split(
    comparison: Comparison, judgement: Judgement, grown: dict[str, pl.DataFrame], *, resolution_ns: int
) -> dict[str, Any]:
    by_class = split.class_cohorts(comparison)
    floor_ns = max(resolution_ns, round(PRACTICAL_SHARE * abs(comparison.excess_ns)))
    stages, mix = split.stage_frame(comparison, judgement, by_class, floor_ns=floor_ns, resolution_ns=resolution_ns)
    operations = split.operation_frame(comparison, stages)
    differences, compared, set_aside = difference_frame(comparison)
    facts = _excess(comparison, judgement, resolution_ns)
    is_clear = bool(facts["significant"]) or bool(stages["significant"].fill_null(False).any())
    whose = whose_frame(comparison, stages.filter(pl.col("excess_ns") > 0), compared)
    if comparison.layout.levels:
        clear = clear_whose(whose).filter(pl.col("excess_ns") >= NEGLIGIBLE_SHARE * comparison.reference.mean_ns)
        is_clear |= len(clear) > 0
        stages = _surest_first(stages, clear, grown["growth"], comparison.excess_ns if facts["significant"] else 0)
    if judgement.method == "blocks" and min(judgement.block_counts) < MINIMUM_BLOCKS and not is_clear:
        facts["shortage"] = "too_few_blocks"
    return facts | {
        "stages": stages,
        "operations": operations,
        "causes": split.cause_frame(comparison, stages),
        "classes": split.class_frame(comparison, by_class, mix),
        "size": size_frame(comparison, operations),
        "load": comparison.selection.kept("load", lambda: load_frame(comparison)),
        "rare_calls": comparison.selection.kept("rare_calls", lambda: rare_call_frame(comparison)),
        **grown,
        "levels": split.level_frame(comparison),
        "whose": whose,
        "differences": differences,
        "counters": counter_frame(comparison),
        "attributes_set_aside": set_aside,
        "exemplars": comparison.rows("tail/exemplars", limit=EXEMPLAR_LIMIT),
    }


def _growth(comparison: Comparison) -> dict[str, pl.DataFrame]:
    """Growth call by call: of stages, of services and of the calls between them."""
    if not create_call_rows(comparison):
        return {name: pl.DataFrame(schema=TailAnswer.schema[name]) for name in ("growth", "services", "edges")}
    growth = growth_frame(comparison)
    services, edges = service_frames(comparison, growth)
    drop_call_rows(comparison)
    return {"growth": growth, "services": services, "edges": edges}


def _surest_first(stages: pl.DataFrame, whose: pl.DataFrame, growth: pl.DataFrame, excess_ns: int) -> pl.DataFrame:
    """Stages that are slower beyond chance before those that could be chance, unless a small part of `excess_ns`.

    Slower for all, for some and clearly theirs (`whose`), or call by call (`growth`); the one that has surely grown
    most call by call comes before those that swing, as queues do. Where the whole could be chance (0), all of them come
    first, as in the sentence, by the most that is sure.
    """
    known = stages.join(growth.select("stage", "sure_ns"), on="stage", how="left", maintain_order="left")
    is_slower = (pl.col("significant") & (pl.col("excess_ns") > 0)).fill_null(value=False)
    grown_ns = pl.col("sure_ns").fill_null(0)
    is_sure = is_slower | pl.col("stage").is_in(whose["stage"].to_list()) | (grown_ns > 0)
    comes_first = is_sure & (pl.col("excess_ns") >= SURE_PART * max(excess_ns, 0))
    sure_ns = pl.max_horizontal(pl.when(is_slower).then(pl.col("low_ns")), grown_ns)
    within = grown_ns if excess_ns else sure_ns
    order = [comes_first, pl.when(comes_first).then(within), pl.col("excess_ns"), pl.col("stage")]
    return known.sort(order, descending=[True, True, True, False], nulls_last=True).drop("sure_ns")


def _excess(comparison: Comparison, judgement: Judgement, resolution_ns: int) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "tail_mean_ns": comparison.tail.mean_ns,
        "baseline_mean_ns": comparison.reference.mean_ns,
        "excess_ns": comparison.excess_ns,
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
    facts["is_other_mix"] = judgement.like_uncertainty is not None
    # The whole is the last of the family that is tested together.
    estimates = np.zeros(len(judgement.uncertainty.standard_error))
    estimates[-1] = comparison.excess_ns
    low, high = judgement.uncertainty.intervals(estimates)
    is_certain = bool(judgement.uncertainty.exceeds(estimates)[-1]) and abs(comparison.excess_ns) >= resolution_ns
    return facts | {"low_ns": round(low[-1]), "high_ns": round(high[-1]), "significant": is_certain}


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
    "attributes_set_aside": [],
} | {
    name: pl.DataFrame(schema=columns)
    for name, columns in TailAnswer.schema.items()
    if name not in ("left_out", "not_served")
}  # fmt: skip


def _threshold(cohort: Cohort) -> int | None:
    """Smallest metric in a cohort; None without units, and for windows with quantiles of their own."""
    if cohort.band is None or cohort.count == 0:
        return None
    return int(cohort.units.value_ns[cohort.positions[0]])
