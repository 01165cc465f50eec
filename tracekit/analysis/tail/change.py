"""When did a store change? Episodes of slower requests, found in the course of time.

Requests are put in order of their start and cut into slices of equal numbers. Each slice gives several series: how the
requests rank in the metric among those of their class, how many are among the slowest of their class, the time of every
stage over what the classes take on average (its logarithm: queues come in bursts, whose logarithms are nearly normal),
and the rank among all, which shows another mix. In each series the run of slices that stands out most above all others
is sought (a scan of all episodes; a change that lasts is an episode up to the end), and its t is compared with what
chance gives in a series with the autocorrelation that is left after the episode is taken out: a level shift is not
memory. The limit holds for all series together. Several episodes are told by how clear they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, log, pi, sqrt

import numpy as np
import polars as pl

from tracekit.analysis.measured import SELECTION, MeasuredUnits
from tracekit.analysis.selection import Selection

FALSE_ALARM = 0.02
"""Chance of finding an episode, in all series together, where nothing changed."""

LONGEST_SHARE = 0.7
"""What lasts longer than this share of the requests is the usual."""

SLICE_LIMIT = 128
_UNITS_PER_SLICE = 8
_FEWEST_SLICES = 16
_SHORTEST_SLICES = 3
_SLOW_RANKS = (0.9, 0.98)
_FEWEST_SLOW = 1.0
"""A rank above which a slice has fewer requests on average shows single bursts, which no limit here bounds."""

EPISODE_LIMIT = 3
"""So many episodes are told at the most."""

_METRIC = "metric"
_STAGE_SHARE = 0.001
_RARE_SHARE = 0.6
_FEWEST_CALLS = 12
_CALLS = "calls"
_CLIPPED_DEVIATIONS = 6.0
"""Slices further than so many median deviations from the median count as this far: one outlier is no episode."""

_RATIO_OFFSET = 0.1
"""Added to ratios before the logarithm: a slice without a stage is a tenth of the usual, not infinitely little."""

_DRAWS = 600
_SEED = 20_250_311
_EULER = 0.5772156649015329


@dataclass(frozen=True)
class Change:
    """An episode `[start_ns, end_ns)` that differs from the rest of the store, and what it is compared with.

    `before_start_ns`, `before_end_ns`: the time before it, or after it where it began with the store. `lasts`: whether
    it goes on to the end. `series`: where it is clearest: `metric`, `mix`, or a stage. `places`: how many times as long
    the store is: among so many it was chosen.
    """

    start_ns: int
    end_ns: int
    before_start_ns: int
    before_end_ns: int
    lasts: bool
    series: str
    places: float


@dataclass(frozen=True)
class _Episode:
    first: int
    last: int
    ratio: float


def found_changes(selection: Selection) -> list[Change]:
    """Episodes of slower requests in a selection, the clearest first; without any, the clearest of other requests.

    None where chance may be all; episodes that overlap are told once.
    """
    units = selection.sides[SELECTION]
    count = _slice_count(units.count)
    if count < _FEWEST_SLICES:
        return []
    order = np.lexsort((units.unit_id, units.start_ns))
    slices = np.empty(units.count, dtype=np.int64)
    slices[order] = np.arange(units.count) * count // units.count
    stages, rare = _stage_series(selection, units, slices, count)
    slower = _metric_series(units, slices) | stages | rare
    tested = len(slower) + 1
    found = _clearest(slower, tested) or _clearest({"mix": _slice_means(_ranks(units.value_ns), slices)}, tested)
    return [_bounded(name, each, units, order, count) for name, each in found]


def _slice_count(unit_count: int) -> int:
    """A power of two, so that what chance does need be simulated for few lengths only."""
    return min(SLICE_LIMIT, 1 << max(unit_count // _UNITS_PER_SLICE, 1).bit_length() - 1)


def _clearest(series: dict[str, np.ndarray], tested: int) -> list[tuple[str, _Episode]]:
    """The series with the episodes furthest beyond chance; `tested`: series that share the false alarms."""
    episodes = {name: episode(course, FALSE_ALARM / tested) for name, course in series.items()}
    of_metric = {name: found for name, found in episodes.items() if name.startswith(_METRIC)}
    told: list[tuple[str, _Episode]] = []
    for name in sorted(episodes, key=lambda name: -episodes[name].ratio):
        if episodes[name].ratio <= 1 or len(told) == EPISODE_LIMIT:
            break
        chosen = _whole(name, of_metric) if name in of_metric else name
        if not any(_overlap(episodes[chosen], other) for _, other in told):
            told.append((chosen, episodes[chosen]))
    return told


def _overlap(one: _Episode, other: _Episode) -> bool:
    """Whether one shares more than half of the shorter of both."""
    common = min(one.last, other.last) - max(one.first, other.first)
    return 2 * common > min(one.last - one.first, other.last - other.first)


def _whole(name: str, episodes: dict[str, _Episode]) -> str:
    """Of the series of the metric that are beyond chance the one whose episode is longest and holds that of `name`.

    Where a queue grows for a minute, the slowest of all are those of its end: that is where ranks above a high one
    stand out most, and the beginning would count as the time before.
    """
    core = episodes[name]
    holding = [
        (found.last - found.first, other)
        for other, found in episodes.items()
        if found.ratio > 1 and found.first <= core.first and found.last >= core.last
    ]
    return max(holding)[1]


def episode(course: np.ndarray, false_alarm: float) -> _Episode:
    """The run of slices `[first, last)` that stands out most above the others.

    `ratio`: its t over the one that chance exceeds in `false_alarm` of all series with the same memory.
    """
    centred = _clipped(course)
    centred = centred - centred.mean()
    squares = float((centred**2).sum())
    # Sums in double precision differ by their rounding.
    if np.ptp(centred) <= 1e-9 * np.abs(course).max():
        return _Episode(0, 0, 0.0)
    contrasts = _contrasts(centred[None, :])[0]
    first, last = np.unravel_index(int(np.argmax(contrasts)), contrasts.shape)
    residual = centred.copy()
    residual[first:last] -= centred[first:last].mean()
    outside = np.r_[0:first, last : len(centred)]
    residual[outside] -= centred[outside].mean()
    statistic = _student(float(contrasts[first, last]) ** 2 / squares, len(course))
    return _Episode(int(first), int(last), statistic / _limit(len(course), _memory(residual), false_alarm))


def _contrasts(centred: np.ndarray) -> np.ndarray:
    """What every run adds to the sum of a series (float64[R, N], mean zero) over its spread: float64[R, N+1, N+1]."""
    count = centred.shape[1]
    running = np.concatenate([np.zeros((len(centred), 1)), np.cumsum(centred, axis=1)], axis=1)
    return np.where(_lengths(count) > 0, (running[:, None, :] - running[:, :, None]) / np.sqrt(_spreads(count)), 0.0)


@cache
def _lengths(count: int) -> np.ndarray:
    """Length of each run `[first, last)` that is looked at, else 0."""
    lengths = np.arange(count + 1)[None, :] - np.arange(count + 1)[:, None]
    return np.where((lengths >= _SHORTEST_SLICES) & (lengths <= LONGEST_SHARE * count), lengths, 0)


@cache
def _spreads(count: int) -> np.ndarray:
    lengths = _lengths(count)
    return np.where(lengths > 0, lengths * (count - lengths) / count, 1.0)


def _student(explained: float, count: int) -> float:
    """t of two means that explain this share of the squares of a series."""
    return sqrt((count - 2) * explained / max(1 - explained, 1e-12))


def _memory(residual: np.ndarray) -> float:
    """First autocorrelation with its standard error on top, in steps of a tenth: a short series shows too little."""
    squares = float((residual**2).sum())
    first = float((residual[1:] * residual[:-1]).sum()) / squares if squares > 0 else 0.0
    return min(0.9, max(0.0, ceil(10 * (first + 1 / sqrt(len(residual)))) / 10))


def _limit(count: int, memory: float, false_alarm: float) -> float:
    """The largest t of all runs that chance exceeds with this probability, in an autoregressive series.

    The largest of many is distributed as Gumbel's law, whose two parameters come from a simulation.
    """
    mean, deviation = _largest_by_chance(count, memory)
    scale = deviation * sqrt(6) / pi
    return mean - scale * (_EULER + log(-log(1 - false_alarm)))


@cache
def _largest_by_chance(count: int, memory: float) -> tuple[float, float]:
    """Mean and standard deviation of the largest t of all runs in series without an episode."""
    random = np.random.default_rng(_SEED)
    largest = np.concatenate([_simulated(count, memory, random) for _ in range(_DRAWS // 50)])
    return float(largest.mean()), float(largest.std())


def _simulated(count: int, memory: float, random: np.random.Generator) -> np.ndarray:
    series = random.standard_normal((50, count))
    shock = sqrt(1 - memory**2)
    for position in range(1, count):
        series[:, position] = memory * series[:, position - 1] + shock * series[:, position]
    series -= series.mean(axis=1, keepdims=True)
    strongest = _contrasts(series).max(axis=(1, 2))
    explained = strongest**2 / (series**2).sum(axis=1)
    return np.sqrt((count - 2) * explained / (1 - explained))


def _clipped(course: np.ndarray) -> np.ndarray:
    middle = np.median(course)
    reach = _CLIPPED_DEVIATIONS * np.median(np.abs(course - middle))
    return np.clip(course, middle - reach, middle + reach) if reach > 0 else course


def _metric_series(units: MeasuredUnits, slices: np.ndarray) -> dict[str, np.ndarray]:
    ranks = _class_ranks(units)
    series = {_METRIC: _slice_means(ranks, slices)}
    each = len(ranks) / (int(slices.max()) + 1)
    shown = [rank for rank in _SLOW_RANKS if (1 - rank) * each >= _FEWEST_SLOW]
    return series | {f"{_METRIC} above {rank}": _slice_means(ranks > rank, slices) for rank in shown}


def _class_ranks(units: MeasuredUnits) -> np.ndarray:
    """Rank of each unit in the metric among those of its class, from 0 to 1; equal values share the middle."""
    frame = pl.DataFrame({"value_ns": units.value_ns, "class_id": units.class_id})
    rank = (pl.col("value_ns").rank("average").over("class_id") - 0.5) / pl.len().over("class_id")
    return frame.select(rank).to_series().to_numpy()


def _ranks(values: np.ndarray) -> np.ndarray:
    return pl.Series(values).rank("average").to_numpy() / len(values)


def _slice_means(values: np.ndarray, slices: np.ndarray) -> np.ndarray:
    return np.bincount(slices, values) / np.bincount(slices)


def _stage_series(
    selection: Selection, units: MeasuredUnits, slices: np.ndarray, count: int
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Logarithm of the time of each stage over what units of its class take on average, by slice; and rare calls."""
    metric = selection.metric
    course = pl.DataFrame({"unit_id": units.unit_id, "bin": slices, "class_id": units.class_id})
    selection.register("tail_course", course)
    windows = None if metric.covers_unit else list(metric.windows)
    rows = selection.rows("tail/stage_course", windows=windows)
    calls = selection.rows("tail/rare_course", windows=windows, stages=_rare_stages(rows, units.count))
    selection.unregister("tail_course")
    held = course.group_by("bin", "class_id").len("units")
    usual = held.group_by("class_id").agg(pl.col("units").sum())
    whole_ns = int(rows["self_ns"].sum())
    large = {
        stage: _over_usual(part, held, usual, count)
        for (stage,), part in rows.group_by("stage", maintain_order=True)
        if part["self_ns"].sum() > _STAGE_SHARE * whole_ns
    }
    rare = {
        f"{stage} {_CALLS}": _longer_calls(part, count)
        for (stage,), part in calls.group_by("stage", maintain_order=True)
        if part["unit_count"].sum() >= _FEWEST_CALLS and stage in large
    }
    return large, rare


def _rare_stages(rows: pl.DataFrame, unit_count: int) -> list[str]:
    """Stages that few units have, by their rows: a stage with several operations in a unit counts for each."""
    counted = rows.group_by("stage", maintain_order=True).agg(pl.col("call_rows").sum())
    return counted.filter(pl.col("call_rows").is_between(1, _RARE_SHARE * unit_count))["stage"].to_list()


def _longer_calls(part: pl.DataFrame, count: int) -> np.ndarray:
    """By slice, by how much the calls of a stage that few units have are longer than its others: sums of logarithms.

    A slice without a call shows nothing. The time of such a stage is none in most slices, which would hide how long a
    call takes.
    """
    usual = float(part["log_sum"].sum()) / int(part["unit_count"].sum())
    series = np.zeros(count)
    series[part["bin"].to_numpy()] = (part["log_sum"] - usual * part["unit_count"]).to_numpy() / 1e6
    return series


def _over_usual(part: pl.DataFrame, held: pl.DataFrame, usual: pl.DataFrame, count: int) -> np.ndarray:
    means = part.group_by("class_id").agg(pl.col("self_ns").sum()).join(usual, on="class_id")
    expected = held.join(means.select("class_id", each=pl.col("self_ns") / pl.col("units")), on="class_id")
    by_slice = expected.group_by("bin").agg(expected_ns=(pl.col("units") * pl.col("each")).sum())
    totals = held.group_by("bin").agg(pl.col("units").sum())
    taken = part.group_by("bin").agg(pl.col("self_ns").sum())
    table = totals.join(by_slice, on="bin", how="left").join(taken, on="bin", how="left").fill_null(0).sort("bin")
    taken_ns, expected_ns = (table[name].to_numpy().astype(np.float64)[:count] for name in ("self_ns", "expected_ns"))
    ratio = np.divide(taken_ns, expected_ns, out=np.ones_like(taken_ns), where=expected_ns > 0)
    return np.log(ratio + _RATIO_OFFSET)


def _bounded(name: str, found: _Episode, units: MeasuredUnits, order: np.ndarray, count: int) -> Change:
    """The times of an episode, its ends moved inside the neighbouring slices to where the metric steps."""
    starts, ranks = units.start_ns[order], _class_ranks(units)[order]
    edges = -(-np.arange(count + 1) * units.count // count)
    step = units.count // count
    inside = ranks[edges[found.first] : edges[found.last]].mean()
    outside = np.r_[ranks[: edges[found.first]], ranks[edges[found.last] :]].mean()
    over = np.concatenate([[0.0], np.cumsum(ranks - (inside + outside) / 2)])
    first, last = int(edges[found.first]), int(edges[found.last])
    if inside > outside and first > 0:
        low = max(first - step, 0)
        first = low + int(np.argmin(over[low : first + step + 1]))
    lasts = found.last >= count - 1
    if inside > outside and not lasts:
        low = last - step
        last = low + int(np.argmax(over[low : min(last + step, units.count - 1) + 1]))
    end = int(starts[-1]) + 1 if lasts else int(starts[last])
    begin = int(starts[first])
    # What is shorter than the episode, and than the time after it, shows little of what is usual.
    after = 0 if lasts else units.count - last
    has_before = first >= _UNITS_PER_SLICE * _SHORTEST_SLICES and first >= min(last - first, after)
    before = (int(starts[0]), begin) if has_before else (end, int(starts[-1]) + 1)
    places = (int(starts[-1]) + 1 - int(starts[0])) / max(end - begin, 1)
    return Change(begin, end, *before, lasts, name.split(" above ")[0].removesuffix(f" {_CALLS}"), places)
