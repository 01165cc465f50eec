"""Who had entered, and who had completed, each collective that some rank of a hung job still had pending."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

ROOTED = ("broadcast", "reduce", "gather", "scatter")
"""Collectives that some members may complete although others have not entered."""

PENDING, COMPLETED, LACKING, ABSENT = "pending", "completed", "lacking", "absent"
"""What a member of a group had done with a collective: enqueued it; completed it; not enqueued it; it left no dump."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The collectives pending anywhere and what each member of their groups did with them.

    states: `operation_key`, `rank`, `state` (`PENDING`, `COMPLETED`, `LACKING`, `ABSENT`); of a send or receive the two
        sides only. A pending side whose other side is known to have completed its part has no row for that side.
    operations: `operation_key`, `group`, `members`, `sequence`, `operation`, `is_p2p`, `created_ns` (when the first
        rank enqueued it), `timeout_ms`. pending: the entries that are pending, with `operation_key`.
    entries: all entries, with `group_key` (name and members of the group: two groups may have one name).
    ranks: `rank`, `has_dump`.
    """

    states: pl.DataFrame
    operations: pl.DataFrame
    pending: pl.DataFrame
    entries: pl.DataFrame
    ranks: pl.DataFrame


def hang_evidence(groups: pl.DataFrame, entries: pl.DataFrame, *, dumped: pl.Series) -> Evidence:
    """The evidence in the dumps of a job.

    `groups` and `entries` have the columns of `tracekit.importers.flight_recorder`; `dumped` holds the ranks that left
    a dump, which may hold no entries.
    """
    keyed = groups.with_columns(group_key=_group_key())
    members = keyed.unique("group_key").select("group_key", "members")
    named = entries.join(keyed.select("rank", "group", "group_key"), on=["rank", "group"], how="left").with_columns(
        pl.col("group_key").fill_null(pl.col("group")), is_pending=_is_pending()
    )
    ranks = _ranks(members, dumped)
    collectives = _collectives(named.filter(~pl.col("is_p2p")), named, keyed, members, ranks)
    transfers = _transfers(named.filter("is_p2p"), ranks)
    pending = pl.concat([collectives.pending, transfers.pending])
    return Evidence(
        states=pl.concat([collectives.states, transfers.states]),
        operations=_operations(pending, members),
        pending=pending,
        entries=named,
        ranks=ranks,
    )


def _group_key() -> pl.Expr:
    return pl.col("group") + ":" + pl.col("members").list.eval(pl.element().cast(pl.String)).list.join(",")


def _is_pending() -> pl.Expr:
    """Neither completed nor given up; a retired entry is no longer watched, because it ended."""
    is_completed = (pl.col("state") == "completed") | pl.col("completed_ns").is_not_null()
    return ~is_completed.fill_null(value=False) & ~pl.col("is_retired")


def _ranks(members: pl.DataFrame, dumped: pl.Series) -> pl.DataFrame:
    """All ranks that a group names or that left a dump."""
    named = members.explode("members").drop_nulls()["members"]
    every = pl.concat([named, dumped.cast(pl.Int64)]).unique().sort().alias("rank")
    return pl.DataFrame({"rank": every, "has_dump": every.is_in(dumped.cast(pl.Int64).implode())})


@dataclass(frozen=True, eq=False)
class _Part:
    states: pl.DataFrame
    pending: pl.DataFrame


def _keyed(entries: pl.DataFrame, operation_key: pl.Expr) -> pl.DataFrame:
    return entries.with_columns(operation_key=operation_key)


def _collectives(
    collectives: pl.DataFrame, entries: pl.DataFrame, groups: pl.DataFrame, members: pl.DataFrame, ranks: pl.DataFrame
) -> _Part:
    key = pl.col("group_key") + "#" + pl.col("sequence").cast(pl.String)
    pending = _keyed(collectives.filter("is_pending"), key)
    asked = pending.unique("operation_key").select("operation_key", "group_key", "sequence")
    pairs = asked.join(members, on="group_key").explode("members").rename({"members": "rank"})
    pairs = pairs.join(ranks, on="rank", how="left")
    own = collectives.group_by("group_key", "sequence", "rank").agg(is_pending=pl.col("is_pending").any())
    furthest = collectives.group_by("group_key", "rank").agg(furthest=pl.col("sequence").max())
    known = (
        pairs.join(own, on=["group_key", "sequence", "rank"], how="left")
        .join(furthest, on=["group_key", "rank"], how="left")
        .join(_trusted(groups, entries), on=["group_key", "rank"], how="left")
    )
    return _Part(known.select("operation_key", "rank", state=_state()), pending)


def _trusted(groups: pl.DataFrame, entries: pl.DataFrame) -> pl.DataFrame:
    """How far each rank had enqueued the collectives of each group, where the dump's status tells that.

    The status of a group counts sends and receives by their own numbers, so it tells nothing of collectives where the
    group has both.
    """
    mixed = entries.filter("is_p2p").select("group_key").unique()
    return groups.join(mixed, on="group_key", how="anti").select("group_key", "rank", "last_enqueued", "last_completed")


def _state() -> pl.Expr:
    """A dump leaves out what has completed, or has lost it from its ring; so what was passed by has completed."""
    passed = pl.max_horizontal("furthest", "last_enqueued", "last_completed")
    return (
        pl.when(~pl.col("has_dump").fill_null(value=False))
        .then(pl.lit(ABSENT))
        .when(pl.col("is_pending"))
        .then(pl.lit(PENDING))
        .when(pl.col("is_pending").is_not_null() | (passed >= pl.col("sequence")).fill_null(value=False))
        .then(pl.lit(COMPLETED))
        .otherwise(pl.lit(LACKING))
    )


def _transfers(transfers: pl.DataFrame, ranks: pl.DataFrame) -> _Part:
    """Sends and receives: all of one direction between two ranks of a group stand for one operation.

    Their numbers do not match between the two sides. But a side with transfers of that direction pending has posted
    all earlier ones, and one with none pending has posted none that could be waited for, or has completed it.
    """
    sends = pl.col("operation") == "send"
    source = pl.when(sends).then("rank").otherwise("peer").cast(pl.String)
    target = pl.when(sends).then("peer").otherwise("rank").cast(pl.String)
    key = pl.col("group_key") + "#" + source + ">" + target
    pending = _keyed(transfers.filter(pl.col("is_pending") & pl.col("peer").is_not_null()), key)
    mine = pending.select("operation_key", "rank").unique().with_columns(state=pl.lit(PENDING))
    other = pending.select("operation_key", rank="peer").unique().join(mine, on=["operation_key", "rank"], how="anti")
    absent = pl.when(pl.col("has_dump").fill_null(value=False)).then(pl.lit(LACKING)).otherwise(pl.lit(ABSENT))
    return _Part(
        pl.concat([mine, other.join(ranks, on="rank", how="left").select("operation_key", "rank", state=absent)]),
        pending,
    )


def _operations(pending: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    found = pending.group_by("operation_key", "group_key", maintain_order=True).agg(
        pl.col("group", "sequence", "operation", "is_p2p").first(),
        created_ns=pl.col("created_ns").min(),
        timeout_ms=pl.col("timeout_ms").min(),
    )
    return found.join(members, on="group_key", how="left").drop("group_key").sort("created_ns", "operation_key")
