"""Which stages and places a fault parameter strikes: the culprits that a right answer names."""

from __future__ import annotations

from dataclasses import dataclass

from generators.parameters import Parameter, Values
from generators.serving.parameters import FAULT, is_wrong

_STRUCK: dict[str, tuple[str, ...]] = {
    "fault.step_factor": ("eng.decode", "eng.prefill"),
    "fault.router_share": ("eng.queue", "eng.prefill", "eng.decode"),
    "fault.max_num_seqs": ("eng.queue",),
    "fault.kv_factor": ("eng.queue", "eng.preempt_wait", "eng.recompute"),
    "fault.chunking_off": ("eng.decode", "eng.queue"),
    "fault.cold_prefix": ("eng.prefill",),
    "fault.link_factor": ("kv.transfer",),
    "fault.quota_factor": ("gw.ratelimit",),
    "fault.max_queue": ("eng.queue",),
    "fault.slow_reader_share": ("out.stream",),
    "fault.abort_share": (),
    "fault.attempt_timeout_s": ("retry",),
    "fault.crash": ("retry", "eng.recompute"),
    "fault.spec_acceptance": ("eng.decode",),
    "fault.error_share": (),
}
_ON_REPLICA = (
    "fault.step_factor", "fault.router_share", "fault.max_num_seqs", "fault.kv_factor", "fault.chunking_off",
    "fault.cold_prefix", "fault.link_factor", "fault.max_queue", "fault.crash", "fault.spec_acceptance",
    "fault.cold_start", "fault.error_share",
)  # fmt: skip


@dataclass(frozen=True)
class Culprit:
    """One thing that was wrong: the parameter that made it so, the stages it strikes first, where."""

    parameter: str
    value: object
    stages: tuple[str, ...]
    host: str | None
    """The host concerned; None where it is not one host."""


def culprits(values: Values) -> list[Culprit]:
    """What is wrong in a run with these values, in the order of the parameter table; empty for a run without
    fault.
    """
    return [_culprit(parameter, values) for parameter in FAULT if is_wrong(parameter, values)]


def _culprit(parameter: Parameter, values: Values) -> Culprit:
    name, replica = parameter.name, int(values["fault.replica"])
    stage = str(values["fault.delay_stage"])
    struck = _struck(name, stage, replica)
    host = "gateway-0" if struck and struck[0].startswith("gw.") else None
    if name in _ON_REPLICA and replica >= 0:
        host = f"worker-{replica}"
    return Culprit(name, values[name], struck, host)


def _struck(name: str, delay_stage: str, replica: int) -> tuple[str, ...]:
    """Stages that a fault strikes; while only some replicas start, requests wait in front of the others."""
    if name == "fault.delay_ms":
        return (delay_stage,)
    if name == "fault.cold_start":
        return ("gw.queue",) if replica < 0 else ("eng.queue",)
    return _STRUCK[name]
