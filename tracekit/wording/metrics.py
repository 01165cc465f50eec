"""Metrics in words."""

from __future__ import annotations

from tracekit.schema import Metric

METRIC_NAMES: dict[Metric, str] = {
    "ttft": "time to first token",
    "tpot": "time per output token",
    "e2e": "end to end",
    "step": "training step",
}
"""What each metric is called."""
