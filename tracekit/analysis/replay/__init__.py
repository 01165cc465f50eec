"""Replay of the dependency graph of training steps: how long they would take without what made them slow."""

from tracekit.analysis.replay.published import PublishedSlowdowns, published_slowdowns
from tracekit.analysis.replay.steps import OPERATION_COLUMNS, Steps, pipeline_steps

__all__ = ["OPERATION_COLUMNS", "PublishedSlowdowns", "Steps", "pipeline_steps", "published_slowdowns"]
