"""Which operations are parts of one collective."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.replay.sorting import bounds, sorted_by_number
from tracekit.kernels.hash_table import first_rows


def meetings(rows: pl.DataFrame) -> NDArray[np.int64]:
    """The number of the meeting of each operation, growing with the stretches.

    rows: sorted by `stretch_number` and `rank`, texts as categories. Members of a collective share step, group, name
    and sequence. Without a sequence those of a group meet in order. A rank that has one twice meets nobody there: the
    numbers do not tell which of them is meant.
    """
    told = _told(rows)
    leader = np.arange(len(rows))
    if len(told):
        row = told["row"].to_numpy()
        first = first_rows(_keys(told))
        first[_is_repeated(first, told["rank"].to_numpy())] = -1
        leader[row] = np.where(first < 0, row, row[first])
    return (np.cumsum(leader == np.arange(len(rows))) - 1)[leader]


def _told(rows: pl.DataFrame) -> pl.DataFrame:
    """Operations of a group with what its members share, as numbers."""
    names = ["collective", "operation"] if "collective" in rows.columns else ["operation"]
    told = rows.select(
        "stretch_number",
        "step",
        "rank",
        "group",
        "operation",
        collective=pl.coalesce(names),
        is_counted=pl.col("collective_sequence").is_null(),
        collective_sequence="collective_sequence",
        row=pl.int_range(pl.len(), dtype=pl.Int64),
    ).filter(pl.col("group").is_not_null())
    if told["is_counted"].any():
        in_order = pl.int_range(pl.len(), dtype=pl.Int64).over("step", "rank", "group", "operation")
        told = told.with_columns(pl.col("collective_sequence").cast(pl.Int64).fill_null(in_order))
    return told


def _keys(told: pl.DataFrame) -> NDArray[np.uint64]:
    names = ["stretch_number", "step", "group", "collective", "collective_sequence", "is_counted"]
    keys = np.empty((len(told), len(names)), np.uint64)
    for at, name in enumerate(names):
        column = told[name].to_physical() if name in ("group", "collective") else told[name]
        keys[:, at] = column.cast(pl.Int64).to_numpy().view(np.uint64)
    return keys


def _is_repeated(first: NDArray[np.int64], rank: NDArray[np.generic]) -> NDArray[np.bool_]:
    """Whether a rank is twice among those with the same first row; they are sorted by rank."""
    order, _ = sorted_by_number(first)
    starts = bounds(first[order], rank[order])[:-1]
    is_again = np.ones(len(first), np.bool_)
    is_again[starts] = False
    return np.bincount(first[order], is_again, minlength=len(first))[first] > 0
