"""Requests replayed in engines that batch continuously: what a change of the engines or of a stage would give.

`engine_times` lays out where each request was; `step_times`, `limits` and `routing` learn what an engine is from what
its requests saw; `replay` runs their queues and batches again, `kernel` step by step; `scenario` is all of it under a
change.
"""

from tracekit.analysis.batching.change import ServingChange
from tracekit.analysis.batching.replay import EngineReplay
from tracekit.analysis.batching.scenario import COMPUTED, Scenario, Times

__all__ = ["COMPUTED", "EngineReplay", "Scenario", "ServingChange", "Times"]
