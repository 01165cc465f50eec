"""Matches the parts that ranks have in a collective, and finds who arrived last."""

from __future__ import annotations

import polars as pl

INSTANCE = ["step_no", "collective_group", "collective_name", "collective_seq", "nth"]
"""What tells one collective from the others."""

MOST_BYTES = 2**50
"""No collective moves more than this on a rank: what tells more is damaged."""

_ALL_REDUCE = r"(?i)all_?reduce"


def match_collectives(rows: pl.DataFrame) -> pl.DataFrame:
    """When the last rank arrived at the collective of each row, and who that was.

    `rows` has a row a span with `row`, `step_no`, `rank`, `world_size`, `span_id`, `start_ns`, `end_ns`,
    `is_step`, `is_failed`, `is_collective`, `collective_group`, `collective_name`, `collective_seq`. The
    parts of one collective have the same step, group, name and sequence number; without a number, and where
    one repeats, they are matched by their order on each rank.

    Returns a row a collective span: `row`; `arrival_ns`, the latest start of its parts; `culprit_rank`, who
    started then (the smallest rank of several); `part_count`; `earliest_end_ns`, when the first of its ranks left;
    `is_separable`, whether waiting and transfer can be told apart: a
    rank that may belong to the group but has no part could have arrived later still; `is_contradicted`,
    whether a rank left before the last one arrived, which a synchronising collective cannot.
    """
    parts = parts_of(rows.filter("is_collective"))
    last = (
        parts.sort("start_ns", "rank", descending=[True, False])
        .group_by(INSTANCE)
        .agg(
            arrival_ns=pl.col("start_ns").first(),
            culprit_rank=pl.col("rank").first(),
            part_count=pl.len().cast(pl.Int64),
            earliest_end_ns=pl.col("end_ns").min(),
        )
    )
    expected = _expected_parts(rows)
    judged = last.join(expected, on=["step_no", "collective_group"], how="left").select(
        *INSTANCE,
        "arrival_ns",
        "culprit_rank",
        "part_count",
        "earliest_end_ns",
        is_contradicted=pl.col("earliest_end_ns") < pl.col("arrival_ns"),
        is_separable=(pl.col("part_count") == pl.col("expected_count"))
        & ((pl.col("part_count") > 1) | pl.col("is_world_known"))
        & (pl.col("earliest_end_ns") >= pl.col("arrival_ns")),
    )
    return parts.join(judged, on=INSTANCE, how="left").select(
        "row", "arrival_ns", "culprit_rank", "part_count", "earliest_end_ns", "is_separable", "is_contradicted"
    )


def odd_sizes(rows: pl.DataFrame) -> pl.Series:
    """Which rows tell a size that cannot be, or another one than the other ranks of the same all-reduce.

    Ranks of other collectives may have sizes of their own; sizes in words are none. Where all are plausible and alike
    nothing is odd. `rows` as of `match_collectives`, with `collective_bytes`.
    """
    size, instance = pl.col("collective_bytes"), ["step_no", "collective_group", "collective_name", "collective_seq"]
    is_reduced = pl.col("collective_name").str.contains(_ALL_REDUCE) & pl.col("collective_seq").is_not_null()
    differs = size.min().over(instance) != size.max().over(instance)
    is_odd = pl.col("is_collective") & (~size.is_between(0, MOST_BYTES) | (is_reduced & differs))
    return rows.select(is_odd=is_odd.fill_null(value=False))["is_odd"]


def parts_of(collectives: pl.DataFrame) -> pl.DataFrame:
    """Collective spans with nothing null in what identifies their collective."""
    named = _named(collectives).with_columns(pl.col("collective_seq").fill_null(-1)).sort("start_ns", "span_id")
    return named.with_columns(nth=pl.int_range(pl.len()).over("rank", *INSTANCE[:-1]))


def _named(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(pl.col("collective_group", "collective_name").fill_null(""))


def _expected_parts(rows: pl.DataFrame) -> pl.DataFrame:
    """How many parts a collective of each group has at least, as far as one step can tell.

    `is_world_known` says whether any rank told how many there are: else one part alone says nothing.

    A rank is known to be outside a group only if it finished the step without error, took part in some
    collective, and in none of the group. All other ranks, those without any span included, may belong to it.
    """
    ranks = rows.group_by("step_no", "rank").agg(
        pl.col("world_size").max(),
        is_settled=(pl.col("is_step") & ~pl.col("is_failed")).any() & pl.col("is_collective").any(),
    )
    steps = ranks.group_by("step_no").agg(
        unsettled_count=(~pl.col("is_settled")).sum().cast(pl.Int64),
        is_world_known=pl.col("world_size").is_not_null().any(),
        absent_count=(pl.col("world_size").max().fill_null(0).cast(pl.Int64) - pl.len()).clip(lower_bound=0),
    )
    members = _named(rows.filter("is_collective")).select("step_no", "collective_group", "rank").unique()
    groups = (
        members.join(ranks, on=["step_no", "rank"])
        .group_by("step_no", "collective_group")
        .agg(settled_member_count=pl.col("is_settled").sum().cast(pl.Int64))
    )
    expected = pl.col("settled_member_count") + pl.col("unsettled_count") + pl.col("absent_count")
    return groups.join(steps, on="step_no").select(
        "step_no", "collective_group", "is_world_known", expected_count=expected
    )
