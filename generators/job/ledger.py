"""The exact ledger of a job: every requested accelerator's time from submission to release in one leaf."""

from __future__ import annotations

import numpy as np

from generators.job.life import NONE, Attempt, Life

LEAVES = (
    "step", "job.queue", "job.gang_wait", "job.provision", "job.init", "job.checkpoint_load", "job.lost_work",
    "job.detect", "job.recover", "job.checkpoint_save", "job.degraded_idle", "job.post",
)  # fmt: skip
"""Stage codes; `step` is the time of steps that no later attempt repeated."""

Ledger = dict[str, np.ndarray]
"""Nanoseconds by leaf, one element a place."""


def ledger(life: Life) -> Ledger:
    """Nanoseconds of each place by leaf; over the leaves every place sums to the life of the job."""
    total = {leaf: np.zeros(life.places, np.int64) for leaf in LEAVES}
    for attempt in life.attempts:
        for leaf, lengths_ns in attempt_ledger(attempt).items():
            total[leaf] += lengths_ns
    total["job.post"] += life.released_ns - life.attempts[-1].torn_ns
    return total


def attempt_ledger(attempt: Attempt) -> Ledger:
    """The same for one attempt, from its beginning to the end of its processes."""
    empty = attempt.host == NONE
    idle = ~attempt.is_active & ~empty
    parts = {leaf: np.where(attempt.is_active, lengths, 0) for leaf, lengths in _active(attempt).items()}
    queued_ns = np.minimum(attempt.granted_ns, attempt.torn_ns) - attempt.begun_ns
    parts["job.queue"] = np.where(attempt.is_active, parts["job.queue"], queued_ns)
    parts["job.degraded_idle"] = np.where(idle | empty, attempt.torn_ns - attempt.begun_ns - queued_ns, 0).astype(
        np.int64
    )
    return parts


def _active(attempt: Attempt) -> Ledger:
    """Leaves of a place that runs."""
    committed_ns, saved_ns = _kept(attempt)
    one = np.ones(attempt.host.size, np.int64)
    ran_ns = attempt.stopped_ns - attempt.first_step_ns
    declared_ns = attempt.failure.declared_ns if attempt.failure else attempt.stopped_ns
    return {
        "job.queue": attempt.granted_ns - attempt.begun_ns,
        "job.gang_wait": attempt.all_granted_ns - attempt.granted_ns,
        "job.provision": attempt.process_ns - attempt.all_granted_ns,
        "job.init": attempt.first_step_ns - attempt.process_ns - (attempt.restored_ns - attempt.connected_ns),
        "job.checkpoint_load": one * (attempt.restored_ns - attempt.connected_ns),
        "step": one * committed_ns,
        "job.checkpoint_save": one * saved_ns,
        "job.lost_work": one * (ran_ns - committed_ns - saved_ns),
        "job.detect": one * (declared_ns - attempt.stopped_ns),
        "job.recover": one * (attempt.torn_ns - declared_ns),
    }


def _kept(attempt: Attempt) -> tuple[int, int]:
    """Time of steps that were not repeated, and of the saves that followed them."""
    kept = attempt.kept_step - attempt.first_step
    if kept <= 0:
        return 0, 0
    saves = int((attempt.saved_step <= attempt.kept_step).sum())
    # The save after the last kept step has ended too, else the step would not have been kept.
    between = int((attempt.saved_step < attempt.kept_step).sum()) * attempt.stall_ns
    until_ns = int(attempt.step_end_ns[kept - 1]) - attempt.first_step_ns
    return until_ns - between, saves * attempt.stall_ns
