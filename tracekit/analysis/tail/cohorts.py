"""The groups of units that a tail question compares, and the time of their stages."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tracekit.analysis.measured import Band, MeasuredUnits, band
from tracekit.analysis.statistics import blocks
from tracekit.analysis.statistics.influence import BandSums
from tracekit.analysis.statistics.rounding import rounded_quotient
from tracekit.errors import InsufficientDataError

TAIL, REFERENCE = 0, 1
"""Numbers of the two cohorts that are compared; further cohorts only lend their means."""

EDGE_SHARE = 0.25
EDGE_LIMIT = 0.02
"""An end of a band is as wide as this share of the band on either side, and at most as the limit of all units."""


@dataclass(frozen=True)
class Cohort:
    """Some units of one side: `positions` in it, and the slice of time or window (`bins`) of each.

    `band` is the pair of quantiles that cuts the cohort out, None where every window has its own. `weights`: how much
    each unit counts (float64), None where all count alike.
    """

    units: MeasuredUnits
    positions: np.ndarray
    bins: np.ndarray
    band: Band | None
    weights: np.ndarray | None = None

    @property
    def count(self) -> int:
        """Number of units in the cohort."""
        return len(self.positions)

    @property
    def unit_ids(self) -> np.ndarray:
        """Ids of its units, as wide as the store has them."""
        return self.units.unit_id[self.positions]

    @property
    def value_sum_ns(self) -> int:
        """Sum of the metric over the cohort, in nanoseconds."""
        return int(self.units.value_ns[self.positions].sum())

    @property
    def mean_ns(self) -> int:
        """Mean of the metric, to the nearest nanosecond; 0 without units."""
        return rounded_quotient(self.value_sum_ns, self.count) if self.count else 0


@dataclass(frozen=True)
class StageSums:
    """Time of S stages in the cohorts of a comparison, by slice of time (or window) of each.

    `stages`: names, sorted. `by_bin[c]`: int64[M_c, S] for cohort c.
    `alternative_ns[c]`: int64[S] under the other rule of ownership. `weighted[c]`: float64[M_c, S], by the weights of
    the units, for cohorts that have some.
    """

    stages: list[str]
    by_bin: list[np.ndarray]
    alternative_ns: list[np.ndarray]
    weighted: dict[int, np.ndarray] = field(default_factory=dict)

    def total_ns(self, cohort: int) -> np.ndarray:
        """Time of each stage in a cohort: int64[S]."""
        return self.by_bin[cohort].sum(axis=0)


def band_cohort(units: MeasuredUnits, *, lower: float, upper: float = 1.0) -> Cohort:
    """The units between two quantiles of their metric, with their slices of time."""
    chosen = band(units, lower=lower, upper=upper)
    positions = np.arange(chosen.first, chosen.last)
    return Cohort(units, positions, blocks.slices(units.start_ns)[positions], chosen)


def edge_cohorts(cohort: Cohort) -> list[Cohort]:
    """Units near the lower and the upper end of a band; empty at an open end.

    Their mean stands for the mean at the quantile itself. An end is as wide as a quarter of the band on
    either side, at most 2 % of the units.
    """
    chosen = cohort.band
    if chosen is None:
        return []
    reach = min(EDGE_LIMIT, EDGE_SHARE * (chosen.upper - chosen.lower))
    return [_edge(cohort.units, chosen.lower, reach), _edge(cohort.units, chosen.upper, reach)]


def stage_sums(frame: pl.DataFrame, cohorts: list[Cohort]) -> StageSums:
    """Time of each stage in each cohort, from rows of `tail/block_sums.sql`.

    Raises `InsufficientDataError` where the stages of a cohort do not sum to its metric exactly: the stored
    units are then not what the spans say, and no answer may be given from them.
    """
    stages = sorted(frame["stage"].unique().to_list())
    parts = [frame.filter(pl.col("band") == number) for number in range(len(cohorts))]
    sums = StageSums(
        stages,
        [_dense(part, "self_ns", stages, cohort) for part, cohort in zip(parts, cohorts, strict=True)],
        [
            _dense(part, "alternative_ns", stages, cohort).sum(axis=0)
            for part, cohort in zip(parts, cohorts, strict=True)
        ],
        {
            number: _dense(part, "weighted_ns", stages, cohort, dtype=np.float64)
            for number, (part, cohort) in enumerate(zip(parts, cohorts, strict=True))
            if cohort.weights is not None
        },
    )
    _check_sums(sums, cohorts)
    return sums


def band_sums(sums: StageSums, cohorts: list[Cohort], number: int, edges: tuple[int, int]) -> BandSums:
    """What the influence function of cohort `number` needs; `edges` are the numbers of its edge cohorts.

    The last column is the metric itself, the sum of all stages.
    """
    cohort = cohorts[number]
    units, chosen = cohort.units, cohort.band
    assert chosen is not None
    bins = blocks.slices(units.start_ns)
    return BandSums(
        stage_sums=with_total(sums.by_bin[number].astype(np.float64)),
        unit_counts=_counts(bins),
        below_counts=_counts(bins[: chosen.first]),
        upto_counts=_counts(bins[: chosen.last]),
        lower_means=_mean(sums, cohorts, edges[0]),
        upper_means=_mean(sums, cohorts, edges[1]),
    )


def with_total(stage_columns: np.ndarray) -> np.ndarray:
    """The array with one more column, the sum of the others."""
    return np.concatenate([stage_columns, stage_columns.sum(axis=-1, keepdims=True)], axis=-1)


def _edge(units: MeasuredUnits, quantile: float, reach: float) -> Cohort:
    if quantile in (0.0, 1.0):
        nobody = np.zeros(0, dtype=np.int64)
        return Cohort(units, nobody, nobody, None)
    near = band_cohort(units, lower=max(quantile - reach, 0.0), upper=min(quantile + reach, 1.0))
    return Cohort(units, near.positions, np.zeros(near.count, dtype=np.int64), None)


def _dense(part: pl.DataFrame, column: str, stages: list[str], cohort: Cohort, *, dtype: type = np.int64) -> np.ndarray:
    has_slices = cohort.band is not None or cohort.weights is not None
    height = blocks.SLICE_COUNT if has_slices else int(cohort.bins.max(initial=0)) + 1
    sums: np.ndarray = np.zeros((height, len(stages)), dtype=dtype)
    if not len(part):
        return sums
    numbers = {stage: number for number, stage in enumerate(stages)}
    stage_numbers = part["stage"].replace_strict(numbers, return_dtype=pl.Int64).to_numpy()
    sums[part["bin"].to_numpy(), stage_numbers] = part[column].to_numpy()
    return sums


def _check_sums(sums: StageSums, cohorts: list[Cohort]) -> None:
    for number, cohort in enumerate(cohorts):
        missing_ns = cohort.value_sum_ns - int(sums.total_ns(number).sum())
        if missing_ns:
            raise InsufficientDataError(
                f"the stored stages of {cohort.count} units differ from their durations by {missing_ns} ns "
                "in total; the store is damaged or was changed by hand: ingest the files into a new one"
            )


def _counts(bins: np.ndarray) -> np.ndarray:
    return np.bincount(bins, minlength=blocks.SLICE_COUNT)


def _mean(sums: StageSums, cohorts: list[Cohort], number: int) -> np.ndarray:
    return with_total(sums.total_ns(number) / max(cohorts[number].count, 1))
