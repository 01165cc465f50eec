"""What the slow units have in common: attribute values that are more frequent among them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, sqrt

import numpy as np
import polars as pl

from tracekit.analysis.statistics.significance import CONFIDENCE, adjusted_p_values
from tracekit.analysis.tail.comparison import Comparison

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

_FIRST_UNITS = 1000
"""Units of the tail among which an identity shows by its many values, before all are counted."""

_IDENTITIES = ("tracekit.step", "tracekit.rank")
"""Attributes that say which step of which rank a unit is, not what it is like; the rank is a column."""

_NORMAL_REACH = 1.959964


def difference_frame(comparison: Comparison) -> tuple[pl.DataFrame, list[str], list[str]]:
    """Values that are more frequent in the tail (DIFFERENCE_SCHEMA), the attributes compared, and those set aside.

    The tail is compared with the `rest` of the layout. `ratio` is share over share, with a 95 % interval; null where
    the rest has none. `adjusted_p`: Fisher's exact test, as false discovery rate (Benjamini-Hochberg) over all values
    that were tried. Only values that differ beyond chance are listed.
    """
    # Whole counts: a finer split by time would only matter to a test that needs one.
    parameters = {"rest_band": comparison.layout.rest, "block_count": 1}
    comparison.create_table("tail_attributes", "tail/attribute_rows", **parameters)
    comparison.create_host_table()
    by_attribute, set_aside = comparable_attributes(comparison.rows)
    parts = [comparison.rows(f"tail/{name}", **parameters) for name in ("difference_columns", "difference_hosts")]
    parts += by_attribute.values()
    tables = [_table(part) for frame in parts for part in frame.partition_by("dimension", maintain_order=True)]
    found = pl.concat([pl.DataFrame(schema=DIFFERENCE_SCHEMA), *tables])
    return _ranked(found), list(by_attribute), set_aside


def comparable_attributes(rows: Callable[..., pl.DataFrame]) -> tuple[dict[str, pl.DataFrame], list[str]]:
    """Rows of `tail/difference_attribute` by attribute that groups units, and the attributes that do not.

    They are those of the table `tail_attributes`; `rows` gives the rows of a statement by its name and parameters.
    """
    found = rows("tail/attribute_keys")["attribute"].to_list()
    keys = [key for key in found if key not in _IDENTITIES]
    chosen: dict[str, pl.DataFrame] = {}
    for key in keys:
        counts = _counts(rows, key) if len(chosen) < ATTRIBUTE_LIMIT else None
        if counts is not None:
            chosen[key] = counts
    return chosen, [key for key in keys if key not in chosen]


def _counts(rows: Callable[..., pl.DataFrame], key: str) -> pl.DataFrame | None:
    """How often each value of an attribute occurs, None where it has too many or is no plain value."""
    first = rows("tail/attribute_cardinality", attribute=key, unit_limit=_FIRST_UNITS)
    if first.item() > VALUE_LIMIT:
        return None
    counts = rows("tail/difference_attribute", attribute=key)
    value_count = counts.filter(pl.col("tail_count") > 0)["value"].drop_nulls().n_unique()
    if value_count > VALUE_LIMIT or counts["nested_count"].sum():
        return None
    return counts.drop("nested_count")


def _table(part: pl.DataFrame) -> pl.DataFrame:
    """All values of one dimension that occur in the tail; a dimension with one value differs in nothing."""
    values = part.drop_nulls("value")
    if values["value"].n_unique() < 2 and part["value"].null_count() == 0:
        return pl.DataFrame(schema=DIFFERENCE_SCHEMA)
    tail_count, rest_count = int(part["tail_count"].sum()), int(part["rest_count"].sum())
    counts = values.group_by("dimension", "value").agg(pl.col("tail_count", "rest_count").sum())
    described = [
        {"dimension": dimension, "value": value, **_line(tail, tail_count, rest, rest_count)}
        for dimension, value, tail, rest in counts.iter_rows()
        if tail > 0
    ]
    return pl.DataFrame(described, schema=DIFFERENCE_SCHEMA)


def _line(tail: int, tail_whole: int, rest: int, rest_whole: int) -> dict[str, float | None]:
    tail_share, rest_share = tail / tail_whole, rest / max(rest_whole, 1)
    low, high = _ratio_interval(tail, tail_whole, rest, rest_whole)
    return {
        "tail_count": tail,
        "rest_count": rest,
        "tail_share": tail_share,
        "rest_share": rest_share,
        "ratio": tail_share / rest_share if rest_share else None,
        "ratio_low": low,
        "ratio_high": high,
        "adjusted_p": exact_chance(tail, tail_whole, rest, rest_whole),
    }


def _ratio_interval(tail: int, tail_whole: int, rest: int, rest_whole: int) -> tuple[float | None, float | None]:
    """95 % interval of a ratio of two shares, on its logarithm (Katz and others 1978)."""
    if not tail or not rest:
        return None, None
    spread = _NORMAL_REACH * sqrt(1 / tail - 1 / tail_whole + 1 / rest - 1 / rest_whole)
    ratio = tail * rest_whole / (rest * tail_whole)
    return ratio * exp(-spread), ratio * exp(spread)


def exact_chance(tail: int, tail_whole: int, rest: int, rest_whole: int) -> float:
    """Chance that a value is as unevenly spread over tail and rest as this: Fisher's exact test, both sides.

    With so many units in all that have the value, how many of them lie in the tail is hypergeometric; all numbers that
    are no more likely than this one count.
    """
    found, whole = tail + rest, tail_whole + rest_whole
    numbers = np.arange(max(0, found - rest_whole), min(found, tail_whole) + 1)
    logs = (
        _log_choices(tail_whole, numbers)
        + _log_choices(rest_whole, found - numbers)
        - _log_choices(whole, np.array([found]))
    )
    chances = np.exp(logs)
    own = chances[tail - numbers[0]]
    return min(1.0, float(chances[chances <= own * (1 + 1e-7)].sum()))


def _log_choices(whole: int, chosen: np.ndarray) -> np.ndarray:
    """Logarithm of the number of ways to choose."""
    factorials = _log_factorials(1 << max(whole, 1).bit_length())
    return factorials[whole] - factorials[chosen] - factorials[whole - chosen]


@lru_cache(maxsize=4)
def _log_factorials(limit: int) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, limit + 1)))])


def _ranked(found: pl.DataFrame) -> pl.DataFrame:
    """The values that differ beyond chance, those that differ most first."""
    adjusted = pl.Series("adjusted_p", adjusted_p_values(found["adjusted_p"].to_numpy()), dtype=pl.Float64)
    difference = pl.col("tail_share") - pl.col("rest_share")
    return (
        found.with_columns(adjusted)
        .filter((difference > 0) & (pl.col("adjusted_p") < 1 - CONFIDENCE))
        .sort(difference.alias("difference"), "dimension", "value", descending=[True, False, False])
    )
