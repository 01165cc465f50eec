"""Whose requests have the excess of a stage, in words."""

from __future__ import annotations

import polars as pl

from tracekit.analysis import clear_whose

_ALL = 0.995


def whose_clause(stage: str, whose: pl.DataFrame) -> str:
    """The clearest value of a stage by its part of the excess and of the requests; empty where none is clear.

    `whose`: rows of WHOSE_SCHEMA.
    """
    for row in clear_whose(whose).filter(stage=stage).head(1).iter_rows(named=True):
        carried = "all" if row["carried_share"] >= _ALL else f"{row['carried_share']:.0%}"
        whom = f"the {row['unit_share']:.0%} of requests with {row['dimension']} {row['value']!r}"
        return f" ({carried} of it in {whom})"
    return ""
