"""Why an attempt ended: who was first, by which rule, and what everybody else was.

The rules are those of a failure ledger, in order; the first with evidence counts, else the cause is unknown:
`evidence`: a message that points at a culprit; `stopped_first`: few processes ended clearly before all others;
`silent`: nearly all processes tell that they wait for somebody, and few end without a word; `absent`: all but one
host told how they ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from tracekit.stages.units.jobs.causes import CASCADE, INITIATING, TEARDOWN

NS_PER_S = 1_000_000_000
FEW = 0.125
"""A culprit is at most this share of an attempt's processes, else nobody stands out."""

CLEARLY_BEFORE_NS = NS_PER_S
"""Processes that end less than this before the others did not clearly end first."""

UNKNOWN_OWNER = "nobody"
_KINDS = {"stopped_first": ("unknown", UNKNOWN_OWNER), "silent": ("unknown", UNKNOWN_OWNER)}


@dataclass(frozen=True, eq=False)
class Cause:
    """The first cause of the end of an attempt.

    rule: evidence, stopped_first, silent or unknown. ranks, hosts: the culprits, empty where none is known.
    onset_ns: when it began, None where no span or record tells.
    """

    rule: str
    kind: str
    owner: str
    ranks: list[int] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    onset_ns: int | None = None
    message: str | None = None
    source: str | None = None
    service_resource: int | None = None
    trace_id: str | None = None
    span_id: int | None = None


def first_cause(
    events: pl.DataFrame,
    members: pl.DataFrame,
    hosts: list[str],
    *,
    world_size: int | None,
    progress_ns: int | None,
    since_ns: int,
) -> Cause:
    """The first cause among what was said from `since_ns` on and how the processes of the attempt ended.

    events: rows of `queries/jobs/events.sql` with their classes, of this attempt. members: its rows of `places`.
    hosts: hosts of the attempt, with processes or not yet. world_size: as told. progress_ns: end of the last step or
    save.
    """
    if found := _by_evidence(events.filter(pl.col("time_ns") >= since_ns), members, hosts):
        return found
    behaved = _by_order_of_ends(members) or _by_silence(events, members) or _by_absence(members, progress_ns)
    return _explained(behaved, events) if behaved else _unknown(events, members, world_size)


def _unknown(events: pl.DataFrame, members: pl.DataFrame, world_size: int | None) -> Cause:
    """Nobody can be named; where all wait for each other it is said."""
    waiting = events.filter(pl.col("role") == CASCADE, pl.col("rank").is_not_null())["rank"].n_unique()
    all_wait = members.height >= 3 and waiting == members.height
    unseen = (world_size or 0) - int(members["weight"].sum())
    none_missing = "all processes waited and none was missing: a link, or a rank whose own watchdog spoke too"
    some_missing = f"all processes that were seen waited; {unseen} of the world sent no span, and may be first"
    message = some_missing if unseen > 0 else none_missing
    return Cause("unknown", "unknown", UNKNOWN_OWNER, message=message if all_wait else None)


def _explained(cause: Cause, events: pl.DataFrame) -> Cause:
    """The cause with what its hosts or ranks said last that points at them, however long before."""
    on = pl.col("host").is_in(cause.hosts) | pl.col("rank").is_in(cause.ranks)
    said = events.filter(pl.col("role") == INITIATING, on.fill_null(value=False)).sort("time_ns", "message")
    if said.is_empty():
        return cause
    last = said.row(-1, named=True)
    return replace(
        cause, kind=last["kind"], owner=last["owner"], message=last["message"], source=last["source"],
        service_resource=last["resource_id"], trace_id=last["trace_id"], span_id=last["span_id"],
    )  # fmt: skip


def _by_evidence(events: pl.DataFrame, members: pl.DataFrame, hosts: list[str]) -> Cause | None:
    """The strongest and earliest message that points at a culprit; of processes and hosts before schedulers."""
    pointing = events.filter(pl.col("role") == INITIATING).with_columns(
        is_member=pl.col("rank").is_not_null() | pl.col("host").is_in(hosts)
    )
    if pointing.is_empty():
        return None
    order = ["is_member", "strength", "time_ns", "rank", "host", "message"]
    first = pointing.sort(order, descending=[True, True, False, False, False, False], nulls_last=True).row(
        0, named=True
    )
    ranks, on = _culprits(first, members)
    return Cause(
        rule="evidence", kind=first["kind"], owner=first["owner"], ranks=ranks, hosts=on,
        onset_ns=None if first["source"] == "counter" else first["time_ns"], message=first["message"],
        source=first["source"],
        service_resource=first["resource_id"], trace_id=first["trace_id"], span_id=first["span_id"],
    )  # fmt: skip


def _culprits(first: dict[str, Any], members: pl.DataFrame) -> tuple[list[int], list[str]]:
    """Ranks and hosts that a message points at: the rank that said it, else those of its host."""
    if not first["is_member"]:
        return [], []
    if first["rank"] is not None:
        own = members.filter(pl.col("rank") == first["rank"])["host"].drop_nulls().to_list()
        return [first["rank"]], own[:1] or ([first["host"]] if first["host"] else [])
    there = members.filter(pl.col("host") == first["host"])
    return sorted(there["rank"].to_list()), [first["host"]]


def _by_order_of_ends(members: pl.DataFrame) -> Cause | None:
    """Processes that ended clearly before all others did."""
    ended = members.filter(pl.col("exit_ns").is_not_null()).sort("exit_ns")
    if ended.height < 3:
        return None
    gaps = ended["exit_ns"].diff().fill_null(0)
    few = max(1, int(FEW * ended.height))
    early = [place for place in range(1, few + 1) if (gaps[place] or 0) >= CLEARLY_BEFORE_NS]
    if not early or _is_spread(ended, early[0]):
        return None
    first = ended.head(early[0])
    return Cause(
        "stopped_first", *_KINDS["stopped_first"], ranks=sorted(first["rank"].to_list()),
        hosts=sorted(first["host"].drop_nulls().unique().to_list()), onset_ns=int(first["exit_ns"][0]),
        message="ended before all others, without a word",
    )  # fmt: skip


def _is_spread(ended: pl.DataFrame, early: int) -> bool:
    """Whether the others end as far from each other as the first ones from them: then nobody was first."""
    others = ended["exit_ns"][early:]
    lead_ns = int(others[0]) - int(ended["exit_ns"][early - 1])
    return int(others.quantile(0.9, "nearest") or 0) - int(others[0]) > lead_ns


def _by_silence(events: pl.DataFrame, members: pl.DataFrame) -> Cause | None:
    """Processes that tell nothing while all others tell that they wait.

    Where processes tell how they end, one without that may just have lost its last span on the way.
    """
    waiting = events.filter(pl.col("role") == CASCADE, pl.col("rank").is_not_null())["rank"].unique()
    has_told = pl.col("exit_ns").is_not_null() | ~pl.col("is_closed").any()
    silent = members.filter(has_told).filter(~pl.col("rank").is_in(waiting.to_list()))
    few = max(1, int(FEW * members.height))
    if waiting.is_empty() or silent.is_empty() or silent.height > few or members.height < 3:
        return None
    return Cause(
        "silent", *_KINDS["silent"], ranks=sorted(silent["rank"].to_list()),
        hosts=sorted(silent["host"].drop_nulls().unique().to_list()),
        message="said nothing while all others waited in a collective",
    )  # fmt: skip


def _by_absence(members: pl.DataFrame, progress_ns: int | None) -> Cause | None:
    """The one host whose processes never told that they ended, while all others did.

    Who was seen at the last progress of all may just have lost its last span on the way.
    """
    is_behind = pl.lit(value=True) if progress_ns is None else pl.col("last_ns") < progress_ns
    absent = members.filter(pl.col("exit_ns").is_null(), is_behind)
    hosts = absent["host"].drop_nulls().unique().to_list()
    if len(hosts) != 1 or absent.height > max(1, int(FEW * members.height)) or members.height < 3:
        return None
    return Cause(
        "absent", "unknown", UNKNOWN_OWNER, ranks=sorted(absent["rank"].to_list()), hosts=hosts,
        message="never told how it ended, all others did",
    )  # fmt: skip


def roles(events: pl.DataFrame, members: pl.DataFrame, cause: Cause) -> pl.DataFrame:
    """What each process of the attempt was: `attempt`, `rank`, `host`, `role`, `manner`, `time_ns`, `message`.

    role: initiating, cascade, teardown or unknown. manner: blocked (a time-out or a lost peer), stopped (told to
    end), ended (without a word), or how the culprit failed: explicit, implicit.
    """
    said = (
        events.filter(pl.col("rank").is_not_null(), pl.col("role") != "")
        .sort("time_ns")
        .group_by("rank", maintain_order=True)
        .agg(pl.col("role", "time_ns", "message").first())
    )
    is_culprit = pl.col("rank").is_in(cause.ranks)
    manner = {CASCADE: "blocked", TEARDOWN: "stopped", INITIATING: "failed"}
    joined = members.select("attempt", "rank", "host", "exit_ns").join(said, on="rank", how="left")
    told = joined.with_columns(
        role=pl.when(is_culprit).then(pl.lit(INITIATING)).otherwise(pl.col("role").fill_null("unknown")),
        manner=pl.col("role").replace_strict(manner, default="ended"),
        time_ns=pl.coalesce("time_ns", "exit_ns"),
    )
    # An error of its own beside the first cause: only one can be first.
    later = (pl.col("role") == INITIATING) & ~is_culprit
    return told.with_columns(role=pl.when(later).then(pl.lit("cascade")).otherwise("role")).drop("exit_ns")
