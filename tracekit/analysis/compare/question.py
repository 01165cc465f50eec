"""What changed between two groups of requests: windows, versions, hosts, stores or conditions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from tracekit.analysis.answer import UNITS_SCHEMA, question
from tracekit.analysis.compare.answer import METRIC_SCHEMA, OUTCOME_SCHEMA, STAGE_SCHEMA, CompareAnswer, Verdict
from tracekit.analysis.compare.evidence import compared_evidence
from tracekit.analysis.compare.kinds import sides_by_kind
from tracekit.analysis.compare.load import is_of_load, load_frame, stage_layers
from tracekit.analysis.compare.same_mix import METRICS, Matched, Means, matched, stage_means
from tracekit.analysis.compare.sides import ComparedSide, compared_sides, selected
from tracekit.analysis.compare.whose import compared_whose
from tracekit.analysis.requests.slo import SloSet, slo_goal
from tracekit.analysis.statistics import blocks
from tracekit.analysis.statistics.significance import BeforeSide, SlicedSide, Uncertainty, from_slices, shrinking
from tracekit.analysis.tail.judgement import middle_ranks, own_block_count
from tracekit.analysis.tail.mix import whole_parts
from tracekit.store import Database

MINIMUM_UNITS = 10
"""A side with fewer requests than this gets no interval."""

ENDINGS = {
    "failed": ("failed", "timed_out"),
    "aborted": ("aborted_before", "aborted_after"),
    "rejected": ("rejected",),
    "shed": ("shed",),
    "invalid": ("invalid",),
}
"""Ways to end that are compared, and their buckets."""


@question("compare")
def compare(
    database: Database,
    before: str | None,
    after: str | None,
    *,
    other: Database | None = None,
    slo: str | SloSet | Mapping[str, Any] | None = None,
    where: str | None = None,
) -> CompareAnswer:
    """Compare requests `before` with requests `after`, metric by metric and stage by stage, at the same mix.

    A side is a condition over the view `units`, a window `FROM/UNTIL` of ISO times, `version:V` or `host:H` of what
    served the requests, or None for all. `other` is the store of `before` where it is not that of `after`. `where`
    is a further condition on both sides. With an `slo` goodput is compared too.
    Raises `UsageError` or `QueryError` for a side that is none.
    """
    goal = None if slo is None else slo_goal(slo)
    databases = (other or database, database)
    compared = compared_sides(databases, (selected(before), selected(after)), goal, where)
    sides, names = compared.sides, compared.stages
    layers = stage_layers(database, names)
    found = _found(sides, names, layers, has_slo=goal is not None)
    kind = None
    if found.verdict in SLOWER and databases[0] is databases[1] and (by_kind := sides_by_kind(database, sides)):
        kind, sides = by_kind
        found = _found(sides, names, layers, has_slo=goal is not None)
    evidence = compared_evidence(databases, compared)
    whose = compared_whose(databases, sides, names, _longer_stages(found.stages))
    return CompareAnswer(
        before=before, after=after, where=where, before_count=len(sides[0].units), after_count=len(sides[1].units),
        metrics=found.metrics, stages=found.stages, outcomes=found.outcomes, load=found.load, whose=whose,
        method=found.method, block_counts=found.block_counts, kind_attribute=kind,
        verdict="refused" if evidence.verdict == "refused" else found.verdict,
        evidence=evidence, units=_unit_rows(sides, is_one_store=databases[0] is databases[1]),
        left_out=compared.left_out, seen_from=compared.seen_from,
    )  # fmt: skip


SLOWER: tuple[Verdict, ...] = ("regressed", "mixed", "stage_slower")
"""Verdicts that something became slower."""


@dataclass(frozen=True)
class _Found:
    """What changed between two sides."""

    metrics: pl.DataFrame
    stages: pl.DataFrame
    outcomes: pl.DataFrame
    load: pl.DataFrame
    method: str
    block_counts: list[int]
    verdict: Verdict


def _found(sides: list[ComparedSide], names: list[str], layers: pl.DataFrame, *, has_slo: bool) -> _Found:
    """Metrics, stages and ways to end at the same mix, judged together; `layers`: those of the stages."""
    matches = {metric: matched(sides, metric) for metric in METRICS}
    matches = {metric: match for metric, match in matches.items() if len(match.weights)}
    means = {
        metric: [stage_means(side, match, number, len(names)) for number, side in enumerate(sides)]
        for metric, match in matches.items()
    }
    shares = _outcome_shares(sides, has_slo=has_slo)
    uncertainty, block_counts, shortage = _judged(sides, means, shares)
    judged = _Judged(uncertainty, means, shares)
    metrics, stages = _metric_frame(matches, judged), _stage_frame(names, matches, judged)
    outcomes = _outcome_frame(shares, judged)
    load = load_frame(sides, matches.get("e2e"))
    verdict = shortage or _verdict(metrics, stages, outcomes)
    if verdict == "no_change" and min(block_counts) < blocks.MINIMUM_BLOCKS:
        verdict = "too_few_blocks"
    if verdict in ("regressed", "stage_slower") and is_of_load(load, stages, outcomes, layers):
        verdict = "load_or_slowness"
    return _Found(metrics, stages, outcomes, load, "blocks" if uncertainty else "none", block_counts, verdict)


def _longer_stages(stages: pl.DataFrame) -> list[str]:
    """Stages that take longer beyond chance in any metric, the largest first."""
    longer = stages.filter(pl.col("significant") & (pl.col("excess_ns") > 0)).sort(
        "excess_ns", "stage", descending=[True, False]
    )
    return longer["stage"].unique(maintain_order=True).to_list()


def _unit_rows(sides: list[ComparedSide], *, is_one_store: bool) -> pl.DataFrame:
    """The requests of the sides (UNITS_SCHEMA); ids of two stores mean nothing together."""
    cohorts = {"baseline": sides[0], "selection": sides[1]} if is_one_store else {"selection": sides[1]}
    parts = [side.units.select("unit_id", cohort=pl.lit(name)) for name, side in cohorts.items()]
    return pl.concat(parts).cast(UNITS_SCHEMA)  # type: ignore[arg-type]


@dataclass(frozen=True)
class _Shares:
    """Shares of ways to end: names, float64[side, name], and contributions of slices of time of each side."""

    names: list[str]
    shares: np.ndarray
    contributions: list[np.ndarray]


@dataclass(frozen=True)
class _Judged:
    """Estimates of all rows in one family, in the order metrics (stages, then the whole), outcomes."""

    uncertainty: Uncertainty | None
    means: dict[str, list[Means]]
    shares: _Shares

    def rows(self, start: int, estimates: np.ndarray) -> tuple[list[Any], list[Any], list[Any]]:
        """Low end, high end and significance of the estimates whose first has the number `start`."""
        if self.uncertainty is None:
            nothing = [None] * len(estimates)
            return nothing, nothing, nothing
        whole = np.zeros(len(self.uncertainty.standard_error))
        whole[start : start + len(estimates)] = estimates
        low, high = self.uncertainty.intervals(whole)
        exceeds = self.uncertainty.exceeds(whole)
        part = slice(start, start + len(estimates))
        return low[part].tolist(), high[part].tolist(), exceeds[part].tolist()

    def start(self, metric: str) -> int:
        """Number of the first row of a metric."""
        before = list(self.means)[: list(self.means).index(metric)]
        return sum(len(self.means[name][0].mean) for name in before)

    @property
    def outcome_start(self) -> int:
        """Number of the first outcome."""
        return sum(len(pair[0].mean) for pair in self.means.values())


def _outcome_shares(sides: list[ComparedSide], *, has_slo: bool) -> _Shares:
    members = {"good": ("good",)} | ENDINGS if has_slo else ENDINGS
    shares, contributions = np.zeros((2, len(members))), []
    for number, side in enumerate(sides):
        buckets = side.units["bucket"]
        ended = [buckets.is_in(list(names)).to_numpy() for names in members.values()]
        shares[number] = [part.mean() if len(part) else 0.0 for part in ended]
        present = np.bincount(side.unit_slices, minlength=blocks.SLICE_COUNT)
        counted = [np.bincount(side.unit_slices[part], minlength=blocks.SLICE_COUNT) for part in ended]
        sums = (np.stack(counted, axis=1) - np.outer(present, shares[number])) / max(len(buckets), 1)
        contributions.append(sums)
    return _Shares(list(members), shares, contributions)


def _judged(
    sides: list[ComparedSide], means: dict[str, list[Means]], shares: _Shares
) -> tuple[Uncertainty | None, list[int], Verdict | None]:
    """How far chance reaches, the blocks of each side, and why it is not known where it is not."""
    sizes = [len(side.units) for side in sides]
    if not min(sizes):
        return None, [], "no_units"
    if min(sizes) < MINIMUM_UNITS or not means:
        return None, [], "too_few_units"
    sliced = [
        _sliced(side, [pair[number].contributions for pair in means.values()], shares.contributions[number])
        for number, side in enumerate(sides)
    ]
    counts = [max(1, int(side.block_counts[-1])) for side in sliced]
    everywhere = [len(side.occupied(blocks.FEWEST_BLOCKS, np.arange(1))) for side in sliced]
    if min(everywhere) < blocks.FEWEST_BLOCKS:
        return None, counts, "too_few_blocks"
    judged = [replace(side, block_counts=side.block_counts[:-1]) for side in sliced]
    shows_chance = judged[0].block_counts.max(initial=0.0) >= blocks.FEWEST_BLOCKS
    of_sides = [
        np.concatenate([*(pair[number].mean for pair in means.values()), shares.shares[number]]) for number in (0, 1)
    ]
    return from_slices(judged, _before(sides, of_sides) if shows_chance else None), counts, None


def _before(sides: list[ComparedSide], means: list[np.ndarray]) -> BeforeSide:
    lengths = [int(np.ptp(side.units["start_ns"].to_numpy())) + 1 for side in sides]
    ratio = max(lengths[0] / lengths[1], len(sides[0].units) / len(sides[1].units))
    return BeforeSide(0, ratio, shrinking(before=means[0], after=means[1]))


def _sliced(side: ComparedSide, parts: list[np.ndarray], shares: np.ndarray) -> SlicedSide:
    """A side by slices of time with the independent blocks of each estimate, and last those of the whole time."""
    present = np.bincount(side.unit_slices, minlength=blocks.SLICE_COUNT)
    # Ranks show a swinging load that a few extreme durations would hide.
    ranks = middle_ranks(side.served["e2e_ns"].to_numpy())
    deviations = np.bincount(side.served_slices, ranks - ranks.mean(), minlength=blocks.SLICE_COUNT)
    counts = []
    for part in parts:
        counts += [own_block_count(column, present) for column in part.T[:-1]]
        counts.append(blocks.independent_block_count([deviations, part[:, -1]]))
    counts += [own_block_count(column, present) for column in shares.T]
    whole = blocks.independent_block_count([deviations, *(part[:, -1] for part in parts)])
    return SlicedSide(np.concatenate([*parts, shares], axis=1), present, np.array([*counts, whole]))


def _metric_frame(matches: dict[str, Matched], judged: _Judged) -> pl.DataFrame:
    table = []
    for metric, match in matches.items():
        before, after = (part.mean for part in judged.means[metric])
        start = judged.start(metric) + len(before) - 1
        row = _changes(judged, start, before[-1:], after[-1:])[0]
        plain_ns = round(match.plain[1] - match.plain[0])
        quantiles = dict(zip(("before_p50_ns", "before_p99_ns"), match.quantiles[0], strict=True))
        quantiles |= dict(zip(("after_p50_ns", "after_p99_ns"), match.quantiles[1], strict=True))
        counts = dict(zip(("before_count", "after_count"), match.measured, strict=True))
        counts |= dict(zip(("matched_before", "matched_after"), match.matched, strict=True))
        table.append({"metric": metric, **row, "mix_ns": plain_ns - row["excess_ns"], **quantiles, **counts})
    return pl.DataFrame(table, schema=METRIC_SCHEMA)


def _stage_frame(names: list[str], matches: dict[str, Matched], judged: _Judged) -> pl.DataFrame:
    """One row a metric and stage that either side has time in; rows of a metric sum to it."""
    table = []
    for metric in matches:
        before, after = (part.mean for part in judged.means[metric])
        rows = _changes(judged, judged.start(metric), before[:-1], after[:-1], whole=(before[-1], after[-1]))
        table += [
            {"metric": metric, "stage": name, **row}
            for name, row, old, new in zip(names, rows, before, after, strict=False)
            if old or new
        ]
    frame = pl.DataFrame(table, schema=STAGE_SCHEMA)
    order = pl.col("metric").replace_strict({name: number for number, name in enumerate(METRICS)}, return_dtype=pl.Int8)
    # What is beyond chance comes first.
    is_sure = pl.col("significant").fill_null(value=False)
    return frame.sort(order, is_sure, pl.col("excess_ns").abs(), "stage", descending=[False, True, True, False])


def _changes(
    judged: _Judged, start: int, before: np.ndarray, after: np.ndarray, whole: tuple[float, float] | None = None
) -> list[dict[str, Any]]:
    """Rows of means in whole nanoseconds that sum to the rounded whole, with what chance allows of the change."""
    old = whole_parts(before, round(whole[0] if whole else float(before.sum())))
    new = whole_parts(after, round(whole[1] if whole else float(after.sum())))
    low, high, significant = judged.rows(start, after - before)
    return [
        {
            "before_ns": int(old[k]),
            "after_ns": int(new[k]),
            "excess_ns": int(new[k] - old[k]),
            "low_ns": None if low[k] is None else round(low[k]),
            "high_ns": None if high[k] is None else round(high[k]),
            # Sums in double precision are not exact below a nanosecond.
            "significant": None if significant[k] is None else bool(significant[k]) and abs(after[k] - before[k]) >= 1,
            "relative": float((after[k] - before[k]) / before[k]) if before[k] else None,
        }
        for k in range(len(before))
    ]


def _outcome_frame(shares: _Shares, judged: _Judged) -> pl.DataFrame:
    change = shares.shares[1] - shares.shares[0]
    low, high, significant = judged.rows(judged.outcome_start, change)
    return pl.DataFrame(
        {
            "outcome": shares.names,
            "before": shares.shares[0],
            "after": shares.shares[1],
            "change": change,
            "low": low,
            "high": high,
            "significant": significant,
        },
        schema=OUTCOME_SCHEMA,
    )  # fmt: skip


def _verdict(metrics: pl.DataFrame, stages: pl.DataFrame, outcomes: pl.DataFrame) -> Verdict:
    certain = metrics.filter("significant")
    told = outcomes.filter("significant")
    gains = pl.when(pl.col("outcome") == "good").then(pl.col("change")).otherwise(-pl.col("change"))
    is_worse = bool((certain["excess_ns"] > 0).any()) or bool((told.select(gains).to_series() < 0).any())
    is_better = bool((certain["excess_ns"] < 0).any()) or bool((told.select(gains).to_series() > 0).any())
    if is_worse or is_better:
        return "mixed" if is_worse and is_better else "regressed" if is_worse else "improved"
    slower = stages.filter(pl.col("significant") & (pl.col("excess_ns") > 0))
    return "stage_slower" if len(slower) else "no_change"
