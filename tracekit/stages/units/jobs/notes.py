"""What was noticed about the records of a job, and what it does to the answer: told, never repaired in silence."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from tracekit.stages.units.jobs.extremes import most
from tracekit.stages.units.jobs.life import Attempt, Window
from tracekit.stages.units.jobs.records import JobRecords

_COUNTED = 3


@dataclass(frozen=True, eq=False)
class Notes:
    """What earlier steps noticed: whether attempts were inferred, hosts whose clocks were moved, the job's window."""

    is_inferred: bool
    shifts: pl.DataFrame
    window: Window
    is_ended: bool
    run_count: int = 1


def notes_of(records: JobRecords, attempts: list[Attempt], told: Notes, accelerators: int) -> pl.DataFrame:
    """One row a kind of finding: `job_id`, `note` (a stable code), `count`, `text` (a sentence)."""
    found = [
        *_of_job(records, told),
        *_of_attempts(attempts, told.window, has_scheduler=records.held.height > 0),
        *_of_steps(attempts),
        *_of_worlds(attempts, accelerators),
    ]
    schema = {"job_id": pl.String, "note": pl.String, "count": pl.Int64, "text": pl.String}
    return pl.DataFrame([(records.job, *row) for row in found if row[1]], schema=schema, orient="row")


Finding = tuple[str, int, str]


def _of_job(records: JobRecords, told: Notes) -> list[Finding]:
    # Processes of the job without name have none to be missing.
    adopted = int(records.processes["is_adopted"].sum()) if records.job else 0
    moved = told.shifts.height
    largest = most(told.shifts["shift_ns"].abs()) or 0
    left_ns = most(told.shifts["residual_ns"]) or 0
    is_release_lost = told.is_ended and not told.window.is_ended and records.held.height > 0
    return [
        ("attempts_inferred", int(told.is_inferred),
         "attempts are not told, or one number is told of several: they are cut where ranks or steps begin again"),
        ("job_not_ended", int(not told.is_ended), "its end was not seen: it counts until the last thing seen"),
        ("release_unseen", int(is_release_lost),
         "neither its own span nor its release was seen: it counts until the last thing seen, and may have been held "
         f"{_interval_ns(records.held) / 1e9:,.3g} s longer"),
        ("several_runs", told.run_count if told.run_count > 1 else 0,
         f"{told.run_count} runs have this name: each is a job of its own, with its number behind the name"),
        ("job_id_missing", adopted,
         f"{adopted} processes do not name the job: they are its own by their spans or traces; their steps are looked "
         "at apart from those of processes that do"),
        ("clocks_apart", moved,
         f"clocks of {moved} hosts are up to {largest / 1e9:,.3g} s off: moved to where all ranks are ready together, "
         f"which leaves them up to {left_ns / 1e9:,.2g} s apart"),
    ]  # fmt: skip


def _of_attempts(attempts: list[Attempt], window: Window, *, has_scheduler: bool) -> list[Finding]:
    overlapping = [
        one.number for one in attempts
        if (most(one.spans.filter(~pl.col("phase").is_in(["write", "attempt"]))["start_ns"]) or 0) > one.end_ns
        and one.end_ns < window.end_ns
    ]  # fmt: skip
    without = [one.number for one in attempts if one.progress.made_step is None and one.members.height]
    unsure = [one.number for one in attempts if one.onset_slack_ns]
    ungranted = [
        one.number for one in attempts
        if not one.spans.filter(pl.col("phase").is_in(["queue", "gang_wait"])).height
        and one.all_granted_ns > one.begun_ns and has_scheduler
    ]  # fmt: skip
    rootless = [one.number for one in attempts if not one.spans.filter(pl.col("phase") == "attempt").height]
    return [
        ("attempts_overlap", len(overlapping),
         f"{_attempts(overlapping, 'still has', 'still have')} spans after the next one began: what lies there is set "
         "aside"),
        ("attempts_without_root", len(rootless),
         _attempts(rootless, "has no span of its own", "have no span of their own")),
        ("grants_unseen", len(ungranted),
         f"nothing tells when {_attempts(ungranted, 'was', 'were')} granted accelerators: queue and gang_wait are "
         "told apart by the scheduler's gauge, to its interval, or count as queue"),
        ("attempts_without_steps", len(without), _attempts(without, "tells of no step", "tell of no step")),
        ("onset_unsure", len(unsure),
         f"nothing tells when {_attempts(unsure, 'broke', 'broke')}: taken as the middle of the step that was not "
         "finished"),
    ]  # fmt: skip


def _attempts(numbers: list[int], of_one: str, of_several: str) -> str:
    """What is said of some attempts, with the verb of one or of several."""
    return f"attempt {numbers[0]} {of_one}" if len(numbers) == 1 else f"attempts {_listed(numbers)} {of_several}"


def _interval_ns(held: pl.DataFrame) -> int:
    """Time between two readings of a gauge."""
    return int(held["time_ns"].sort().diff().median() or 0)  # type: ignore[arg-type]


def _of_steps(attempts: list[Attempt]) -> list[Finding]:
    skipped = repeated = overlapping = 0
    for one in attempts:
        steps = one.spans.filter(pl.col("phase") == "step", pl.col("step").is_not_null())
        numbers = steps["step"].unique().sort()
        skipped += 0 if numbers.is_empty() else int(numbers[-1]) - int(numbers[0]) + 1 - numbers.len()
        overlapping += _overlapping(steps)
        repeated += steps.height - steps.select("rank", "step").n_unique() if steps.height else 0
    return [
        ("steps_skipped", skipped, f"{skipped} step numbers are missing between others"),
        ("steps_overlap", overlapping, f"{overlapping} steps begin before the one before had ended: counted once"),
        ("steps_repeated", repeated, f"{repeated} step spans repeat a step of their rank inside one attempt"),
    ]


def _overlapping(steps: pl.DataFrame) -> int:
    before_ns = pl.col("end_ns").cum_max().shift(1).over("rank")
    ordered = steps.filter(pl.col("rank").is_not_null()).sort("rank", "start_ns", "end_ns")
    return ordered.filter(pl.col("start_ns") < before_ns).height


def _of_worlds(attempts: list[Attempt], accelerators: int) -> list[Finding]:
    missing = sum(
        max((one.world_size or 0) - int(one.members["weight"].sum()), 0) for one in attempts if one.members.height
    )
    beyond = sum(max(int(one.members["weight"].sum()) - (one.world_size or accelerators), 0) for one in attempts)
    worlds = {one.world_size for one in attempts if one.world_size}
    smaller = len(worlds) > 1
    return [
        ("processes_missing", missing,
         f"{missing} accelerators in the world of an attempt sent no span: their time follows the others"),
        ("world_exceeded", beyond,
         f"{beyond} more processes trained than the world of their attempt has ranks: they are in no sum"),
        ("world_changed", int(smaller),
         f"attempts run with {_listed(sorted(worlds))} of {accelerators} accelerators"),
    ]  # fmt: skip


def _listed(numbers: list[int]) -> str:
    head = ", ".join(map(str, numbers[:_COUNTED]))
    return head if len(numbers) <= _COUNTED else f"{head} and {len(numbers) - _COUNTED} more"
