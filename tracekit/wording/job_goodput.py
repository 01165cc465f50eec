"""What the ledger of a job says in one sentence."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis import GoodputAnswer, JobGoodput, words_for
from tracekit.schema import UNATTRIBUTED, JobStage, StepStage, unsplit
from tracekit.wording.numbers import share_text
from tracekit.wording.whatif import savings_sentence

_NS_PER_HOUR = 3_600_000_000_000
_NAMED = 3
_WORTH_NAMING = 0.005
LEAF_WORDS = {
    JobStage.QUEUE: "was queued",
    JobStage.GANG_WAIT: "waited for the rest of the accelerators",
    JobStage.PROVISION: "went to image pulls, container starts and health checks",
    JobStage.INIT: "went to starting up",
    JobStage.CHECKPOINT_LOAD: "went to restores",
    JobStage.LOST_WORK: "was work that had to be made again",
    JobStage.DETECT: "passed before failures were noticed",
    JobStage.RECOVER: "went to teardown and recovery",
    JobStage.CHECKPOINT_SAVE: "stood still for saves",
    JobStage.CUSTOM: "went to evaluation and other work",
    JobStage.DEGRADED_IDLE: "was allocated but idle",
    JobStage.POST: "passed between the last step and the release",
    StepStage.SLOW_COMPUTE: "was compute above its reference",
    StepStage.COPY: "went to copies",
    StepStage.EXPOSED_COMM: "went to exposed communication",
    StepStage.SLOW_NETWORK: "went to slow transfers",
    StepStage.PIPELINE_BUBBLE: "was pipeline bubble",
    StepStage.STRAGGLER_WAIT: "was spent waiting for the slowest rank",
    StepStage.DATA_LOAD: "was spent waiting for data",
    StepStage.HOST_BOUND: "was spent waiting for the host",
    StepStage.LAUNCH_OVERHEAD: "went between kernels",
    StepStage.HARDWARE_IDLE: "is idle hardware without telemetry",
    UNATTRIBUTED: "is explained by no span",
    unsplit(JobStage.KEPT_STEPS, JobStage.POST): "has steps without numbers, which do not tell what was kept",
}
"""Leaves as the end of a sentence that begins with a share."""


@words_for(JobGoodput)
def job_goodput_summary(answer: JobGoodput) -> str:
    """A sentence a job: how much of its time trained, where most of the rest went, what most of that was."""
    sentences = []
    for job in answer.jobs.iter_rows(named=True):
        mine = pl.col("job_id") == job["job_id"]
        ledger = job_sentence(job, answer.leaves.filter(mine), answer.lost.filter(mine))
        parts = [ledger, skipped_sentence(job, answer), savings_sentence(answer.savings.filter(mine))]
        sentences.append(" ".join(filter(None, parts)))
    return "\n".join(sentences)


@words_for(GoodputAnswer)
def goodput_summary(answer: GoodputAnswer) -> str:
    """The sentences of serving, then of each job; what there is instead of what was asked for."""
    said = [part.summary for part in (answer.serving, answer.training) if part is not None and part.summary]
    return "\n".join(said) or nothing_text(answer.job, answer.known_jobs, answer.silent_jobs)


def nothing_text(job: str | None, known: tuple[str, ...], silent: tuple[str, ...] = ()) -> str:
    """Why there is no ledger, and of whom there would be one."""
    if told := [name for name in silent if job in (None, name)]:
        return (
            f"There are spans of job {', '.join(map(repr, told[:_NAMED]))}, but none that is its start, a step, a save "
            "or its end (tracekit.stage: init, step, checkpoint_save, ...): there is no ledger of it."
        )
    if job is None or not known:
        return "The store holds no training job."
    return f"The store holds no job {job!r}; there are {', '.join(map(repr, known))}."


def hours_text(ns: int) -> str:
    """Accelerator time in hours, or seconds below a tenth of an hour."""
    hours = ns / _NS_PER_HOUR
    return (
        f"{ns / 1e9:,.0f} accelerator-seconds"
        if hours < 0.1
        else f"{hours:,.{0 if hours >= 10 else 2}f} accelerator-hours"
    )


def job_sentence(job: dict[str, Any], leaves: pl.DataFrame, lost: pl.DataFrame) -> str:
    """How much of a job's time trained, where most of the rest went, and what most of that was."""
    name = f"Job {job['job_id']!r}" if job["job_id"] else "The job without name"
    head = f"{name}: {share_text(job['goodput'])} of {hours_text(int(job['total_ns']))} trained"
    is_other = ~pl.col("leaf").is_in([str(JobStage.KEPT_STEPS), str(StepStage.COMPUTE)])
    rest = leaves.filter(is_other, pl.col("share") >= _WORTH_NAMING)
    named = [f"{share_text(row['share'])} {_what(row['leaf'])}" for row in rest.head(_NAMED).iter_rows(named=True)]
    sentence = "; ".join([head, *named])
    return f"{sentence}{_of_failures(job, lost)}{_cost(job)}.{_caveats(job)}"


def skipped_sentence(job: dict[str, Any], answer: JobGoodput) -> str:
    """What steps took whose gradients overflowed; empty for none."""
    skipped = answer.skipped.filter(pl.col("job_id") == job["job_id"])
    if skipped.is_empty():
        return ""
    ns, steps = int(skipped["ns"].sum()), len(skipped)
    which = "1 step was" if steps == 1 else f"{steps:,} steps were"
    return (
        f"{which} skipped because gradients overflowed, {_range_text(skipped)}: their work, {hours_text(ns)} or "
        f"{share_text(ns / int(job['total_ns']))}, changed nothing, though it counts as trained here."
    )


def _range_text(steps: pl.DataFrame) -> str:
    numbers = steps["step"].sort().to_list()
    first, last = numbers[0], numbers[-1]
    return f"step {first}" if first == last else f"between steps {first} and {last}"


def _what(leaf: str) -> str:
    return LEAF_WORDS.get(leaf, f"was {leaf}")


def _of_failures(job: dict[str, Any], lost: pl.DataFrame) -> str:
    """What failures took in all, and the dearest one."""
    failed = lost.filter(pl.col("cause").is_not_null(), pl.col("cause") != "planned stop")
    if failed.is_empty() or not job["failed_count"]:
        return ""
    share = float(failed["share"].sum())
    most = failed.group_by("cause", maintain_order=True).agg(pl.col("share").sum()).sort("share", descending=True)
    failures = "1 failure" if job["failed_count"] == 1 else f"{job['failed_count']} failures"
    return f"; {failures} took {share_text(share)}, of it {share_text(float(most['share'][0]))} {most['cause'][0]}"


def _cost(job: dict[str, Any]) -> str:
    return "" if job["cost"] is None else f"; {job['lost_cost']:,.2f} of {job['cost']:,.2f} paid did not train"


def _caveats(job: dict[str, Any]) -> str:
    said = []
    if job["inside_known"] < 1 and job["rg"] > 0:
        which = "No" if job["inside_known"] == 0 else f"Only {share_text(job['inside_known'])} of the kept time has a"
        said.append(f" {which} span tells what happened inside steps: they count as trained.")
    if not job["is_ended"]:
        said.append(" Its end was not seen: it counts until the last thing seen.")
    return "".join(said)
