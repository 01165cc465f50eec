"""What the slow units have in common: attribute values that are more frequent among them."""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.analysis import blocks
from tracekit.analysis.comparison import Comparison
from tracekit.analysis.judgement import Judgement
from tracekit.analysis.significance import CONFIDENCE, adjusted_p_values, student_quantile, student_two_sided

DIFFERENCE_SCHEMA = {
    "dimension": pl.String,
    "value": pl.String,
    "tail_count": pl.Int64,
    "rest_count": pl.Int64,
    "tail_share": pl.Float64,
    "rest_share": pl.Float64,
    "ratio": pl.Float64,
    "ratio_low": pl.Float64,
    "ratio_high": pl.Float64,
    "adjusted_p": pl.Float64,
}

ATTRIBUTE_LIMIT = 24
"""Attributes that are compared, the most frequent in the tail first."""

VALUE_LIMIT = 50
"""An attribute with more values than this in the tail is an identity, not a group, and is set aside."""

_MINIMUM_COUNT = 5


def difference_frame(comparison: Comparison, judgement: Judgement) -> tuple[pl.DataFrame, list[str]]:
    """Values that are more frequent in the tail (DIFFERENCE_SCHEMA), and the attributes set aside.

    The tail is compared with the `rest` of the layout. `ratio` is share over share, with a 95 % interval from blocks of
    time; `adjusted_p` is the false discovery rate (Benjamini-Hochberg over all rows). Both are null where no
    interval can be given, or where fewer than 5 units of the tail and of the rest together have the value.
    """
    block_count = min(judgement.block_counts) if judgement.method == "blocks" else 1
    parameters = {"rest_band": comparison.layout.rest, "block_count": block_count}
    comparison.create_table("tail_attributes", "tail/attribute_rows", **parameters)
    chosen, set_aside = _comparable_attributes(comparison)
    parts = [comparison.rows(f"tail/{name}", **parameters) for name in ("difference_columns", "difference_hosts")]
    parts += [comparison.rows("tail/difference_attribute", attribute=key) for key in chosen]
    tables = [
        _table(part, block_count) for frame in parts for part in frame.partition_by("dimension", maintain_order=True)
    ]
    found = pl.concat([pl.DataFrame(schema=DIFFERENCE_SCHEMA), *tables])
    return _ranked(found), set_aside


def _comparable_attributes(comparison: Comparison) -> tuple[list[str], list[str]]:
    keys = comparison.rows("tail/attribute_keys")["attribute"].to_list()
    chosen: list[str] = []
    for key in keys:
        value_count, nested_count = comparison.rows("tail/attribute_cardinality", attribute=key).row(0)
        if value_count <= VALUE_LIMIT and nested_count == 0 and len(chosen) < ATTRIBUTE_LIMIT:
            chosen.append(key)
    return chosen, [key for key in keys if key not in chosen]


def _table(part: pl.DataFrame, block_count: int) -> pl.DataFrame:
    """All values of one dimension that occur in the tail; a dimension with one value differs in nothing."""
    values = part.drop_nulls("value").sort("value").partition_by("value", maintain_order=True)
    if len(values) < 2 and part["value"].null_count() == 0:
        return pl.DataFrame(schema=DIFFERENCE_SCHEMA)
    whole = _by_block(part, block_count)
    described = [
        {"dimension": rows["dimension"][0], "value": rows["value"][0], **_line(_by_block(rows, block_count), whole)}
        for rows in values
    ]
    return pl.DataFrame(described, schema=DIFFERENCE_SCHEMA).filter(pl.col("tail_count") > 0)


def _by_block(part: pl.DataFrame, block_count: int) -> np.ndarray:
    """Counts of tail and rest in each block of time: float64[blocks, 2]."""
    counts = np.zeros((block_count, 2))
    np.add.at(counts, part["block"].to_numpy(), part.select("tail_count", "rest_count").to_numpy())
    return counts


def _line(counts: np.ndarray, whole: np.ndarray) -> dict[str, float | None]:
    found, all_units = counts.sum(axis=0), np.maximum(whole.sum(axis=0), 1)
    tail_share, rest_share = found / all_units
    # Influence of each block on the two shares: their numerators minus what the share predicts.
    tail_influence, rest_influence = ((counts - whole * (found / all_units)) / all_units).T
    line: dict[str, float | None] = {
        "tail_count": int(found[0]),
        "rest_count": int(found[1]),
        "tail_share": float(tail_share),
        "rest_share": float(rest_share),
        "ratio": float(tail_share / rest_share) if rest_share else None,
    }
    occupied = int((whole.sum(axis=1) > 0).sum())
    if occupied < blocks.MINIMUM_BLOCKS or found.sum() < _MINIMUM_COUNT:
        return line | {"ratio_low": None, "ratio_high": None, "adjusted_p": None}
    low, high = _ratio_interval(tail_share, rest_share, tail_influence, rest_influence, occupied - 1)
    error = _spread(tail_influence - rest_influence, occupied)
    p_value = student_two_sided((tail_share - rest_share) / error, occupied - 1) if error else None
    return line | {"ratio_low": low, "ratio_high": high, "adjusted_p": p_value}


def _ratio_interval(
    tail_share: float, rest_share: float, tail_influence: np.ndarray, rest_influence: np.ndarray, freedom: int
) -> tuple[float | None, float | None]:
    if not tail_share or not rest_share:
        return None, None
    error = _spread(tail_influence / tail_share - rest_influence / rest_share, freedom + 1)
    reach = min(student_quantile(CONFIDENCE, freedom) * error, 700.0)
    ratio = tail_share / rest_share
    return float(ratio * np.exp(-reach)), float(ratio * np.exp(reach))


def _spread(influence: np.ndarray, occupied: int) -> float:
    return float(np.sqrt((influence**2).sum() * occupied / (occupied - 1)))


def _ranked(found: pl.DataFrame) -> pl.DataFrame:
    tested = found["adjusted_p"].is_not_null().to_numpy()
    p_values = found["adjusted_p"].to_numpy().copy()
    p_values[tested] = adjusted_p_values(p_values[tested])
    adjusted = pl.Series("adjusted_p", p_values).fill_nan(None)
    return (
        found.with_columns(adjusted)
        .with_columns(difference=pl.col("tail_share") - pl.col("rest_share"))
        .sort("difference", "dimension", "value", descending=[True, False, False])
        .drop("difference")
    )
