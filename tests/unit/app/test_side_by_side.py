"""Two traces by stage: the differences sum to the difference of the whole."""

from __future__ import annotations

import polars as pl
from investigation.side_by_side import by_stage, stage_differences


def owned(*pieces: tuple[str, int, int]) -> pl.DataFrame:
    """Segments of a timeline."""
    return by_stage(pl.DataFrame(pieces, schema=["stage", "start_ns", "end_ns"], orient="row"))


def test_a_stage_of_one_trace_alone_counts_as_no_time_in_the_other() -> None:
    """The largest difference first, whichever way."""
    one = owned(("queue", 0, 70), ("decode", 70, 100))
    other = owned(("decode", 0, 20), ("decode", 20, 45), ("auth", 45, 50))
    assert stage_differences(one, other).rows() == [("queue", 70, 0, 70), ("decode", 30, 45, -15), ("auth", 0, 5, -5)]
