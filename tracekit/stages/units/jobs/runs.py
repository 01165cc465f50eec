"""Several runs under one name: each with its own outermost span is a job of its own."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from tracekit.stages.units.jobs.records import JobRecords


def split_runs(records: JobRecords) -> list[JobRecords]:
    """The runs of a job, in order; one where it has a single outermost span, or none.

    The first keeps the name, the others have their number behind it. What lies in no trace of an outermost span
    belongs to the run in whose time it starts.
    """
    roots = (
        records.spans.filter(pl.col("phase") == "job")
        .sort("start_ns", "span_id")
        .unique("trace_id", keep="first", maintain_order=True)
    )
    if roots.height < 2:
        return [records]
    edges = [*roots["start_ns"].to_list()[1:], None]
    traces = roots["trace_id"].to_list()
    found = []
    for at, (trace, until_ns) in enumerate(zip(traces, edges, strict=True)):
        from_ns = None if at == 0 else edges[at - 1]
        name = records.job if at == 0 else f"{records.job} ({at + 1})"
        found.append(_part(records, name, trace, [other for other in traces if other != trace], from_ns, until_ns))
    return found


def _part(
    records: JobRecords, name: str, trace: str, others: list[str], from_ns: int | None, until_ns: int | None
) -> JobRecords:
    def inside(time: str) -> pl.Expr:
        after = pl.lit(value=True) if from_ns is None else pl.col(time) >= from_ns
        return after if until_ns is None else after & (pl.col(time) < until_ns)

    mine = (pl.col("trace_id") == trace) | (~pl.col("trace_id").is_in(others) & inside("start_ns"))
    spans = records.spans.filter(mine)
    resources = spans["resource_id"].unique()
    said = (pl.col("trace_id") == trace).fill_null(value=False) | (
        ~pl.col("trace_id").is_in(others).fill_null(value=False) & inside("time_ns")
    )
    return replace(
        records,
        job=name,
        spans=spans,
        processes=_seen(records.processes.filter(pl.col("resource_id").is_in(resources.implode())), spans),
        events=records.events.filter(said),
        held=records.held.filter(inside("time_ns")),
    )


def _seen(processes: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Processes with the times of their spans in this run: those of all runs may be the same."""
    times = spans.group_by("resource_id").agg(first_ns=pl.col("start_ns").min(), last_ns=pl.col("end_ns").max())
    return processes.drop("first_ns", "last_ns").join(times, on="resource_id").select(processes.columns)
