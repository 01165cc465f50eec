"""Which colour a stage has, everywhere and always.

Hues follow the layers of the taxonomy: gateway violet, network teal, frontend olive, engine and compute
blue, key-value cache and memory pink, storage brown, host green, scheduler slate. Waiting is amber
inside the engine and pale in a collective. Red is kept free: it is the accent for the culprit. Time that
nobody explains is grey.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from tracekit.schema import UNATTRIBUTED, JobStage, ServingStage, StepStage, is_edge, is_unsplit, parts_of

ACCENT = "#d6453d"
"""The one accent: what made the slow ones slow."""

BASELINE = "#5b8def"
"""What the slow ones are compared with."""

NEUTRAL = "#8a8f98"
"""Text and lines that read on light and on dark ground."""

GREY = "#a3a8b0"
"""Time that nobody explains."""

BUCKET_COLOURS = {
    "good": "#5fae8b", "late_ttft": "#f0a63c", "late_tpot": "#f5c67c", "late_e2e": "#d9822b", "failed": "#d6453d",
    "timed_out": "#e07b74", "rejected": "#8f7ad6", "shed": "#b48be0", "aborted_before": "#93a4b8",
    "aborted_after": "#6f8299", "invalid": "#d0d7df", "unknown": "#a3a8b0",
}  # fmt: skip
"""Of requests against an SLO: green for good, ambers for late, reds for failures, violets for refusals."""

_STAGE_COLOURS: dict[str, str] = {
    ServingStage.CLIENT_NET: "#8fd3c5",
    ServingStage.GW_INGRESS: "#8f7ad6",
    ServingStage.GW_AUTH: "#c1b2ee",
    ServingStage.GW_RATELIMIT: "#7058c0",
    ServingStage.GW_CACHE: "#a797e0",
    ServingStage.GW_GUARDRAIL: "#5f479f",
    ServingStage.GW_QUEUE: "#b48be0",
    ServingStage.GW_ROUTE: "#d3c8f4",
    ServingStage.UPSTREAM: "#4c3a85",
    ServingStage.RETRY: "#cf9be6",
    ServingStage.NET_DISPATCH: "#2fa69a",
    ServingStage.FE_PREPROCESS: "#a9b044",
    ServingStage.FE_DISPATCH: "#7f8a2e",
    ServingStage.OUT_DETOK: "#cdd27c",
    ServingStage.OUT_STREAM: "#66c2b5",
    ServingStage.ENG_QUEUE: "#f0a63c",
    ServingStage.ENG_DECODE_WAIT: "#f5c67c",
    ServingStage.ENG_PREEMPT_WAIT: "#d9822b",
    ServingStage.ENG_STALL: "#b8671f",
    ServingStage.ENG_GRAMMAR: "#24508f",
    ServingStage.ENG_ENCODE: "#5c9ee8",
    ServingStage.ENG_PREFILL: "#3a78d6",
    ServingStage.ENG_DECODE: "#8ab8f2",
    ServingStage.ENG_RECOMPUTE: "#1b3f73",
    ServingStage.KV_LOAD: "#cf6fae",
    ServingStage.KV_BOOTSTRAP: "#e8aed2",
    ServingStage.KV_TRANSFER: "#a84c8b",
    ServingStage.STARTUP: "#6b7280",
    JobStage.QUEUE: "#93a4b8",
    JobStage.GANG_WAIT: "#b7c3d1",
    JobStage.PROVISION: "#6f8299",
    JobStage.INIT: "#7bb36a",
    JobStage.CHECKPOINT_LOAD: "#cfa27a",
    JobStage.LOST_WORK: "#8c6fb0",
    JobStage.DETECT: "#55677d",
    JobStage.RECOVER: "#42536a",
    JobStage.CHECKPOINT_SAVE: "#a8723c",
    JobStage.CUSTOM: "#a6cf97",
    JobStage.DEGRADED_IDLE: "#d0d7df",
    JobStage.POST: "#c4e0b9",
    StepStage.COMPUTE: "#3a78d6",
    StepStage.SLOW_COMPUTE: "#1b3f73",
    StepStage.COPY: "#cf6fae",
    StepStage.EXPOSED_COMM: "#2fa69a",
    StepStage.SLOW_NETWORK: "#136b63",
    StepStage.PIPELINE_BUBBLE: "#bcd0ea",
    StepStage.STRAGGLER_WAIT: "#b9cfcc",
    StepStage.DATA_LOAD: "#e0a030",
    StepStage.HOST_BOUND: "#5f9e4f",
    StepStage.LAUNCH_OVERHEAD: "#97c789",
    StepStage.HARDWARE_IDLE: "#5d6b82",
    UNATTRIBUTED: GREY,
}

# Operations of services that the taxonomy does not know; edges between services stay in the network's hue.
_SERVICE_COLOURS = (
    "#4f81c7", "#7fb069", "#c58b3b", "#8e79c9", "#3f9c9c", "#b565a7",
    "#9a8c3c", "#6d8fb3", "#a57b5b", "#5fae8b", "#7a6fb0", "#c2a04e",
)  # fmt: skip
_EDGE_COLOURS = ("#2fa69a", "#66c2b5", "#1f7f76", "#8fd3c5")


def stage_colour(stage: str) -> str:
    """The colour of a stage as `#rrggbb`.

    `unsplit(a|b)` has the colour of `a`; a stage outside the taxonomy has one that follows from its name.
    """
    known = _STAGE_COLOURS.get(stage)
    if known is not None:
        return known
    if is_unsplit(stage):
        return stage_colour(parts_of(stage)[0])
    palette = _EDGE_COLOURS if is_edge(stage) else _SERVICE_COLOURS
    return palette[zlib.crc32(stage.encode()) % len(palette)]


def colour_scale(stages: Iterable[str]) -> tuple[list[str], list[str]]:
    """Domain and range of a colour scale over `stages`, each once, in the order given."""
    domain = list(dict.fromkeys(stages))
    return domain, [stage_colour(stage) for stage in domain]
