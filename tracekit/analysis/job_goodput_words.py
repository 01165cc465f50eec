"""What the ledger of a job says in one sentence."""

from __future__ import annotations

from typing import Any

import polars as pl

_NS_PER_HOUR = 3_600_000_000_000
_NAMED = 3
_WORTH_NAMING = 0.005
LEAF_WORDS = {
    "job.queue": "was queued",
    "job.gang_wait": "waited for the rest of the accelerators",
    "job.provision": "went to image pulls, container starts and health checks",
    "job.init": "went to starting up",
    "job.checkpoint_load": "went to restores",
    "job.lost_work": "was work that had to be made again",
    "job.detect": "passed before failures were noticed",
    "job.recover": "went to teardown and recovery",
    "job.checkpoint_save": "stood still for saves",
    "job.custom": "went to evaluation and other work",
    "job.degraded_idle": "was allocated but idle",
    "job.post": "passed between the last step and the release",
    "step.slow_compute": "was compute above its reference",
    "step.copy": "went to copies",
    "step.exposed_comm": "went to exposed communication",
    "step.slow_network": "went to slow transfers",
    "step.pipeline_bubble": "was pipeline bubble",
    "step.straggler_wait": "was spent waiting for the slowest rank",
    "step.data_load": "was spent waiting for data",
    "step.host_bound": "was spent waiting for the host",
    "step.launch_overhead": "went between kernels",
    "step.hardware_idle": "is idle hardware without telemetry",
    "unattributed": "is explained by no span",
}
"""Leaves as the end of a sentence that begins with a share."""


def share_text(share: float) -> str:
    """A share as a person reads it: whole percents, one digit below ten."""
    percent = share * 100
    return f"{percent:.0f} %" if percent >= 10 else f"{percent:.1f} %"


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
    rest = leaves.filter(~pl.col("leaf").is_in(["step", "step.compute"]), pl.col("share") >= _WORTH_NAMING)
    named = [f"{share_text(row['share'])} {_what(row['leaf'])}" for row in rest.head(_NAMED).iter_rows(named=True)]
    sentence = "; ".join([head, *named])
    return f"{sentence}{_of_failures(job, lost)}{_cost(job)}.{_caveats(job)}"


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
