"""Two groups of requests at the same mix: means class by class, and what each slice of time adds to them.

Requests of a class should take the same time: the same service, name and model, and token counts in the same fraction
of an octave. The difference of the two sides is that of their class means, weighed by n_A n_B / (n_A + n_B) (Mantel
and Haenszel 1959), which is zero where one side has none and small where one has few. Classes are as fine as the data
allow: within an octave the time of a stage still grows with the size of the request.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.analysis.compare.sides import ComparedSide
from tracekit.analysis.measured import quantile_ns
from tracekit.analysis.statistics import blocks

FRACTIONS = (4, 2, 1)
"""Classes to the octave that are tried, the finest first."""

ENOUGH_SHARE = 0.9
"""A class size is fine enough where this share of both sides has counterparts on the other side."""

_LEAST_IN_CLASS = 2
_SIZES = {
    "ttft": ("input_tokens",),
    "tpot": ("input_tokens", "output_tokens"),
    "e2e": ("input_tokens", "output_tokens"),
}
_VALUES = {"ttft": "ttft_ns", "tpot": "decode_ns", "e2e": "e2e_ns"}
METRICS = ("ttft", "tpot", "e2e")


@dataclass(frozen=True)
class Matched:
    """Requests of both sides that have a metric, with the number of their class; -1 where the other side lacks it.

    `class_no[side]`: int64 by position in `served`. `weights`: float64 by class, sums to one.
    `counts[side]`: requests by class. `plain[side]`: mean over all that have the metric, whatever their class;
    `quantiles[side]`: their median and 99th percentile, nanoseconds.
    """

    metric: str
    class_no: list[np.ndarray]
    weights: np.ndarray
    counts: list[np.ndarray]
    plain: list[float]
    measured: list[int]
    quantiles: list[tuple[int, int]]

    @property
    def matched(self) -> list[int]:
        """Requests of each side that have counterparts."""
        return [int(counts.sum()) for counts in self.counts]


@dataclass(frozen=True)
class Means:
    """Mean time of each stage at the common mix, and what each slice of time adds to it (columns sum to zero)."""

    mean: np.ndarray
    contributions: np.ndarray


def matched(sides: list[ComparedSide], metric: str) -> Matched:
    """Class the requests of both sides that have `metric`, as finely as their numbers allow."""
    values = [_metric(side.served, metric) for side in sides]
    has_metric = [value.is_not_null() for value in values]
    for fraction in FRACTIONS:
        keys = [
            class_keys(side.served, metric, fraction).filter(has) for side, has in zip(sides, has_metric, strict=True)
        ]
        table = _classes(keys)
        if fraction == FRACTIONS[-1] or _covered(table, keys):
            break
    class_no, counts = [], []
    for side, (key, has) in enumerate(zip(keys, has_metric, strict=True)):
        numbers = np.full(len(has), -1, dtype=np.int64)
        found = key.join(
            table.select(*key.columns, "class_no"), on=key.columns, how="left", nulls_equal=True, maintain_order="left"
        )
        numbers[has.to_numpy()] = found["class_no"].fill_null(-1).to_numpy()
        class_no.append(numbers)
        counts.append(table[f"count_{side}"].to_numpy())
    product = counts[0] * counts[1] / np.maximum(counts[0] + counts[1], 1)
    plain = [float(np.mean(value.drop_nulls().to_numpy())) if value.count() else 0.0 for value in values]
    measured = [int(has.sum()) for has in has_metric]
    weights = product / max(product.sum(), 1e-300)
    return Matched(metric, class_no, weights, counts, plain, measured, [_quantiles(value) for value in values])


def _quantiles(values: pl.Series) -> tuple[int, int]:
    """Median and 99th percentile as observed values, zeros without any."""
    known = np.sort(values.drop_nulls().to_numpy())
    return (round(quantile_ns(known, 0.5)), round(quantile_ns(known, 0.99))) if len(known) else (0, 0)


def stage_means(side: ComparedSide, match: Matched, number: int, stage_count: int) -> Means:
    """Means of the stages of one side, the whole last, in nanoseconds (for tpot per token after the first)."""
    class_no, counts = match.class_no[number], match.counts[number]
    groups = len(counts)
    # Requests without counterparts are a class of their own, which has no weight.
    class_no = np.where(class_no < 0, groups, class_no)
    times = side.times(None if match.metric == "e2e" else METRICS.index(match.metric))
    value = times.self_ns
    if match.metric == "tpot":
        value = value / (side.served["output_tokens"].fill_null(2).to_numpy() - 1)[times.position]
    of_row = class_no[times.position]
    sums = _sums(of_row, times.stage, value, groups + 1, stage_count)[:groups]
    class_means = sums / np.maximum(counts, 1)[:, None]
    # Deviations from a mean of few requests are too small by the root.
    inflated = match.weights / np.maximum(counts, 1) * np.sqrt(counts / np.maximum(counts - 1, 1))
    slices = side.served_slices
    weighed = value * np.append(inflated, 0.0)[of_row]
    spent = _sums(slices[times.position], times.stage, weighed, blocks.SLICE_COUNT, stage_count)
    cells = slices * (groups + 1) + class_no
    present = np.bincount(cells, minlength=blocks.SLICE_COUNT * (groups + 1)).reshape(-1, groups + 1)[:, :groups]
    contributions = spent - present @ (inflated[:, None] * class_means)
    return Means(_with_total(match.weights @ class_means), _with_total(contributions))


def _metric(served: pl.DataFrame, metric: str) -> pl.Series:
    if metric == "tpot":
        return served.select(pl.col("decode_ns") / (pl.col("output_tokens") - 1)).to_series()
    return served[_VALUES[metric]]


def class_keys(served: pl.DataFrame, metric: str, fraction: int) -> pl.DataFrame:
    """What requests of a class have in common: population, and sizes in so many classes to the octave."""
    sizes = [
        pl.when(pl.col(name) > 0).then((pl.col(name).log(2) * fraction + 1e-9).floor()).alias(name)
        for name in _SIZES[metric]
    ]
    return served.select("population", *sizes)


def _classes(keys: list[pl.DataFrame]) -> pl.DataFrame:
    """Classes that both sides have enough requests of, with their numbers and counts."""
    names = keys[0].columns
    counted = [key.group_by(names).agg(pl.len().cast(pl.Int64).alias(f"count_{n}")) for n, key in enumerate(keys)]
    both = counted[0].join(counted[1], on=names, how="inner", nulls_equal=True)
    enough = both.filter(pl.min_horizontal("count_0", "count_1") >= _LEAST_IN_CLASS)
    return enough.sort(names).with_row_index("class_no").with_columns(pl.col("class_no").cast(pl.Int64))


def _covered(table: pl.DataFrame, keys: list[pl.DataFrame]) -> bool:
    return all(int(table[f"count_{n}"].sum()) >= ENOUGH_SHARE * len(key) for n, key in enumerate(keys))


def _sums(group: np.ndarray, stage: np.ndarray, value: np.ndarray, groups: int, stage_count: int) -> np.ndarray:
    flat = np.bincount(group * stage_count + stage, value, minlength=groups * stage_count)
    return flat.reshape(groups, stage_count)


def _with_total(columns: np.ndarray) -> np.ndarray:
    return np.concatenate([columns, columns.sum(axis=-1, keepdims=True)], axis=-1)
