"""Waiting that follows from slow work by way of others: who waited for a late rank comes late to others in turn.

A wait is charged to what the rank that was waited for did meanwhile. Where that rank only works as usual, late because
somebody held it before, nobody is slow in that time. Such waiting, beyond what a schedule makes ranks wait anyhow, is
charged to whoever was slow in the step, or in the one before it; at most as much as their excess can have held up.
"""

from __future__ import annotations

import polars as pl

from tracekit.schema import UNATTRIBUTED

_STEP = ["job_id", "attempt", "step"]
_PLACE = [*_STEP, "place", "stage"]
_AT = ["job_id", "attempt", "step_at"]


def with_knock_on(cost: pl.DataFrame, left: pl.DataFrame) -> pl.DataFrame:
    """Rows of `culprits.charged` with the waiting that followed from them by way of others.

    left: `job_id`, `attempt`, `step_at`, `left_ns`: the waiting in each step that may have followed from slow work,
    with what is charged already. What a place is charged with is at most what the most delayed of its ranks can have
    held up: they were late together. Excess that nothing explains is charged last: it may have been idle.
    """
    rows = _with_room(cost).with_row_index("row")
    direct = rows.filter(pl.col("stage") != UNATTRIBUTED).group_by(_AT).agg(direct_ns=pl.col("waited_ns").sum())
    free = left.join(direct, on=_AT, how="left").select(
        *_AT, left_ns=pl.max_horizontal(pl.col("left_ns") - pl.col("direct_ns").fill_null(0), 0)
    )
    is_plain = rows["stage"] != UNATTRIBUTED
    for following in (0, 1):
        for chosen in (is_plain, ~is_plain):
            rows, free = _charged(rows, free, chosen, following=following)
    return rows.drop("row", "room_ns")


def _with_room(cost: pl.DataFrame) -> pl.DataFrame:
    """`waited_ns` no larger than a place can have caused, `room_ns` what it can have caused besides."""
    most_ns, waited_ns = pl.col("most_ns").max().over(_PLACE), pl.col("waited_ns").sum().over(_PLACE)
    own_ns = pl.col("own_ns").sum().over(_PLACE)
    is_shared = pl.col("place").is_not_null()
    within = pl.when(is_shared & (waited_ns > most_ns)).then(_part("waited_ns", most_ns, waited_ns))
    room = pl.when(is_shared & (waited_ns < most_ns)).then(_part("own_ns", most_ns - waited_ns, own_ns))
    return cost.with_columns(
        waited_ns=within.otherwise("waited_ns"),
        most_ns=pl.when(is_shared).then(_part("own_ns", most_ns, own_ns)).otherwise("most_ns"),
        room_ns=room.otherwise(0),
    )


def _charged(
    rows: pl.DataFrame, free: pl.DataFrame, chosen: pl.Series, *, following: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Waiting that is still free in a step, or so many steps later, shared to the chosen rows by their room."""
    asked = rows.filter(chosen & (pl.col("room_ns") > 0)).select(
        "row", "job_id", "attempt", "room_ns", step_at=pl.col("step_at") + following
    )
    needed_ns = pl.col("room_ns").sum().over(_AT)
    paid = asked.join(free, on=_AT).with_columns(
        paid_ns=_part("room_ns", pl.min_horizontal("left_ns", needed_ns), needed_ns)
    )
    used = paid.group_by(_AT).agg(used_ns=pl.col("paid_ns").sum())
    free = free.join(used, on=_AT, how="left").select(*_AT, left_ns=pl.col("left_ns") - pl.col("used_ns").fill_null(0))
    more = rows.join(paid.select("row", "paid_ns"), on="row", how="left", maintain_order="left")
    more_ns = pl.col("paid_ns").fill_null(0)
    charged = more.with_columns(pl.col("waited_ns") + more_ns, pl.col("room_ns") - more_ns).drop("paid_ns")
    return charged, free


def _part(of: str, whole: pl.Expr, total: pl.Expr) -> pl.Expr:
    """As much of `whole` as the column is of `total`, rounded down."""
    part = pl.col(of).cast(pl.Int128) * whole.cast(pl.Int128) // pl.max_horizontal(total, 1).cast(pl.Int128)
    return part.cast(pl.Int64)
