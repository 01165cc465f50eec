"""The attempts of a job one after the other: when each began, stopped, was declared dead and ended, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import polars as pl

from tracekit.stages.units.jobs.causes import INITIATING
from tracekit.stages.units.jobs.extremes import first_known, least, least_of, most, most_of
from tracekit.stages.units.jobs.incidents import Cause, first_cause
from tracekit.stages.units.jobs.places import places
from tracekit.stages.units.jobs.progress import Progress, kept_before, progress_of

BEFORE_NS = 1_000_000_000
"""What was said so long before the last progress may still be about the failure: clocks and exports differ."""


@dataclass(frozen=True, eq=False)
class Attempt:
    """One attempt; its parts follow each other: begun, all granted, (processes), stopped, declared, end.

    kept_before: first step that was made again or lost; None where all was kept. onset_slack_ns: how far the
    onset may be off where nothing tells it. is_doubtful: whether a last step was kept is not known.
    """

    number: int
    spans: pl.DataFrame
    members: pl.DataFrame
    progress: Progress
    begun_ns: int
    end_ns: int
    all_granted_ns: int
    stopped_ns: int
    declared_ns: int
    world_size: int | None
    is_last: bool
    kept_before: int | None = None
    is_failed: bool = False
    is_doubtful: bool = False
    onset_slack_ns: int = 0
    cause: Cause | None = None


@dataclass(frozen=True)
class Window:
    """When a job was submitted and released, and whether its end was seen."""

    start_ns: int
    end_ns: int
    is_ended: bool


def job_window(spans: pl.DataFrame, processes: pl.DataFrame, held: pl.DataFrame) -> Window:
    """From the submission, or the first thing seen, to the release, or the last thing seen.

    held: readings of the accelerators that are held: `time_ns`, `accelerators`.
    """
    whole = spans.filter(pl.col("phase") == "job")
    released = spans.filter(pl.col("phase") == "post")
    seen_ns = least_of(least(spans["start_ns"]), least(processes["first_ns"])) or 0
    holding_ns = most(held.filter(pl.col("accelerators") > 0)["time_ns"])
    last_ns = most_of(most(spans["end_ns"]), most(processes["last_ns"]), holding_ns)
    told_ns = most_of(most(whole["end_ns"]), most(released["end_ns"]))
    return Window(
        start_ns=first_known(least(whole["start_ns"]), otherwise=seen_ns),
        end_ns=first_known(told_ns, last_ns, otherwise=seen_ns),
        is_ended=told_ns is not None,
    )


def live(spans: pl.DataFrame, events: pl.DataFrame, window: Window) -> list[Attempt]:
    """The attempts of a job in order.

    spans: with attempts, on one clock. events: with classes and attempts.
    """
    parts = spans.filter(pl.col("attempt").is_not_null()).partition_by("attempt", as_dict=True)
    ordered = sorted(parts.items(), key=lambda part: (least(part[1]["start_ns"]) or 0, part[0]))
    frames = [frame for _, frame in ordered]
    begun = _beginnings(frames, window)
    ends = [*begun[1:], window.end_ns]
    said = events.partition_by("attempt", as_dict=True)
    progress = [progress_of(frame) for frame in frames]
    bounds = kept_before(progress)
    return [
        _attempt(
            int(key[0]), frames[at], progress[at], bounds[at], said.get(key, events.clear()), begun[at], ends[at],
            is_last=at == len(frames) - 1,
        )
        for at, (key, _) in enumerate(ordered)
    ]  # fmt: skip


def of_scheduler(spans: pl.DataFrame, phase: str) -> pl.DataFrame:
    """Spans of a phase that are about the whole attempt and not one of its processes."""
    return spans.filter(pl.col("phase") == phase, pl.col("rank").is_null())


def hosts_of(spans: pl.DataFrame) -> list[str]:
    """Hosts of an attempt that have processes or are made ready for them; not those of its scheduler."""
    with_ranks = spans.filter(pl.col("rank").is_not_null())["host"]
    schedules = spans.filter(pl.col("rank").is_null(), pl.col("phase").is_in(["attempt", "queue", "gang_wait"]))["host"]
    provisioned = spans.filter(pl.col("phase") == "provision", ~pl.col("host").is_in(schedules.implode()))["host"]
    return sorted(pl.concat([with_ranks, provisioned]).drop_nulls().unique().to_list())


def _beginnings(frames: list[pl.DataFrame], window: Window) -> list[int]:
    """When each attempt began: told, else when the one before ended, else with its first span; never backwards."""
    begun = [window.start_ns]
    for before, frame in pairwise(frames):
        ended = [most(of_scheduler(before, phase)["end_ns"]) for phase in ("attempt", "recover")]
        told = [least(of_scheduler(frame, "attempt")["start_ns"]), *ended, least(frame["start_ns"])]
        first = first_known(*told, otherwise=begun[-1])
        begun.append(min(max(first, begun[-1]), window.end_ns))
    return begun


def _attempt(
    number: int, spans: pl.DataFrame, progress: Progress, bound: int | None, events: pl.DataFrame, begun_ns: int,
    end_ns: int, *, is_last: bool,
) -> Attempt:  # fmt: skip
    members = places(spans)
    stopped_ns = min(_stopped_ns(spans, members, progress, end_ns), end_ns)
    attempt = Attempt(
        number=number, spans=spans, members=members, progress=progress, begun_ns=begun_ns, end_ns=end_ns,
        all_granted_ns=min(max(_all_granted_ns(spans, begun_ns), begun_ns), end_ns), stopped_ns=stopped_ns,
        declared_ns=stopped_ns, world_size=most(spans["world_size"]), is_last=is_last, kept_before=bound,
    )  # fmt: skip
    return _failed(attempt, events) if _has_failed(attempt) else attempt


def _all_granted_ns(spans: pl.DataFrame, begun_ns: int) -> int:
    return first_known(
        most(spans.filter(pl.col("phase").is_in(["queue", "gang_wait"]))["end_ns"]),
        least(of_scheduler(spans, "provision")["start_ns"]),
        otherwise=begun_ns,
    )


def _stopped_ns(spans: pl.DataFrame, members: pl.DataFrame, progress: Progress, end_ns: int) -> int:
    """When an attempt that did not fail stopped: after its last step or save."""
    runs_ns = most(spans.filter(pl.col("phase") == "run")["end_ns"])
    return first_known(most_of(progress.last_ns, runs_ns), most(members["last_ns"]), otherwise=end_ns)


def _has_failed(attempt: Attempt) -> bool:
    """Errors at its end, a restart behind what it made, or no step at all before another attempt."""
    at_end = attempt.progress.last_ns or attempt.begun_ns
    errors = attempt.spans.filter(pl.col("is_error"), pl.col("end_ns") >= at_end)
    made = attempt.progress.made_step
    is_behind = attempt.kept_before is not None and made is not None and attempt.kept_before <= made
    return bool(errors.height) or is_behind or (made is None and not attempt.is_last)


def _failed(attempt: Attempt, events: pl.DataFrame) -> Attempt:
    """The attempt with its cause, onset, declaration, and what of it was kept."""
    last_ns = attempt.progress.last_ns
    since_ns = attempt.begun_ns if last_ns is None else last_ns - BEFORE_NS
    cause = first_cause(
        events, attempt.members, hosts_of(attempt.spans), world_size=attempt.world_size, progress_ns=last_ns,
        since_ns=since_ns,
    )  # fmt: skip
    declared_ns = _declared_ns(attempt, events, cause, since_ns)
    told_ns = _told_onset(attempt.spans, cause)
    floor_ns = attempt.begun_ns if last_ns is None else last_ns
    onset_ns, slack_ns = (told_ns, 0) if told_ns is not None else _likely_onset(attempt, declared_ns)
    onset_ns = min(max(onset_ns, floor_ns), declared_ns)
    bound, is_doubtful = _kept_of_failed(attempt)
    return replace(
        attempt, is_failed=True, cause=cause, stopped_ns=onset_ns, declared_ns=max(declared_ns, onset_ns),
        onset_slack_ns=slack_ns, kept_before=bound, is_doubtful=is_doubtful,
    )  # fmt: skip


def _told_onset(spans: pl.DataFrame, cause: Cause) -> int | None:
    detected_ns = least(spans.filter(pl.col("phase") == "detect")["start_ns"])
    return cause.onset_ns if detected_ns is None else detected_ns


def _likely_onset(attempt: Attempt, declared_ns: int) -> tuple[int, int]:
    """The middle of the step that was never finished, and half a step for how far off that may be."""
    last_ns = attempt.progress.last_ns
    if last_ns is None:
        return declared_ns, 0
    half_ns = min(_step_ns(attempt.progress) // 2, max(declared_ns - last_ns, 0) // 2)
    return last_ns + half_ns, half_ns


def _step_ns(progress: Progress) -> int:
    apart = progress.points.select(
        ns=pl.col("time_ns").diff() // pl.col("step").diff().cast(pl.Int64)
    )["ns"].drop_nulls()  # fmt: skip
    middle: Any = apart.median()
    return int(middle or 0)


def _declared_ns(attempt: Attempt, events: pl.DataFrame, cause: Cause, since_ns: int) -> int:
    """When the failure was known: told by the scheduler, else when the last process ended."""
    messages = events.filter(
        pl.col("rank").is_null(),
        ~pl.col("host").is_in(attempt.members["host"].drop_nulls().to_list()).fill_null(value=False),
        pl.col("role") != INITIATING,
        pl.col("time_ns") >= (cause.onset_ns or since_ns),
    )
    first = first_known(
        most(attempt.spans.filter(pl.col("phase") == "detect")["end_ns"]),
        least(of_scheduler(attempt.spans, "recover")["start_ns"]),
        least(messages["time_ns"]),
        most(attempt.members["exit_ns"]),
        most(attempt.members["last_ns"]),
        otherwise=attempt.end_ns,
    )
    return min(max(first, attempt.begun_ns), attempt.end_ns)


def _kept_of_failed(attempt: Attempt) -> tuple[int | None, bool]:
    """The first step that was lost; where nobody came after, what lies behind the last save is lost."""
    if attempt.kept_before is not None:
        return attempt.kept_before, False
    durable, made = attempt.progress.durable_step, attempt.progress.made_step
    if durable is not None:
        return durable + 1, False
    return None if made is None else attempt.progress.first_step, made is not None
