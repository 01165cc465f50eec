"""Replay of the dependency graph of training steps: how long they would take without what made them slow."""

from tracekit.analysis.replay.change import Change
from tracekit.analysis.replay.observed import ObservedSteps, observed_steps
from tracekit.analysis.replay.published import PublishedSlowdowns, published_slowdowns
from tracekit.analysis.replay.steps import OPERATION_COLUMNS, Steps, pipeline_steps
from tracekit.analysis.replay.what_if import ReplayBasis, WhatIf, what_if

__all__ = [
    "OPERATION_COLUMNS",
    "Change",
    "ObservedSteps",
    "PublishedSlowdowns",
    "ReplayBasis",
    "Steps",
    "WhatIf",
    "observed_steps",
    "pipeline_steps",
    "published_slowdowns",
    "what_if",
]
