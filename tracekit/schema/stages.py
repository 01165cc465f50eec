"""Codes of the stage taxonomy: where time can go.

What each means, its windows, layer and owner are rows of the table `stages`, laid down by
`queries/schema/3_stages.sql`; a test compares the codes there with the ones here.
"""

from __future__ import annotations

from enum import StrEnum

UNATTRIBUTED = "unattributed"
"""Time that no span or attribute explains; of any kind of unit."""

BETWEEN_STEPS = "between steps"
"""Operation of such time between two steps of a rank."""

_UNSPLIT, _UNSPLIT_END = "unsplit(", ")"
_EDGE = "edge:"


class ServingStage(StrEnum):
    """Stages of a request."""

    CLIENT_NET = "client.net"
    GW_INGRESS = "gw.ingress"
    GW_AUTH = "gw.auth"
    GW_RATELIMIT = "gw.ratelimit"
    GW_CACHE = "gw.cache"
    GW_GUARDRAIL = "gw.guardrail"
    GW_QUEUE = "gw.queue"
    GW_ROUTE = "gw.route"
    NET_DISPATCH = "net.dispatch"
    FE_PREPROCESS = "fe.preprocess"
    FE_DISPATCH = "fe.dispatch"
    ENG_GRAMMAR = "eng.grammar"
    ENG_QUEUE = "eng.queue"
    ENG_ENCODE = "eng.encode"
    KV_LOAD = "kv.load"
    ENG_PREFILL = "eng.prefill"
    KV_BOOTSTRAP = "kv.bootstrap"
    KV_TRANSFER = "kv.transfer"
    ENG_DECODE_WAIT = "eng.decode_wait"
    ENG_DECODE = "eng.decode"
    ENG_PREEMPT_WAIT = "eng.preempt_wait"
    ENG_RECOMPUTE = "eng.recompute"
    ENG_STALL = "eng.stall"
    OUT_DETOK = "out.detok"
    OUT_STREAM = "out.stream"
    UPSTREAM = "upstream"
    RETRY = "retry"
    STARTUP = "lifecycle.startup"
    """Start of an engine: a stage of no request, but of what serves them."""


class JobStage(StrEnum):
    """Stages of a training job outside its steps; some also occur inside one (a checkpoint that blocks)."""

    QUEUE = "job.queue"
    GANG_WAIT = "job.gang_wait"
    PROVISION = "job.provision"
    INIT = "job.init"
    CHECKPOINT_LOAD = "job.checkpoint_load"
    LOST_WORK = "job.lost_work"
    DETECT = "job.detect"
    RECOVER = "job.recover"
    CHECKPOINT_SAVE = "job.checkpoint_save"
    CUSTOM = "job.custom"
    DEGRADED_IDLE = "job.degraded_idle"
    POST = "job.post"
    KEPT_STEPS = "step"
    """Steps that count, where nothing tells what was inside them."""


class StepStage(StrEnum):
    """Stages of a rank's part of a training step."""

    COMPUTE = "step.compute"
    SLOW_COMPUTE = "step.slow_compute"
    COPY = "step.copy"
    EXPOSED_COMM = "step.exposed_comm"
    SLOW_NETWORK = "step.slow_network"
    PIPELINE_BUBBLE = "step.pipeline_bubble"
    STRAGGLER_WAIT = "step.straggler_wait"
    DATA_LOAD = "step.data_load"
    HOST_BOUND = "step.host_bound"
    LAUNCH_OVERHEAD = "step.launch_overhead"
    HARDWARE_IDLE = "step.hardware_idle"


STAGES: tuple[str, ...] = (*ServingStage, *JobStage, *StepStage, UNATTRIBUTED)
"""Every code of the taxonomy."""


def unsplit(*stages: str) -> str:
    """The code of time that belongs to one of several stages, and nothing tells to which."""
    return f"{_UNSPLIT}{'|'.join(stages)}{_UNSPLIT_END}"


def is_unsplit(stage: str) -> bool:
    """Whether a stage is `unsplit(a|b)`: time of stages that its exporter cannot tell apart."""
    return stage.startswith(_UNSPLIT)


def parts_of(stage: str) -> list[str]:
    """The stages that a code stands for: `a` and `b` of `unsplit(a|b)`, else the stage itself."""
    return stage.removeprefix(_UNSPLIT).removesuffix(_UNSPLIT_END).split("|") if is_unsplit(stage) else [stage]


def is_edge(stage: str) -> bool:
    """Whether a stage is the way between two services outside the taxonomy, `edge:a->b`."""
    return stage.startswith(_EDGE)
