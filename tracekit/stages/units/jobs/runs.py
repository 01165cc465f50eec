"""Several runs under one name: each with its own outermost span, or its own processes at the same time, is a job."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import polars as pl

from tracekit.stages.units.jobs.records import JobRecords

_RUN = pl.UInt32
_BY_TRACE = {"trace_id": pl.String, "of_trace": _RUN}
_BY_PROCESS = {"resource_id": pl.Int64, "of_process": _RUN}


def split_runs(records: JobRecords) -> list[JobRecords]:
    """The runs of a job, in order; one where nothing shows several.

    Each outermost span is a run, and so is each set of processes that makes steps as the ranks which others are at the
    same time, in the same attempt. The first run keeps the name, the others have their number behind it. What lies in
    the trace of an outermost span belongs to it, else to the run of its process, else to the run in whose time it is.
    """
    roots = (
        records.spans.filter(pl.col("phase") == "job")
        .sort("start_ns", "span_id")
        .unique("trace_id", keep="first", maintain_order=True)
    )
    if roots.height > 1:
        by_trace = roots.select("trace_id", of_trace=pl.int_range(pl.len(), dtype=_RUN))
        return _parts(records, by_trace, _of_roots(records.spans, roots, by_trace), roots["start_ns"])
    processes = _beside_each_other(_lives(records.spans))
    if processes.is_empty():
        return [records]
    return _parts(records, pl.DataFrame(schema=_BY_TRACE), processes, pl.Series([0], dtype=pl.Int64))


def _lives(spans: pl.DataFrame) -> pl.DataFrame:
    """When each process made steps: `attempt`, `rank`, `resource_id`, `host`, `trace_id`, `start_ns`, `end_ns`."""
    progress = spans.filter(pl.col("phase").is_in(["step", "steps"]), pl.col("rank").is_not_null())
    return progress.group_by("attempt", "rank", "resource_id").agg(
        pl.col("host", "trace_id").first(), pl.col("start_ns").min(), pl.col("end_ns").max()
    )


def _beside_each_other(lives: pl.DataFrame) -> pl.DataFrame:
    """The run of each process (`resource_id`, `of_process`) where a rank is there twice at a time; else no row."""
    key = ["attempt", "rank"]
    ordered = lives.sort("start_ns", "host", "rank", "resource_id")
    before_ns = pl.col("end_ns").cum_max().shift(1).over(key)
    if ordered.filter(before_ns > pl.col("start_ns")).is_empty():
        return pl.DataFrame(schema=_BY_PROCESS)
    runs: list[_Run] = []
    found = [(life["resource_id"], _joined(runs, life)) for life in ordered.iter_rows(named=True)]
    if len(runs) < 2:
        return pl.DataFrame(schema=_BY_PROCESS)
    return pl.DataFrame(found, schema=_BY_PROCESS, orient="row").unique("resource_id", keep="first")


@dataclass
class _Run:
    """Processes that make one run: the last life of each rank, their traces, and when the last of them started."""

    lives: dict[tuple[int | None, int], tuple[int, int]] = field(default_factory=dict)
    traces: set[str] = field(default_factory=set)
    started_ns: int = 0

    def has_room(self, life: dict[str, int]) -> bool:
        """Whether the rank is not there already; a process that lingers for a while is followed by the next one."""
        start_ns, end_ns = life["start_ns"], life["end_ns"]
        there = self.lives.get((life["attempt"], life["rank"]))
        return there is None or 2 * (min(there[1], end_ns) - start_ns) <= min(end_ns - start_ns, there[1] - there[0])


def _joined(runs: list[_Run], life: dict[str, int]) -> int:
    """Number of the run that a process joins: of its trace, else the one that is starting; a new one if none is."""
    trace = str(life["trace_id"])
    fitting = [at for at, run in enumerate(runs) if run.has_room(life)]
    if not fitting:
        runs.append(_Run())
        fitting = [len(runs) - 1]
    chosen = max(fitting, key=lambda at: (trace in runs[at].traces, runs[at].started_ns))
    run = runs[chosen]
    run.lives[life["attempt"], life["rank"]] = life["start_ns"], life["end_ns"]
    run.traces.add(trace)
    run.started_ns = max(run.started_ns, life["start_ns"])
    return chosen


def _of_roots(spans: pl.DataFrame, roots: pl.DataFrame, by_trace: pl.DataFrame) -> pl.DataFrame:
    """The run of each process of which no span lies in the trace of an outermost one: `resource_id`, `of_process`.

    The run in whose time it starts; where several go on then, the k-th process of a rank belongs to the k-th of them.
    """
    known = spans.join(by_trace, on="trace_id", how="semi")["resource_id"].unique()
    lives = _lives(spans).filter(~pl.col("resource_id").is_in(known.implode()))
    times = roots.select("start_ns", "end_ns").rows()
    found: list[tuple[int, int]] = []
    taken: dict[tuple[int | None, int], set[int]] = {}
    for life in lives.sort("start_ns", "resource_id").iter_rows(named=True):
        going_on = [at for at, (start_ns, end_ns) in enumerate(times) if start_ns <= life["start_ns"] < end_ns]
        used = taken.setdefault((life["attempt"], life["rank"]), set())
        free = [at for at in going_on if at not in used] or going_on
        if free:
            used.add(free[0])
            found.append((life["resource_id"], free[0]))
    return pl.DataFrame(found, schema=_BY_PROCESS, orient="row").unique("resource_id", keep="first")


def _parts(
    records: JobRecords, by_trace: pl.DataFrame, by_process: pl.DataFrame, starts: pl.Series
) -> list[JobRecords]:
    def numbered(frame: pl.DataFrame, time: str) -> pl.DataFrame:
        joined = frame.join(by_trace, on="trace_id", how="left").join(by_process, on="resource_id", how="left")
        return joined.with_columns(run=pl.coalesce("of_trace", "of_process", _of_time(starts, time)))

    spans, events = numbered(records.spans, "start_ns"), numbered(records.events, "time_ns")
    held = records.held.with_columns(run=_of_time(starts, "time_ns"))
    count = max(starts.len(), int(by_process["of_process"].max() or 0) + 1)  # type: ignore[arg-type]
    return [_part(records, at, spans, events, held) for at in range(count)]


def _of_time(starts: pl.Series, time: str) -> pl.Expr:
    later = starts[1:].to_list()
    return pl.sum_horizontal(pl.lit(0, dtype=_RUN), *((pl.col(time) >= start).cast(_RUN) for start in later)).cast(_RUN)


def _part(records: JobRecords, at: int, spans: pl.DataFrame, events: pl.DataFrame, held: pl.DataFrame) -> JobRecords:
    mine = spans.filter(pl.col("run") == at).select(records.spans.columns)
    processes = records.processes.join(mine.select("resource_id").unique(), on="resource_id", how="semi")
    return replace(
        records,
        job=records.job if at == 0 else f"{records.job} ({at + 1})",
        spans=mine,
        processes=_seen(processes, mine),
        events=events.filter(pl.col("run") == at).select(records.events.columns),
        held=held.filter(pl.col("run") == at).drop("run"),
    )


def _seen(processes: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Processes with the times of their spans in this run: those of all runs may be the same."""
    times = spans.group_by("resource_id").agg(first_ns=pl.col("start_ns").min(), last_ns=pl.col("end_ns").max())
    return processes.drop("first_ns", "last_ns").join(times, on="resource_id").select(processes.columns)
