"""Whose is the excess of a stage: the host, model, tenant or other value in whose units it lies.

For a value v of an attribute, d_v is the mean time in the stage of the units with v, in the selection less in the
baseline, and d_o the same of all other units. What both sides share (a load that swings, a stage that is slower for
all) is in d_v and d_o alike, so their difference is judged as that of independent units: Welch's t with the fewest
degrees of freedom of its four groups. Both means are against the same kind of units, so that another mix of values
between the sides is no finding.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np
import polars as pl

from tracekit.analysis.comparison import Comparison
from tracekit.analysis.significance import CONFIDENCE, adjusted_p_values, student_two_sided
from tracekit.schema import UnitKind

UNIT_LIMIT = 20_000
"""Units that are looked at on each side: more do not make a finding clearer."""

MINIMUM_OF_VALUE = 5
"""A value with fewer units on a side, or with fewer others, is not judged."""

STAGE_LIMIT = 3
"""Stages that are looked at, the largest first."""

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


def whose_frame(comparison: Comparison, stages: list[str], attributes: list[str]) -> pl.DataFrame:
    """Values whose units have more of the excess of a stage than the others (WHOSE_SCHEMA), the clearest first.

    `stages`: the stages that are asked about; `attributes`: keys of attributes that are compared beside service, name,
    model and hosts. `unit_share`: units of the selection with the value; `carried_share`: of the excess of the stage
    in all, the part that lies in them. `excess_ns`: of a unit with the value, `other_excess_ns`: of the others.
    `adjusted_p`: chance that they differ so, as false discovery rate over all values that were tried. Empty without a
    baseline selection, and for steps, whose waiting is charged to ranks already (`causes`).
    """
    metric = comparison.selection.metric
    if not stages or not comparison.layout.levels or metric.unit_kind != UnitKind.REQUEST:
        return pl.DataFrame(schema=WHOSE_SCHEMA)
    windows = None if metric.covers_unit else list(metric.windows)
    limits = {"unit_limit": UNIT_LIMIT, "is_per_token": metric.is_per_token}
    comparison.create_table("tail_whose", "tail/whose_units", windows=windows, stages=stages[:STAGE_LIMIT], **limits)
    groups = [comparison.rows("tail/whose_columns"), comparison.rows("tail/whose_hosts")]
    groups += [comparison.rows("tail/whose_attribute", attribute=key) for key in attributes]
    comparison.selection.drop("tail_whose")
    return _ranked([row for group in groups for row in _rows(group, groups[0])])


def _rows(group: pl.DataFrame, columns: pl.DataFrame) -> list[dict[str, Any]]:
    """The values of one source that can be judged against all units (dimension `all` of `columns`)."""
    whole = {(row["stage"], row["side"]): row for row in columns.filter(dimension="all").iter_rows(named=True)}
    paired: dict[tuple[str, str, str], dict[int, dict[str, Any]]] = {}
    for row in group.filter(pl.col("dimension") != "all").iter_rows(named=True):
        paired.setdefault((row["dimension"], row["value"], row["stage"]), {})[row["side"]] = row
    judged = [
        _judged(key, sides, {side: whole[key[2], side] for side in sides})
        for key, sides in paired.items()
        if len(sides) == 2
    ]
    return [row for row in judged if row is not None]


def _judged(
    key: tuple[str, str, str], own: dict[int, dict[str, Any]], whole: dict[int, dict[str, Any]]
) -> dict[str, Any] | None:
    others = {side: _others(own[side], whole[side]) for side in own}
    counts = [part["unit_count"] for part in (*own.values(), *others.values())]
    if min(counts) < MINIMUM_OF_VALUE:
        return None
    excess, other_excess = (part[0]["mean_ns"] - part[1]["mean_ns"] for part in (own, others))
    carried, left = own[0]["unit_count"] * excess, others[0]["unit_count"] * other_excess
    spread = sum(part["variance_ns2"] / part["unit_count"] for part in (*own.values(), *others.values()))
    if excess <= max(other_excess, 0) or carried + left <= 0:
        chance = 1.0
    else:
        statistic = (excess - other_excess) / sqrt(spread) if spread else np.inf
        chance = student_two_sided(statistic, min(counts) - 1) if spread else 0.0
    dimension, value, stage = key
    return {
        "stage": stage,
        "dimension": dimension,
        "value": value,
        "selection_units": own[0]["unit_count"],
        "unit_share": own[0]["unit_count"] / whole[0]["unit_count"],
        "selection_mean_ns": round(own[0]["mean_ns"]),
        "baseline_mean_ns": round(own[1]["mean_ns"]),
        "excess_ns": round(excess),
        "other_excess_ns": round(other_excess),
        "carried_share": carried / (carried + left) if carried + left else None,
        "adjusted_p": chance,
    }


def _others(own: dict[str, Any], whole: dict[str, Any]) -> dict[str, Any]:
    """Count, mean and variance of the units of a whole without some of them."""
    count = whole["unit_count"] - own["unit_count"]
    if count < MINIMUM_OF_VALUE or own["unit_count"] < MINIMUM_OF_VALUE:
        return {"unit_count": min(count, own["unit_count"]), "mean_ns": 0.0, "variance_ns2": 0.0}
    mean = (whole["unit_count"] * whole["mean_ns"] - own["unit_count"] * own["mean_ns"]) / count
    squares = _squares(whole) - _squares(own) - count * (mean - whole["mean_ns"]) ** 2
    squares -= own["unit_count"] * (own["mean_ns"] - whole["mean_ns"]) ** 2
    return {"unit_count": count, "mean_ns": mean, "variance_ns2": max(squares, 0.0) / (count - 1)}


def _squares(part: dict[str, Any]) -> float:
    return float(part["variance_ns2"] or 0.0) * (part["unit_count"] - 1)


def _ranked(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """The values that differ beyond chance; those first that have most of the excess in fewest units."""
    found = pl.DataFrame(rows, schema=WHOSE_SCHEMA).with_row_index("tried")
    adjusted = pl.Series("adjusted_p", adjusted_p_values(found["adjusted_p"].to_numpy()), dtype=pl.Float64)
    order = [pl.col("carried_share") - pl.col("unit_share"), pl.col("tried")]
    kept = found.with_columns(adjusted).filter(pl.col("adjusted_p") < 1 - CONFIDENCE)
    return kept.sort(order, descending=[True, False]).drop("tried")
