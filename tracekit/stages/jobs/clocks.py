"""Clocks of hosts that differ: ranks leave start and restore together, so their clocks can be compared there."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from tracekit.stages.jobs.records import JobRecords

DOUBTFUL_NS = 100_000_000
"""Hosts that leave a barrier by less than this apart are not corrected: ranks differ by as much for other reasons."""

_CONSISTENT = 4
_MINIMUM_HOSTS = 3


def aligned(records: JobRecords) -> tuple[JobRecords, pl.DataFrame]:
    """The records on one clock, and by how much each host was moved (`host`, `shift_ns`), hosts that were moved only.

    All ranks end their start, their restore and their steps together, up to what a barrier leaves. A host that
    ends them a constant time before or after the median host has another clock.
    """
    shifts = _shifts(records.spans)
    if shifts.is_empty():
        return records, shifts
    return replace(
        records,
        spans=_moved(records.spans, shifts, "start_ns", "end_ns"),
        processes=_moved(records.processes, shifts, "first_ns", "last_ns"),
        events=_moved(records.events, shifts, "time_ns"),
    ), shifts


def _shifts(spans: pl.DataFrame) -> pl.DataFrame:
    barrier = ["attempt", "name", "phase", "step"]
    ends = spans.filter(
        pl.col("phase").is_in(["init", "load", "step"]),
        ~pl.col("is_error"),
        pl.col("host").is_not_null() & pl.col("rank").is_not_null(),
    )
    apart = (
        ends.group_by(*barrier, "host")
        .agg(pl.col("end_ns").median())
        .filter(pl.len().over(barrier) >= _MINIMUM_HOSTS)
        .with_columns(apart_ns=pl.col("end_ns") - pl.col("end_ns").median().over(barrier))
    )
    hosts = apart.group_by("host").agg(
        shift_ns=-pl.col("apart_ns").median(),
        spread_ns=(pl.col("apart_ns") - pl.col("apart_ns").median()).abs().median(),
        seen=pl.len(),
    )
    doubtful = (pl.col("shift_ns").abs() > DOUBTFUL_NS) & (pl.col("shift_ns").abs() > _CONSISTENT * pl.col("spread_ns"))
    return hosts.filter(doubtful).select("host", pl.col("shift_ns").round().cast(pl.Int64)).sort("host")


def _moved(frame: pl.DataFrame, shifts: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return (
        frame.join(shifts, on="host", how="left", maintain_order="left")
        .with_columns(pl.col(name) + pl.col("shift_ns").fill_null(0) for name in columns)
        .drop("shift_ns")
    )
