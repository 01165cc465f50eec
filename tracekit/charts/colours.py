"""Which colour a stage has, everywhere and always.

Hues follow the layers of the taxonomy: gateway violet, network teal, frontend olive, engine and compute
blue, key-value cache and memory pink, storage brown, host green, scheduler slate. Waiting is amber
inside the engine and pale in a collective. Red is kept free: it is the accent for the culprit. Time that
nobody explains is grey.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

ACCENT = "#d6453d"
"""The one accent: what made the slow ones slow."""

BASELINE = "#5b8def"
"""What the slow ones are compared with."""

NEUTRAL = "#8a8f98"
"""Text and lines that read on light and on dark ground."""

UNATTRIBUTED = "#a3a8b0"

_STAGE_COLOURS = {
    "client.net": "#8fd3c5",
    "gw.ingress": "#8f7ad6",
    "gw.auth": "#c1b2ee",
    "gw.ratelimit": "#7058c0",
    "gw.cache": "#a797e0",
    "gw.guardrail": "#5f479f",
    "gw.queue": "#b48be0",
    "gw.route": "#d3c8f4",
    "upstream": "#4c3a85",
    "retry": "#cf9be6",
    "net.dispatch": "#2fa69a",
    "fe.preprocess": "#a9b044",
    "fe.dispatch": "#7f8a2e",
    "out.detok": "#cdd27c",
    "out.stream": "#66c2b5",
    "eng.queue": "#f0a63c",
    "eng.decode_wait": "#f5c67c",
    "eng.preempt_wait": "#d9822b",
    "eng.stall": "#b8671f",
    "eng.grammar": "#24508f",
    "eng.encode": "#5c9ee8",
    "eng.prefill": "#3a78d6",
    "eng.decode": "#8ab8f2",
    "eng.recompute": "#1b3f73",
    "kv.load": "#cf6fae",
    "kv.bootstrap": "#e8aed2",
    "kv.transfer": "#a84c8b",
    "lifecycle.startup": "#6b7280",
    "job.queue": "#93a4b8",
    "job.gang_wait": "#b7c3d1",
    "job.provision": "#6f8299",
    "job.init": "#7bb36a",
    "job.checkpoint_load": "#cfa27a",
    "job.lost_work": "#8c6fb0",
    "job.detect": "#55677d",
    "job.recover": "#42536a",
    "job.checkpoint_save": "#a8723c",
    "job.custom": "#a6cf97",
    "job.degraded_idle": "#d0d7df",
    "job.post": "#c4e0b9",
    "step.compute": "#3a78d6",
    "step.slow_compute": "#1b3f73",
    "step.copy": "#cf6fae",
    "step.exposed_comm": "#2fa69a",
    "step.slow_network": "#136b63",
    "step.pipeline_bubble": "#bcd0ea",
    "step.straggler_wait": "#b9cfcc",
    "step.data_load": "#e0a030",
    "step.host_bound": "#5f9e4f",
    "step.launch_overhead": "#97c789",
    "step.hardware_idle": "#5d6b82",
    "unattributed": UNATTRIBUTED,
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
    if stage.startswith("unsplit("):
        return stage_colour(stage.removeprefix("unsplit(").removesuffix(")").partition("|")[0])
    palette = _EDGE_COLOURS if stage.startswith("edge:") else _SERVICE_COLOURS
    return palette[zlib.crc32(stage.encode()) % len(palette)]


def colour_scale(stages: Iterable[str]) -> tuple[list[str], list[str]]:
    """Domain and range of a colour scale over `stages`, each once, in the order given."""
    domain = list(dict.fromkeys(stages))
    return domain, [stage_colour(stage) for stage in domain]
