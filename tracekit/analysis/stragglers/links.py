"""Groups of ranks whose collectives transfer slowly, beside groups that do the same and beside their own usual time."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis.stragglers.culprits import LOST_SHARE, PERSISTENT_STEPS, RUN_SHARE, STEP_GAP
from tracekit.analysis.stragglers.slow_ranks import SLOW_SCHEMA, slow_times

SLOW_RATIO = 1.25
"""A group is slow whose transfers take this many times what they take its peers, or took it before; chance is less."""

TRANSFER_SCHEMA = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "step": pl.Int64,
    "collective_group": pl.String,
    "collective_name": pl.String,
    "member_count": pl.Int64,
    "instance_count": pl.Int64,
    "bytes": pl.Int64,
    "transfer_ns": pl.Int64,
    "shortest_ns": pl.Int64,
    "wait_ns": pl.Int64,
    "exposed_ns": pl.Int64,
    "all_transfer_ns": pl.Int64,
    "late_rank": pl.Int64,
}
MEMBERS_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "job_id": pl.String,
    "collective_group": pl.String,
    "collective_name": pl.String,
    "ranks": pl.List(pl.Int64),
    "hosts": pl.List(pl.String),
}
HELD_BY_SCHEMA = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "step": pl.Int64,
    "rank": pl.Int64,
    "waiting_rank": pl.Int64,
    "waited_ns": pl.Int64,
}
LINK_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "job_id": pl.String,
    "collective_group": pl.String,
    "collective_name": pl.String,
    "ranks": pl.List(pl.Int64),
    "hosts": pl.List(pl.String),
    "candidates": pl.List(pl.String),
    "peer_count": pl.Int64,
    "steps": pl.Int64,
    "first_step": pl.Int64,
    "last_step": pl.Int64,
    "ratio": pl.Float64,
    "transfer_ns": pl.Int64,
    "usual_ns": pl.Int64,
    "own_ns": pl.Int64,
    "waited_ns": pl.Int64,
    "lost_ns": pl.Int64,
    "share": pl.Float64,
}

_STEP = ["job_id", "attempt", "step"]
_GROUP = ["job_id", "collective_name", "collective_group"]


def slow_links(
    transfers: pl.DataFrame, members: pl.DataFrame, held: pl.DataFrame, ranks: pl.DataFrame, jobs: pl.DataFrame
) -> pl.DataFrame:
    """Groups whose transfer is slow, a row a group and run of steps (LINK_SCHEMA), the costliest first.

    transfers: TRANSFER_SCHEMA. members: MEMBERS_SCHEMA. held: HELD_BY_SCHEMA. ranks: as of `culprits.charged`. jobs:
    `job_id`, `wall_ns`. Peers of a group are those of the same kind of collective, size, bytes and number of hosts; a
    group without peers is compared with what it usually takes.
    """
    numbered = _numbered(transfers, members)
    if numbered.is_empty():
        return pl.DataFrame(schema=LINK_SCHEMA)
    slow = _slow_groups(numbered)
    costs = _costs(numbered, slow, held, members, ranks)
    return _named(costs, numbered, members, jobs)


def link_excess(transfers: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """How much longer than usual transfers held the ranks of slow groups.

    Columns: `job_id`, `attempt`, `step`, `rank`, `excess_ns`.
    """
    columns = [*_STEP, "rank", "excess_ns"]
    numbered = _numbered(transfers, members)
    if numbered.is_empty():
        return pl.DataFrame(schema=SLOW_SCHEMA).select(columns)
    slow = _slow_groups(numbered).join(numbered, on=[*_STEP, "group_no"])
    inside = members.select(*_GROUP, rank="ranks").explode("rank")
    return slow.join(inside, on=_GROUP).select(
        *columns[:-1], (pl.col("excess_ns") * pl.col("instance_count")).cast(pl.Int64)
    )


def _numbered(transfers: pl.DataFrame, members: pl.DataFrame) -> pl.DataFrame:
    """Rows a group and step with the number of the group, what it is compared within, and its time a collective."""
    hosts = members.select(*_GROUP, host_count=pl.col("hosts").list.len(), group_no=pl.struct(_GROUP).rank("dense"))
    alike = pl.concat_str(
        "collective_name",
        "member_count",
        pl.col("host_count"),
        (pl.col("bytes") // pl.col("instance_count")).fill_null(-1),
        separator="\x1f",
    )
    return transfers.join(hosts, on=_GROUP, maintain_order="left").with_columns(
        alike=alike.mode().sort().first().over("group_no"), each_ns=pl.col("transfer_ns") // pl.col("instance_count")
    )


def _slow_groups(numbered: pl.DataFrame) -> pl.DataFrame:
    """Steps in which groups are slow beside their peers, or all groups of a kind beside what is usual."""
    own = numbered.select(
        *_STEP, "collective_name", rank=pl.col("group_no").cast(pl.Int64), role="alike",
        stage=pl.lit("transfer"), own_ns="each_ns",
    ).drop("collective_name")  # fmt: skip
    slow = slow_times(own)
    groups = numbered.select("group_no", role="alike").unique()
    alone = slow.filter(pl.col("rank").is_not_null()).with_columns(group_no="rank", is_alone=pl.lit(value=True))
    together = slow.filter(pl.col("rank").is_null()).join(groups, on="role").with_columns(is_alone=pl.lit(value=False))
    columns = [*_STEP, "group_no", "is_alone", "excess_ns"]
    found = pl.concat([alone.select(pl.col(name).cast(_KINDS[name]) for name in columns),
                       together.select(pl.col(name).cast(_KINDS[name]) for name in columns)])  # fmt: skip
    # A group that is slow beside slow peers has lost to both references.
    return found.group_by(*_STEP, "group_no").agg(pl.col("excess_ns").sum(), pl.col("is_alone").any())


_KINDS = {
    "job_id": pl.String, "attempt": pl.Int64, "step": pl.Int64, "group_no": pl.UInt32, "is_alone": pl.Boolean,
    "excess_ns": pl.Int64,
}  # fmt: skip


def _costs(
    numbered: pl.DataFrame, slow: pl.DataFrame, held: pl.DataFrame, members: pl.DataFrame, ranks: pl.DataFrame
) -> pl.DataFrame:
    """Slow steps of groups with what they cost their members, exposed as it was, and the others who waited for them."""
    walls = ranks.group_by(_STEP).agg(step_wall_ns=pl.col("step_ns").sum(), rank_count=pl.len().cast(pl.Int64))
    cells = slow.join(numbered, on=[*_STEP, "group_no"]).join(walls, on=_STEP)
    excess_ns = pl.col("excess_ns") * pl.col("instance_count")
    cells = cells.with_columns(
        # Of the excess the part counts that nothing hid.
        own_ns=(
            (excess_ns * pl.col("member_count")).cast(pl.Int128)
            * pl.col("exposed_ns")
            // pl.max_horizontal("all_transfer_ns", 1)
        ).cast(pl.Int64),
        most_ns=excess_ns * (pl.col("rank_count") - pl.col("member_count")),
    )
    inside = members.select(*_GROUP, rank="ranks").explode("rank")
    pairs = cells.select(*_STEP, *_GROUP[1:], "group_no").join(inside, on=_GROUP).join(held, on=[*_STEP, "rank"])
    outside = pairs.join(inside.rename({"rank": "waiting_rank"}), on=[*_GROUP, "waiting_rank"], how="anti")
    waits = outside.group_by(*_STEP, "group_no").agg(pl.col("waited_ns").sum())
    return cells.join(waits, on=[*_STEP, "group_no"], how="left").with_columns(
        waited_ns=pl.min_horizontal(pl.col("waited_ns").fill_null(0), "most_ns")
    )


def _named(costs: pl.DataFrame, numbered: pl.DataFrame, members: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    who = ["job_id", "attempt", "group_no"]
    at = numbered.select(_STEP).unique().with_columns(step_at=pl.col("step").rank("dense").over("job_id", "attempt"))
    is_new = (pl.col("step_at").diff().over(who, order_by="step_at") > STEP_GAP).fill_null(value=False)
    stretches = costs.join(at, on=_STEP).with_columns(run=is_new.cast(pl.Int32).cum_sum().over(who, order_by="step_at"))
    runs = _runs(stretches, jobs).filter(_is_large())
    # Steps too few for themselves count together, as those of a rank do.
    rest = stretches.join(runs, on=[*who, "run"], how="anti").with_columns(run=pl.lit(-1, dtype=pl.Int32))
    runs = pl.concat([runs, _runs(rest, jobs).filter(_is_large())])
    peers = numbered.group_by("alike").agg(peer_count=(pl.col("group_no").n_unique() - 1).cast(pl.Int64))
    rows = runs.join(peers, on="alike").join(members, on=_GROUP)
    return (
        rows.with_columns(candidates=_candidates(rows, members))
        .sort("lost_ns", *_GROUP, "first_step", descending=[True, False, False, False, False])
        .select(pl.col(name).cast(kind) for name, kind in LINK_SCHEMA.items())
    )


def _runs(stretches: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """Slow steps summed by attempt, group and run."""
    late = pl.col("late_rank").mode().sort().first()
    return (
        stretches.group_by("job_id", "attempt", "group_no", "run", "collective_name", "collective_group", "alike")
        .agg(
            pl.col("own_ns", "waited_ns", "step_wall_ns").sum(),
            steps=pl.len(),
            first_step=pl.col("step").min(),
            last_step=pl.col("step").max(),
            transfer_ns=pl.col("each_ns").median().cast(pl.Int64),
            excess_ns=pl.col("excess_ns").median().cast(pl.Int64),
            is_alone=pl.col("is_alone").mean() > 0.5,
            late=late,
            late_share=(pl.col("late_rank") == late).mean(),
            is_late=(pl.col("transfer_ns") - pl.col("shortest_ns")).sum()
            > (pl.col("excess_ns") * pl.col("instance_count")).sum() / 2,
        )
        .join(jobs.select("job_id", "wall_ns"), on="job_id")
        .with_columns(lost_ns=pl.col("own_ns") + pl.col("waited_ns"))
        .with_columns(
            share=pl.col("lost_ns") / pl.col("wall_ns"),
            usual_ns=pl.col("transfer_ns") - pl.col("excess_ns"),
        )
        .with_columns(ratio=pl.col("transfer_ns") / pl.max_horizontal("usual_ns", 1))
    )


def _is_large() -> pl.Expr:
    persists = pl.col("steps") >= PERSISTENT_STEPS
    is_episode = pl.col("lost_ns") >= RUN_SHARE * pl.col("step_wall_ns")
    return persists & (pl.col("ratio") >= SLOW_RATIO) & ((pl.col("share") >= LOST_SHARE) | is_episode)


def _candidates(rows: pl.DataFrame, members: pl.DataFrame) -> pl.Series:
    """Where the slow link of each row may be: a host, else ranks.

    The rank that leaves last where it explains half of the excess. Else whoever is in slow groups only, of those that
    span as many hosts or more: a host, if all slow groups share it, and the ranks; where nobody is, the link lies
    between the ranks, all of them.
    """
    slow = {(row["job_id"], row["collective_group"]) for row in rows.iter_rows(named=True)}
    found = [_candidates_of(row, slow, members) for row in rows.iter_rows(named=True)]
    return pl.Series("candidates", found, dtype=pl.List(pl.String))


def _candidates_of(row: dict[str, Any], slow: set[tuple[str, str]], members: pl.DataFrame) -> list[str]:
    if row["is_late"] and row["late_share"] > 0.5:
        return [f"rank {row['late']}"]
    as_wide = members.filter(pl.col("job_id") == row["job_id"], pl.col("hosts").list.len() >= min(2, len(row["hosts"])))
    is_slow = [(row["job_id"], group) in slow for group in as_wide["collective_group"].to_list()]
    marked = as_wide.with_columns(is_slow=pl.Series(is_slow, dtype=pl.Boolean))
    hosts = _only_in_slow(marked, "hosts", row["hosts"])
    shared = [host for host in hosts if marked.filter("is_slow")["hosts"].list.contains(host).all()]
    ranks = _only_in_slow(marked, "ranks", row["ranks"]) or row["ranks"]
    named = [f"host {host}" for host in shared] if len(row["hosts"]) > len(shared) else []
    return [*named, *(f"rank {rank}" for rank in ranks)]


def _only_in_slow(groups: pl.DataFrame, column: str, whom: list[Any]) -> list[Any]:
    """Those of `whom` who are in no group that is not slow."""
    healthy = set(groups.filter(~pl.col("is_slow"))[column].explode().to_list())
    return [one for one in whom if one not in healthy]
