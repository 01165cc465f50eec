"""Checkpoint saves that end on all ranks together: one saves, and the others wait inside their own span.

No collective shows that. Where every rank holds the same parameters, rank 0 is the one that saves: so it is assumed,
and what is charged for it says so.
"""

from __future__ import annotations

import polars as pl

SAVE = "job.checkpoint_save"

_END_SHARE = 0.01
"""Ends are together that differ by at most this share of the shortest of the spans ..."""

_START_RATIO = 2
"""... and by this many times less than the starts: chance alone spreads ends more than starts."""


def savers(rows: pl.DataFrame, *, stage: int) -> pl.DataFrame:
    """For whom ranks wait in their own span of a save: `row` (the span), `saving_rank`.

    rows: a row a span with `step_no`, `rank`, `world_size`, `stage`, `start_ns`, `end_ns`, `row`, `is_async`,
    `is_failed`, `is_sharded`, `is_context`. Only where all ranks of the job have exactly one span of the stage (a code)
    in the step, and none of them holds a part of the model that others do not.
    """
    saves = rows.filter((pl.col("stage") == stage) & ~pl.col("is_async"))
    step = "step_no"
    shortest_ns = (pl.col("end_ns") - pl.col("start_ns")).min().over(step)
    ends_ns = (pl.col("end_ns").max() - pl.col("end_ns").min()).over(step)
    starts_ns = (pl.col("start_ns").max() - pl.col("start_ns").min()).over(step)
    is_whole = (pl.len().over(step) == pl.col("rank").n_unique().over(step)) & (
        pl.len().over(step) == pl.col("world_size").max().over(step)
    )
    is_plain = ~(pl.col("is_sharded") | pl.col("is_failed")).any().over(step)
    is_together = (ends_ns <= _END_SHARE * shortest_ns) & (_START_RATIO * ends_ns <= starts_ns)
    return (
        saves.filter(is_whole & is_plain & is_together & (pl.col("rank").min().over(step) == 0))
        .select("row", saving_rank=pl.lit(0, dtype=rows.schema["rank"]))
        .filter(pl.len() > 1)
    )
