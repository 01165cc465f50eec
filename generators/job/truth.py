"""The truth of a job's life: its exact ledger, every failure with its first cause, beside the life without fault."""

from __future__ import annotations

from typing import Any

from generators.job.emission import host_name
from generators.job.ledger import LEAVES, Ledger, attempt_ledger, ledger
from generators.job.life import NONE, NS_PER_S, Attempt, Failure, Life, simulate
from generators.job.parameters import faults, without_fault
from generators.spans import Emission

STRUCK = {
    "fault.cause": ("job.lost_work", "job.detect", "job.recover"),
    "fault.image_factor": ("job.provision",),
    "fault.queue_factor": ("job.queue", "job.gang_wait"),
    "fault.load_factor": ("job.checkpoint_load",),
    "fault.stall_factor": ("job.checkpoint_save",),
}
"""Stages that each fault strikes first."""
OWNERS = {
    "step": "application", "job.queue": "platform", "job.gang_wait": "platform", "job.provision": "platform",
    "job.init": "application", "job.checkpoint_load": "platform", "job.checkpoint_save": "platform",
    "job.degraded_idle": "platform", "job.post": "application",
}  # fmt: skip
"""Who can do something about each leaf; time lost to a failure belongs to whoever owns its cause."""


def truth(life: Life, *, seed: int, emission: Emission) -> dict[str, Any]:
    """The truth as plain values for `truth.json`; docs/generators.md explains each key."""
    wrong = faults(life.values)
    other = simulate(without_fault(life.values), seed=seed) if wrong else life
    mine, without = (_accelerator_ns(one, ledger(one)) for one in (life, other))
    return {
        "culprits": [
            {"parameter": one.name, "value": life.values[one.name], "stages": list(STRUCK[one.name]),
             "host": _struck_host(life, one.name)}
            for one in wrong
        ],
        "fault_window_ns": None,
        "outcomes": {"done" if life.is_done else "failed": 1},
        "effect_ns": {leaf: mine[leaf] - without[leaf] for leaf in LEAVES if mine[leaf] != without[leaf]},
        "owners_ns": owners_ns(life),
        "units": [_unit(life, mine, without, emission)],
    }  # fmt: skip


def _struck_host(life: Life, name: str) -> str | None:
    injected = [one for one in failures(life) if one.is_injected]
    if name != "fault.cause" or not injected or injected[0].place == NONE:
        return None
    attempt = next(one for one in life.attempts if one.failure is injected[0])
    return host_name(int(attempt.host[injected[0].place]))


def failures(life: Life) -> list[Failure]:
    """What failed, in order."""
    return [attempt.failure for attempt in life.attempts if attempt.failure is not None]


def _accelerator_ns(life: Life, by_place: Ledger) -> dict[str, int]:
    """Nanoseconds of accelerators by leaf; beyond 64 bits where jobs are large and long."""
    per_host = int(life.values["job.per_host"])
    return {leaf: sum(by_place[leaf].tolist()) * per_host for leaf in LEAVES}


def owners_ns(life: Life) -> dict[str, int]:
    """Nanoseconds of accelerators by owner; they sum to the ledger."""
    total: dict[str, int] = {}
    for attempt in life.attempts:
        cause = attempt.failure.cause.owner if attempt.failure else "platform"
        for leaf, spent in _accelerator_ns(life, _full(attempt)).items():
            owner = OWNERS.get(leaf, cause)
            total[owner] = total.get(owner, 0) + spent
    post = (life.released_ns - life.attempts[-1].torn_ns) * int(life.values["job.accelerators"])
    total["application"] = total.get("application", 0) + post
    return total


def _full(attempt: Attempt) -> Ledger:
    """The attempt's ledger with all leaves."""
    found = attempt_ledger(attempt)
    zero = found["step"] * 0
    return {leaf: found.get(leaf, zero) for leaf in LEAVES}


def _unit(life: Life, mine: dict[str, int], without: dict[str, int], emission: Emission) -> dict[str, Any]:
    """The job: whole, ledger, attempts."""
    origin_ns = int(life.values["run.start_unix_s"]) * NS_PER_S
    accelerators = int(life.values["job.accelerators"])
    return {
        "trace_id": f"{int(emission.trace_high[0]):016x}{int(emission.trace_low[0]):016x}",
        "job": str(life.values["run.job"]), "outcome": "ok" if life.is_done else "failed",
        "accelerators": accelerators, "start_ns": origin_ns, "end_ns": origin_ns + life.released_ns,
        "total_ns": life.released_ns * accelerators, "stages_ns": {"job": {k: v for k, v in mine.items() if v}},
        "injected_ns": {}, "effect_ns": {k: mine[k] - without[k] for k in LEAVES if mine[k] != without[k]},
        "without_fault_ns": {"job": sum(without.values())},
        "attempts": [_told(life, attempt, origin_ns) for attempt in life.attempts],
    }  # fmt: skip


def _told(life: Life, attempt: Attempt, origin_ns: int) -> dict[str, Any]:
    """One attempt: its instants, its progress and how it ended."""
    spent = _accelerator_ns(life, _full(attempt))
    return {
        "attempt": attempt.number, "hosts": int(attempt.is_active.sum()), "begun_ns": origin_ns + attempt.begun_ns,
        "all_granted_ns": origin_ns + attempt.all_granted_ns, "first_step_ns": origin_ns + attempt.first_step_ns,
        "restored_step": attempt.first_step, "last_step": attempt.first_step + attempt.step_end_ns.size,
        "kept_step": attempt.kept_step, "end_ns": origin_ns + attempt.torn_ns,
        "failure": _failure(life, attempt, origin_ns), "stages_ns": {leaf: ns for leaf, ns in spent.items() if ns},
    }  # fmt: skip


def _failure(life: Life, attempt: Attempt, origin_ns: int) -> dict[str, Any] | None:
    failure = attempt.failure
    if failure is None:
        return None
    culprit = None if failure.place == NONE else host_name(int(attempt.host[failure.place]))
    rank = None
    if failure.place != NONE:
        order = int(attempt.is_active[: failure.place].sum())
        rank = order * int(life.values["job.per_host"])
    return {
        "cause": failure.cause.name, "kind": failure.cause.kind, "owner": failure.cause.owner,
        "manner": "implicit" if failure.hangs else "explicit", "host": culprit, "first_rank": rank,
        "injected": failure.is_injected, "onset_ns": origin_ns + failure.onset_ns,
        "declared_ns": origin_ns + failure.declared_ns,
        "victims": int(attempt.is_active.sum()) - (failure.place != NONE),
    }  # fmt: skip
