"""Whose is the excess of a stage: the host, model, tenant or other value in whose units it lies.

For a value v of an attribute, d_v is the mean time in the stage of the units with v, in the selection less in the
baseline, and d_o the same of all other units. What both sides share (a load that swings, a stage that is slower for
all) is in d_v and d_o alike, so their difference is judged as that of independent units (Welch's t with the fewest
degrees of freedom of its four groups), and of one more block of time: what a value swings by itself (`whose_swing`)
adds to the spread. Both means are against the same kind of units, so that another mix of values
between the sides is no finding.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import polars as pl

from tracekit.analysis.measured import BASELINE, SELECTION
from tracekit.analysis.statistics.significance import CONFIDENCE, adjusted_p_values, student_two_sided
from tracekit.analysis.tail.comparison import Comparison
from tracekit.analysis.tail.whose_swing import FEWEST_BLOCKS, KEYS, MOST_BLOCKS, swing_frame
from tracekit.schema import UnitKind

MINIMUM_OF_VALUE = 5
"""A value with fewer units on a side, or with fewer others, is not judged."""

STAGE_LIMIT = 6
"""Stages that are looked at: those that are slower beyond chance, then those with the largest excess."""

CLEAR_FACTOR = 1.5
"""What slow units share is named from so many times its usual share on."""

DOUBTFUL = 0.001
"""Chance from which on something that was found among many is not named in a sentence."""

GROWN_FACTOR = 1.1
"""A stage that takes less than so many times what it took is not told as somebody's, however certain it is."""

_MAJORITY = 0.5

_NEARLY_ALL = 0.9

_APART_FACTOR = 4.0
"""Values of most units have nearly all of an excess that others have, too, unless theirs is so many times as large."""

_SUMS = ("unit_count", "sum_ns", "log_sum", "log_square_sum")

WHOSE_SCHEMA = {
    "stage": pl.String,
    "dimension": pl.String,
    "value": pl.String,
    "selection_units": pl.Int64,
    "unit_share": pl.Float64,
    "selection_mean_ns": pl.Int64,
    "baseline_mean_ns": pl.Int64,
    "excess_ns": pl.Int64,
    "other_excess_ns": pl.Int64,
    "carried_share": pl.Float64,
    "adjusted_p": pl.Float64,
}


def whose_frame(comparison: Comparison, grown: pl.DataFrame, attributes: list[str]) -> pl.DataFrame:
    """Values whose units have more of the excess of a stage than the others (WHOSE_SCHEMA), the clearest first.

    `grown`: rows of the stages that take longer; `attributes`: keys of attributes compared beside service, name,
    model and hosts. `unit_share`: units of the selection with the value; `carried_share`: of the excess of the stage
    in all, the part that lies in them. `excess_ns`: of a unit with the value, `other_excess_ns`: of the others.
    `adjusted_p`: chance that they differ so, as false discovery rate over all values that were tried. Empty without a
    baseline selection, and for steps, whose waiting is charged to ranks already (`causes`).
    """
    metric = comparison.selection.metric
    if not len(grown) or not comparison.layout.levels or metric.unit_kind != UnitKind.REQUEST:
        return pl.DataFrame(schema=WHOSE_SCHEMA)
    windows = None if metric.covers_unit else list(metric.windows)
    order = [pl.col("significant").fill_null(value=False), pl.col("excess_ns"), pl.col("stage")]
    stages = grown.sort(order, descending=[True, True, False])["stage"].head(STAGE_LIMIT).to_list()
    comparison.selection.sample()
    limits = {"fewest_blocks": FEWEST_BLOCKS, "most_blocks": MOST_BLOCKS, "is_per_token": metric.is_per_token}
    comparison.create_table("tail_whose", "tail/whose_units", windows=windows, stages=stages, **limits)
    groups = [comparison.rows("tail/whose_columns"), comparison.rows("tail/whose_hosts")]
    groups += [comparison.rows("tail/whose_attribute", attribute=key) for key in attributes]
    comparison.selection.drop("tail_whose")
    return ranked_values(groups, places=comparison.layout.places)


def clear_whose(whose: pl.DataFrame) -> pl.DataFrame:
    """Rows that a sentence may name: beyond doubt, and with far more of the excess than of the requests."""
    is_most = pl.col("carried_share") >= pl.max_horizontal(pl.lit(_MAJORITY), CLEAR_FACTOR * pl.col("unit_share"))
    is_apart = pl.col("excess_ns") >= _APART_FACTOR * pl.col("other_excess_ns")
    is_most |= (pl.col("carried_share") >= _NEARLY_ALL) & is_apart
    has_grown = pl.col("selection_mean_ns") >= GROWN_FACTOR * pl.col("baseline_mean_ns")
    return whose.filter(is_most & has_grown & (pl.col("adjusted_p") < DOUBTFUL))


def _rows(group: pl.DataFrame, columns: pl.DataFrame) -> list[dict[str, Any]]:
    """The values of one source that can be judged against all units (dimension `all` of `columns`)."""
    units, own = columns.filter(dimension="all"), group.filter(pl.col("dimension") != "all")
    swings = {
        (dimension, value, stage): _Swing(swing, block_count)
        for dimension, value, stage, swing, block_count in swing_frame(
            own.filter(side=BASELINE), units.filter(side=BASELINE)
        ).iter_rows()
    }
    whole = {(row["stage"], row["side"]): row for row in _over_blocks(units).iter_rows(named=True)}
    paired: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = {}
    for row in _over_blocks(own).iter_rows(named=True):
        paired.setdefault((row["dimension"], row["value"], row["stage"]), {})[row["side"]] = row
    judged = [
        _judged(
            key,
            _described(sides),
            _described({side: whole[key[2], side] for side in sides}),
            swings.get(key, _Swing()),
        )
        for key, sides in paired.items()
        if len(sides) == 2
    ]
    return [row for row in judged if row is not None]


def _over_blocks(rows: pl.DataFrame) -> pl.DataFrame:
    sums = rows.group_by(*KEYS, "side", maintain_order=True).agg(pl.col(*_SUMS).sum())
    return sums.sort(*KEYS, "side")


@dataclass(frozen=True)
class _Swing:
    """Variance of a value's difference from the others between blocks of time, and by how many blocks it is known."""

    variance: float = 0.0
    block_count: int = 0

    def with_units(self, variance: float, freedom: int) -> tuple[float, int]:
        """Variance of the difference in one more block, and its degrees of freedom (Satterthwaite 1946)."""
        if not self.variance:
            return variance, freedom
        swing = self.variance * (1 + 1 / self.block_count)
        spread = variance**2 / freedom + swing**2 / (self.block_count - 1)
        return variance + swing, max(1, int((variance + swing) ** 2 / spread + 1e-9))


def _described(sides: dict[int, dict[str, Any]]) -> dict[int, _Group]:
    return {side: _Group(*(row[name] for name in _SUMS)) for side, row in sides.items()}


@dataclass(frozen=True)
class _Group:
    """Units of one side: the sum of their time in a stage, and the sums of the logarithm of it and of its squares."""

    count: int
    sum_ns: float
    log_sum: float
    log_square_sum: float

    @property
    def mean_ns(self) -> float:
        return self.sum_ns / self.count

    @property
    def mean_log(self) -> float:
        return self.log_sum / self.count

    @property
    def error_log2(self) -> float:
        """Variance of the mean logarithm."""
        squares = max(self.log_square_sum - self.log_sum**2 / self.count, 0.0)
        return squares / (self.count - 1) / self.count

    def without(self, part: _Group) -> _Group:
        """The other units."""
        return _Group(*(getattr(self, name) - getattr(part, name) for name in self.__dataclass_fields__))


def _judged(
    key: tuple[str, str, str], own: dict[int, _Group], whole: dict[int, _Group], swing: _Swing
) -> dict[str, Any] | None:
    others = {side: whole[side].without(own[side]) for side in own}
    groups = [*own.values(), *others.values()]
    fewest = min(group.count for group in groups)
    if fewest < MINIMUM_OF_VALUE:
        return None
    excess, other_excess = (part[SELECTION].mean_ns - part[BASELINE].mean_ns for part in (own, others))
    carried, left = own[SELECTION].count * excess, others[SELECTION].count * other_excess
    chance = 1.0
    if excess > max(other_excess, 0) and carried + left > 0:
        ours, theirs = (part[SELECTION].mean_log - part[BASELINE].mean_log for part in (own, others))
        spread, freedom = swing.with_units(sum(group.error_log2 for group in groups), fewest - 1)
        chance = student_two_sided(max(ours - theirs, 0.0) / sqrt(spread), freedom) if spread else 0.0
    dimension, value, stage = key
    return {
        "stage": stage,
        "dimension": dimension,
        "value": value,
        "selection_units": own[SELECTION].count,
        "unit_share": own[SELECTION].count / whole[SELECTION].count,
        "selection_mean_ns": round(own[SELECTION].mean_ns),
        "baseline_mean_ns": round(own[BASELINE].mean_ns),
        "excess_ns": round(excess),
        "other_excess_ns": round(other_excess),
        "carried_share": carried / (carried + left) if carried + left else None,
        "adjusted_p": chance,
    }


def ranked_values(groups: list[pl.DataFrame], *, places: float = 1.0) -> pl.DataFrame:
    """The values that differ beyond chance (WHOSE_SCHEMA); those first that have most of the excess in fewest units.

    `groups`: rows of `tail/whose_columns`, `tail/whose_hosts` and `tail/whose_attribute`, the first of them first.
    `places`: among how many selections this one was chosen.
    """
    rows = [row for group in groups for row in _rows(group, groups[0])]
    found = pl.DataFrame(rows, schema=WHOSE_SCHEMA).with_row_index("tried")
    chances = np.minimum(adjusted_p_values(found["adjusted_p"].to_numpy()) * max(places, 1.0), 1.0)
    adjusted = pl.Series("adjusted_p", chances, dtype=pl.Float64)
    order = [pl.col("carried_share") - pl.col("unit_share"), pl.col("tried")]
    kept = found.with_columns(adjusted).filter(pl.col("adjusted_p") < 1 - CONFIDENCE)
    return kept.sort(order, descending=[True, False]).drop("tried")
