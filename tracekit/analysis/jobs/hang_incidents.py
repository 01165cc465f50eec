"""Hangs of training jobs that left Flight Recorder dumps, as incidents beside those that spans and logs tell."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracekit.analysis.jobs.hangs import Hang, explain_hang
from tracekit.store import Database

# A host that enqueues nothing may lack a processor or hold a lock: dumps do not tell whose fault that is.
_OWNERS = {"culprit_device": "provider", "culprit_host": "nobody", "culprit_software": "application"}
_KINDS = {"culprit_device": "device", "culprit_host": "host", "culprit_software": "software"}
_NETWORK = ("network", "provider")
_UNKNOWN = ("unknown", "nobody")

APART_NS = 1_000_000_000
"""Dumps of one rank less than this apart are of one hang: no job hangs, ends and starts again in a second."""


@dataclass(frozen=True, eq=False)
class DumpedHangs:
    """What the dumps tell: `incidents`, one row a hang, `victims` and `roles`, as `tracekit.analysis.jobs.failures`."""

    incidents: pl.DataFrame
    victims: pl.DataFrame
    roles: pl.DataFrame


def hang_incidents(database: Database, *, job: str | None = None, known: pl.Series | None = None) -> DumpedHangs:
    """The hangs of jobs that left dumps, of `job` or of all; jobs in `known` have an incident already.

    A job without anything pending in its dumps has no hang. Its ranks may have left dumps of several hangs, of several
    attempts or of another job of its name: each hang is told, numbered in order of time. What a hang cost is not known
    from dumps alone.
    """
    dumped = database.query("failures/dumped_ranks", job=job)
    if known is not None:
        dumped = dumped.filter(~pl.col("job").is_in(known.implode()))
    groups, entries = (database.query(f"failures/{name}", job=job) for name in ("dump_groups", "dump_entries"))
    found = [
        (str(name), at, _hang(groups, entries, dumps, str(name)))
        for (name,), ranks in dumped.group_by("job", maintain_order=True)
        for at, dumps in enumerate(hangs_apart(ranks))
    ]
    hangs = [(name, at, hang) for name, at, hang in found if hang.rule != "none"]
    if not hangs:
        return DumpedHangs(pl.DataFrame(), pl.DataFrame(), pl.DataFrame())
    victims = pl.concat([_followers(name, at, hang, every=False) for name, at, hang in hangs])
    roles = pl.concat([_followers(name, at, hang, every=True) for name, at, hang in hangs])
    counted = roles.group_by("job_id", "attempt", "role", "manner").agg(process_count=pl.len().cast(pl.Int64))
    incidents = pl.DataFrame([_incident(name, at, hang) for name, at, hang in hangs], infer_schema_length=None)
    return DumpedHangs(incidents, victims, counted.sort("job_id", "attempt", "role", "manner"))


def hangs_apart(dumps: pl.DataFrame) -> list[pl.DataFrame]:
    """The dumps of a job by hang, in order of time: each rank leaves one dump in each.

    dumps: `dump`, `rank`, `last_ns`. Where a rank left two, the widest gap between the last operations of all ranks
    that lies between two of its own parts the hangs; of dumps less than `APART_NS` apart the later one counts. Dumps
    without any operation have no time: each belongs to the last hang that has none of its rank.
    """
    timed = dumps.filter(pl.col("last_ns").is_not_null()).sort("last_ns", "rank", "dump")
    hangs = _parted(timed) if timed.height else [dumps.clear()]
    for row in dumps.filter(pl.col("last_ns").is_null()).sort("rank", "dump").partition_by("dump", maintain_order=True):
        free = [at for at, hang in enumerate(hangs) if row["rank"][0] not in hang["rank"]]
        at = free[-1] if free else len(hangs) - 1
        hangs[at] = pl.concat([hangs[at], row]) if free else hangs[at]
    return hangs


def _parted(dumps: pl.DataFrame) -> list[pl.DataFrame]:
    parts, whole = [dumps], []
    while parts:
        part = parts.pop()
        cut = _cut(part)
        if cut is None:
            whole.append(part.unique("rank", keep="last", maintain_order=True))
        else:
            parts += [part.slice(cut), part.head(cut)]
    return whole


def _cut(dumps: pl.DataFrame) -> int | None:
    """Row before which another hang begins; None where all dumps are of one."""
    times = dumps["last_ns"].to_list()
    last: dict[int, int] = {}
    gaps: list[tuple[int, int]] = []
    for at, rank in enumerate(dumps["rank"].to_list()):
        if rank in last:
            gaps += [(times[row] - times[row - 1], row) for row in range(last[rank] + 1, at + 1)]
        last[rank] = at
    widest, row = max(gaps, default=(0, 0))
    return row if widest >= APART_NS else None


def _hang(groups: pl.DataFrame, entries: pl.DataFrame, dumps: pl.DataFrame, job: str) -> Hang:
    mine = (pl.col("job") == job) & pl.col("dump").is_in(dumps["dump"].implode())
    parts = (frame.filter(mine).drop("job", "dump") for frame in (groups, entries))
    return explain_hang(*parts, dumped=dumps["rank"])


def _incident(job: str, at: int, hang: Hang) -> dict[str, object]:
    kinds = hang.culprits["class"].unique().sort().to_list()
    kind, owner = (_KINDS[kinds[0]], _OWNERS[kinds[0]]) if kinds else _NETWORK if hang.links.height else _UNKNOWN
    manners = hang.culprits["manner"].unique().sort().to_list()
    return {
        "id": f"{job}/{at}",
        "job_id": job,
        "attempt": at,
        "kind": kind,
        "owner": owner,
        "rule": hang.rule,
        "manner": manners[0] if manners else "implicit_hang",
        "ranks": hang.culprits["rank"].to_list(),
        "hosts": [],
        "message": hang.summary,
        "source": "flight_recorder",
        "onset_ns": hang.onset_ns,
        "declared_ns": hang.declared_ns,
        "blast_radius": hang.blast_radius,
    }


def _followers(job: str, at: int, hang: Hang, *, every: bool) -> pl.DataFrame:
    """Ranks with role and manner: all, or those that only followed."""
    rows = hang.ranks if every else hang.ranks.filter(pl.col("role") != "initiating")
    return rows.select(
        pl.lit(job).alias("job_id"),
        pl.lit(at, pl.Int64).alias("attempt"),
        pl.col("rank"),
        pl.col("role"),
        pl.col("manner").fill_null(pl.col("role")),
        time_ns=pl.col("created_ns"),
    )
