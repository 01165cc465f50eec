"""Clocks that differ: ranks leave start and restore together, and schedulers act when hosts do, so they compare."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from tracekit.stages.units.jobs.extremes import most
from tracekit.stages.units.jobs.records import TRAINER_PHASES, JobRecords

DOUBTFUL_NS = 100_000_000
"""Who is less than this apart from the others is not moved: ranks differ by as much for other reasons."""

_CONSISTENT = 4
_MINIMUM_HOSTS = 3
_MINIMUM_MEETINGS = 2
_SCHEMA = {"host": pl.String, "shift_ns": pl.Int64, "residual_ns": pl.Int64}


def aligned(records: JobRecords) -> tuple[JobRecords, pl.DataFrame]:
    """The records on one clock, and by how much each host was moved, hosts that were moved only.

    The shifts: `host`, `shift_ns`, and `residual_ns`, the largest distance that is left between what a host did
    together with others and when the others did it.

    All ranks end their start, their restore and their steps together, up to what a barrier leaves: a host that
    does so a constant time before or after the median host has another clock. A scheduler has another clock where
    all its placements, teardowns and releases are off from the hosts' by the same time.
    """
    hosts = _shifts_of_hosts(records.spans)
    moved = _all_moved(records, hosts)
    schedulers = _shifts_of_schedulers(moved.spans)
    return _all_moved(moved, schedulers), pl.concat([hosts, schedulers])


def _all_moved(records: JobRecords, shifts: pl.DataFrame) -> JobRecords:
    if shifts.is_empty():
        return records
    return replace(
        records,
        spans=_moved(records.spans, shifts, "start_ns", "end_ns"),
        processes=_moved(records.processes, shifts, "first_ns", "last_ns"),
        events=_moved(records.events, shifts, "time_ns"),
        grants=_moved(records.grants, shifts, "time_ns"),
        held=_moved(records.held, shifts, "time_ns").sort("time_ns"),
    )


def _moved(frame: pl.DataFrame, shifts: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return (
        frame.join(shifts.select("host", "shift_ns"), on="host", how="left", maintain_order="left")
        .with_columns(pl.col(name) + pl.col("shift_ns").fill_null(0) for name in columns)
        .drop("shift_ns")
    )


def _constant(apart: pl.DataFrame) -> pl.DataFrame:
    """Hosts whose times are a constant `apart_ns` off, as `host` and `shift_ns`."""
    hosts = apart.group_by("host").agg(
        shift_ns=-pl.col("apart_ns").median(),
        spread_ns=(pl.col("apart_ns") - pl.col("apart_ns").median()).abs().median(),
        residual_ns=(pl.col("apart_ns") - pl.col("apart_ns").median()).abs().max(),
    )
    size_ns = pl.col("shift_ns").abs()
    doubtful = hosts.filter((size_ns > DOUBTFUL_NS) & (size_ns > _CONSISTENT * pl.col("spread_ns")))
    return doubtful.select("host", pl.col("shift_ns", "residual_ns").round().cast(pl.Int64)).sort("host")


def _shifts_of_hosts(spans: pl.DataFrame) -> pl.DataFrame:
    barrier = ["attempt", "name", "phase", "step"]
    ends = spans.filter(
        pl.col("phase").is_in(["init", "load", "step"]),
        ~pl.col("is_error"),
        pl.col("host").is_not_null() & pl.col("rank").is_not_null(),
    )
    # Ranks that come twice make the step in two attempts or runs: these ends are no meeting.
    is_once = (pl.len().over(*barrier, "rank") == 1).all().over(barrier)
    together = (
        ends.filter(is_once)
        .group_by(*barrier, "host")
        .agg(pl.col("end_ns").median())
        .filter(pl.len().over(barrier) >= _MINIMUM_HOSTS)
        .with_columns(apart_ns=pl.col("end_ns") - pl.col("end_ns").median().over(barrier))
    )
    return _constant(together)


def _shifts_of_schedulers(spans: pl.DataFrame) -> pl.DataFrame:
    """Who has no ranks, compared where it meets those who have."""
    members = spans.filter(pl.col("rank").is_not_null())["host"].drop_nulls().unique()
    is_member = pl.col("host").is_in(members.implode())
    theirs, own = spans.filter(is_member), spans.filter(~is_member, pl.col("host").is_not_null())
    trained = theirs.filter(pl.col("phase").is_in(TRAINER_PHASES))
    meetings = pl.concat([
        _meetings(own, "provision", "end_ns", theirs.filter(pl.col("phase") == "provision"), pl.col("start_ns").min()),
        _meetings(own, "recover", "start_ns", trained.filter(pl.col("phase") == "run"), pl.col("end_ns").max()),
        _releases(own, trained),
    ])  # fmt: skip
    return _constant(meetings.filter(pl.len().over("host") >= _MINIMUM_MEETINGS))


def _meetings(own: pl.DataFrame, phase: str, edge: str, theirs: pl.DataFrame, when: pl.Expr) -> pl.DataFrame:
    """For each attempt how far an edge of the scheduler's span is from what the hosts do then."""
    attempt_of = ["parent_span_id", "trace_id"]
    met = theirs.group_by(attempt_of).agg(their_ns=when)
    mine = own.filter(pl.col("phase") == phase, pl.col("parent_span_id").is_not_null())
    return mine.join(met, on=attempt_of).select("host", apart_ns=(pl.col(edge) - pl.col("their_ns")).cast(pl.Float64))


def _releases(own: pl.DataFrame, trained: pl.DataFrame) -> pl.DataFrame:
    """How far the release begins from the end of the last process."""
    last = most(trained["end_ns"])
    released = own.filter(pl.col("phase") == "post")
    return released.select("host", apart_ns=(pl.col("start_ns") - pl.lit(last, dtype=pl.Int64)).cast(pl.Float64))
