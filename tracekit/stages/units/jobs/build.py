"""From all that arrived about one job to its units: attempts, the ledger's leaves, incidents with everybody's role."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.stages.units.jobs.attempts import number_attempts
from tracekit.stages.units.jobs.causes import with_classes
from tracekit.stages.units.jobs.clocks import aligned
from tracekit.stages.units.jobs.extremes import least, most, most_of
from tracekit.stages.units.jobs.incidents import UNKNOWN_OWNER, Cause, roles
from tracekit.stages.units.jobs.inside import with_slow_compute
from tracekit.stages.units.jobs.ledger import attempt_leaves
from tracekit.stages.units.jobs.life import Attempt, Window, job_window, live
from tracekit.stages.units.jobs.notes import Notes, notes_of
from tracekit.stages.units.jobs.records import JobRecords, outside_steps
from tracekit.stages.units.jobs.runs import split_runs

JOB_SCHEMA = pl.Schema({
    "job_id": pl.String, "name": pl.String, "accelerators": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64,
    "is_ended": pl.Boolean,
    "attempts_inferred": pl.Boolean, "span_count": pl.Int64,
})  # fmt: skip
ATTEMPT_SCHEMA = pl.Schema({
    "job_id": pl.String, "attempt": pl.Int64, "outcome": pl.String, "world_size": pl.Int64, "begun_ns": pl.Int64,
    "all_granted_ns": pl.Int64, "first_step_ns": pl.Int64, "stopped_ns": pl.Int64, "declared_ns": pl.Int64,
    "end_ns": pl.Int64, "first_step": pl.Int64, "made_step": pl.Int64, "kept_step": pl.Int64,
    "durable_step": pl.Int64,
})  # fmt: skip
LEAF_SCHEMA = pl.Schema({
    "job_id": pl.String, "attempt": pl.Int64, "leaf": pl.String, "owner": pl.String, "accelerators": pl.Int64,
    "each_ns": pl.Int64, "is_derived": pl.Boolean,
})  # fmt: skip
INCIDENT_SCHEMA = pl.Schema({
    "job_id": pl.String(), "attempt": pl.Int64(), "kind": pl.String(), "owner": pl.String(), "rule": pl.String(),
    "stage": pl.String(), "manner": pl.String(), "ranks": pl.List(pl.Int64), "hosts": pl.List(pl.String),
    "message": pl.String(), "source": pl.String(), "resource_id": pl.Int64(), "trace_id": pl.String(),
    "span_id": pl.UInt64(),
    "onset_ns": pl.Int64(), "onset_slack_ns": pl.Int64(), "declared_ns": pl.Int64(), "recovered_ns": pl.Int64(),
    "recovery": pl.String(), "resumed_step": pl.Int64(), "blast_radius": pl.Int64(),
})  # fmt: skip
MEMBER_SCHEMA = pl.Schema({
    "job_id": pl.String, "attempt": pl.Int64, "rank": pl.Int64, "host": pl.String, "role": pl.String,
    "manner": pl.String, "time_ns": pl.Int64, "message": pl.String,
})  # fmt: skip
NOTE_SCHEMA = pl.Schema({"job_id": pl.String, "note": pl.String, "count": pl.Int64, "text": pl.String})

FAILURE_LEAVES = ("job.lost_work", "job.detect", "job.recover", "unsplit(step|job.lost_work)")
"""Leaves that belong to whoever owns the cause of their attempt's end."""


@dataclass(frozen=True, eq=False)
class JobFrames:
    """One job, or several runs under one name: frames with the columns of the schemas of their names."""

    jobs: pl.DataFrame
    attempts: pl.DataFrame
    leaves: pl.DataFrame
    incidents: pl.DataFrame
    members: pl.DataFrame
    notes: pl.DataFrame


def build_job(records: JobRecords, *, owners: dict[str, str]) -> JobFrames:
    """The units of one job, from nothing but its records; `owners` gives the owner of each leaf.

    The result does not depend on the order in which the records arrived. Records without any span of the job level
    give empty frames.
    """
    runs = [run for run in split_runs(records) if run.spans.height]
    built = [_build(run, records.job, owners, run_count=len(runs)) for run in runs]
    rows: list[list[pl.DataFrame]] = [list(frames) for frames in zip(*built, strict=True)]
    schemas = (JOB_SCHEMA, ATTEMPT_SCHEMA, LEAF_SCHEMA, INCIDENT_SCHEMA, MEMBER_SCHEMA, NOTE_SCHEMA)
    if not built:
        return JobFrames(*(pl.DataFrame(schema=schema) for schema in schemas))
    return JobFrames(*(pl.concat(frames) for frames in rows))


def _build(records: JobRecords, name: str, owners: dict[str, str], *, run_count: int) -> tuple[pl.DataFrame, ...]:
    records, shifts = aligned(records)
    numbered = number_attempts(records.spans)
    window = job_window(records.spans, records.processes, records.held)
    events = _events_of_attempts(with_classes(records.events), numbered.spans)
    attempts = live(numbered.spans, events, window)
    accelerators = _accelerators(records, attempts)
    is_ended = _is_ended(window, attempts)
    told = Notes(numbered.is_inferred, shifts, window, is_ended, run_count)
    job = {
        "job_id": records.job, "name": name, "accelerators": accelerators,
        "start_ns": window.start_ns, "end_ns": window.end_ns,
        "is_ended": is_ended, "attempts_inferred": numbered.is_inferred,
        "span_count": records.spans.filter(outside_steps()).height,
    }  # fmt: skip
    return (
        pl.DataFrame([job], schema=JOB_SCHEMA),
        pl.DataFrame([_told(records.job, one, job) for one in attempts], schema=ATTEMPT_SCHEMA),
        _leaves(records, attempts, window, accelerators, owners),
        _incidents(records.job, attempts),
        _members(records.job, attempts, events),
        notes_of(records, attempts, told, accelerators),
    )


def _events_of_attempts(events: pl.DataFrame, spans: pl.DataFrame) -> pl.DataFrame:
    """Events with the attempt of their span or process, else of the time they fall in."""
    inside = spans.filter(pl.col("attempt").is_not_null())
    if inside.is_empty():
        return events.with_columns(attempt=pl.lit(None, dtype=pl.Int32))
    by_resource = (
        inside.group_by("resource_id")
        .agg(of_process=pl.col("attempt").unique())
        .filter(pl.col("of_process").list.len() == 1)
        .with_columns(pl.col("of_process").list.first())
    )
    by_span = inside.select("trace_id", "span_id", of_span="attempt").unique(["trace_id", "span_id"])
    ends = inside.group_by("attempt").agg(until_ns=pl.col("end_ns").max()).sort("until_ns")
    joined = (
        events.join(by_span, on=["trace_id", "span_id"], how="left")
        .join(by_resource, on="resource_id", how="left")
        .sort("time_ns")
        .join_asof(ends.rename({"attempt": "of_time"}), left_on="time_ns", right_on="until_ns", strategy="forward")
    )
    last = ends["attempt"][-1]
    attempt = pl.coalesce("of_span", "of_process", "of_time", pl.lit(last)).cast(pl.Int32)
    return joined.with_columns(attempt=attempt).drop("of_span", "of_process", "of_time", "until_ns")


def _accelerators(records: JobRecords, attempts: list[Attempt]) -> int:
    """Accelerators requested: told, else the largest world, else the processes that were seen."""
    told = most_of(most(records.spans["accelerators"]), most(records.processes["world_size"]))
    seen = max((int(attempt.members["weight"].sum()) for attempt in attempts), default=0)
    return max(seen, 1) if told is None else told


def _is_ended(window: Window, attempts: list[Attempt]) -> bool:
    """Whether the job is over: told, or all processes of its last attempt closed their outermost span."""
    if window.is_ended or not attempts:
        return window.is_ended
    last = attempts[-1]
    closed = last.spans.filter(pl.col("phase") == "attempt")
    seen = last.members.height
    return closed.filter(pl.col("rank").is_null()).height > 0 or (0 < seen <= closed["rank"].n_unique())


def _outcome(attempt: Attempt, job: dict[str, Any]) -> str:
    if attempt.is_failed:
        return "failed"
    if not attempt.is_last:
        return "stopped"
    return "done" if job["is_ended"] else "running"


def _told(name: str, attempt: Attempt, job: dict[str, Any]) -> dict[str, Any]:
    progress, made = attempt.progress, attempt.progress.made_step
    first = least(attempt.members["first_ns"])
    kept = made if attempt.kept_before is None or made is None else min(made, attempt.kept_before - 1)
    return {
        "job_id": name, "attempt": attempt.number, "outcome": _outcome(attempt, job), "world_size": attempt.world_size,
        "begun_ns": attempt.begun_ns, "all_granted_ns": attempt.all_granted_ns, "first_step_ns": first,
        "stopped_ns": attempt.stopped_ns, "declared_ns": attempt.declared_ns, "end_ns": attempt.end_ns,
        "first_step": progress.first_step, "made_step": made, "kept_step": kept,
        "durable_step": progress.durable_step,
    }  # fmt: skip


def _leaves(
    records: JobRecords, attempts: list[Attempt], window: Window, accelerators: int, owners: dict[str, str]
) -> pl.DataFrame:
    # Before the first attempt, and where there is none, nothing is known of the job but that it waits.
    stages = with_slow_compute(records.step_stages, records.spans, records.processes)
    frames = []
    for attempt in attempts:
        found = attempt_leaves(
            attempt, accelerators=accelerators, step_stages=stages, grants=records.grants,
            held=records.held,
        )  # fmt: skip
        frames.append(found.select(
            pl.lit(records.job).alias("job_id"), pl.lit(attempt.number, dtype=pl.Int64).alias("attempt"), "leaf",
            pl.col("leaf").replace_strict(_owners(attempt, owners), default=UNKNOWN_OWNER).alias("owner"),
            "accelerators", "each_ns", "is_derived",
        ))  # fmt: skip
    if not frames:
        waited = window.end_ns - window.start_ns
        row = (records.job, None, "job.queue", owners.get("job.queue", UNKNOWN_OWNER), accelerators, waited, False)
        return pl.DataFrame([row], schema=LEAF_SCHEMA, orient="row")
    return pl.concat(frames).cast(LEAF_SCHEMA)


def _owners(attempt: Attempt, owners: dict[str, str]) -> dict[str, str]:
    """Owners of leaves in an attempt: time lost to a failure belongs to whoever owns its cause."""
    if attempt.cause is None:
        return owners
    return owners | dict.fromkeys(FAILURE_LEAVES, attempt.cause.owner)


def _incidents(name: str, attempts: list[Attempt]) -> pl.DataFrame:
    saved: set[int] = set()
    has_saves = any(attempt.progress.saves.height for attempt in attempts)
    rows = []
    for at, attempt in enumerate(attempts):
        saved |= set(attempt.progress.saves["step"].to_list())
        if attempt.cause is not None:
            after = attempts[at + 1] if at + 1 < len(attempts) else None
            rows.append(_incident(name, attempt, attempt.cause, after, saved if has_saves else None))
    return pl.DataFrame(rows, schema=INCIDENT_SCHEMA)


def _incident(
    name: str, attempt: Attempt, cause: Cause, after: Attempt | None, saved: set[int] | None
) -> dict[str, Any]:
    ranks = attempt.members.height
    resumed = None if after is None or after.progress.first_step is None else after.progress.first_step - 1
    return {
        "job_id": name, "attempt": attempt.number, "kind": cause.kind, "owner": cause.owner, "rule": cause.rule,
        "stage": _stage(attempt), "manner": _manner(attempt, cause), "ranks": cause.ranks, "hosts": cause.hosts,
        "message": cause.message, "source": cause.source, "resource_id": cause.service_resource,
        "trace_id": cause.trace_id, "span_id": cause.span_id, "onset_ns": attempt.stopped_ns,
        "onset_slack_ns": attempt.onset_slack_ns, "declared_ns": attempt.declared_ns,
        "recovered_ns": None if after is None else least(after.members["first_ns"]),
        "recovery": _recovery(attempt, resumed, saved), "resumed_step": resumed,
        "blast_radius": max(ranks - len(cause.ranks), 0),
    }  # fmt: skip


def _stage(attempt: Attempt) -> str:
    """Where the attempt was when it failed."""
    if attempt.members["first_ns"].drop_nulls().len():
        return "step"
    if attempt.members["load_ns"].drop_nulls().len():
        return "job.checkpoint_load"
    return "job.init" if attempt.members.height else "job.provision"


def _manner(attempt: Attempt, cause: Cause) -> str:
    """explicit: a process of the culprit ended or raised; implicit: it hung, and others had to notice."""
    culprit = attempt.members.filter(pl.col("rank").is_in(cause.ranks))
    ends = least(culprit["exit_ns"])
    if ends is None or cause.onset_ns is None:
        return "implicit" if cause.rule == "silent" else "unknown"
    others = least(attempt.members.filter(~pl.col("rank").is_in(cause.ranks))["exit_ns"])
    ended_with_them = others is not None and ends >= others
    said_itself = cause.source in ("event", "status")
    late_ns = ends - cause.onset_ns
    return "implicit" if ended_with_them and late_ns > 0 and not (said_itself and late_ns < NS_PER_S) else "explicit"


NS_PER_S = 1_000_000_000


def _recovery(attempt: Attempt, resumed: int | None, saved: set[int] | None) -> str:
    """Whether the step resumed from was saved: saved, unsaved, from the start, unknown, or none."""
    if resumed is None:
        return "none" if attempt.is_last else "unknown"
    first = attempt.progress.first_step
    if resumed < 1 or (first is not None and resumed < first):
        return "saved" if saved and resumed in saved else "from the same step"
    if saved is None:
        return "unknown"
    return "saved" if resumed in saved else "unsaved"


def _members(name: str, attempts: list[Attempt], events: pl.DataFrame) -> pl.DataFrame:
    said = events.partition_by("attempt", as_dict=True)
    frames = [
        roles(said.get((attempt.number,), events.clear()), attempt.members, attempt.cause).select(
            pl.lit(name).alias("job_id"), *list(MEMBER_SCHEMA)[1:]
        )
        for attempt in attempts
        if attempt.cause is not None
    ]
    return pl.concat([pl.DataFrame(schema=MEMBER_SCHEMA), *(frame.cast(MEMBER_SCHEMA) for frame in frames)])
