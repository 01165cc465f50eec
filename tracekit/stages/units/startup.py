"""Requests that hang below a start-up trace by accident become requests of their own.

vLLM parents a request without trace headers to the `traceparent` of its environment, which is that of its
start-up. Nothing waits for such a request: it has no caller that sent spans.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.partition import PARENTLESS
from tracekit.stages.units.keys import passed_down
from tracekit.stages.units.operations import STARTUP, Operations
from tracekit.stages.units.spans import Spans


def with_requests_of_their_own(spans: Spans, operations: Operations) -> Spans:
    """The spans with a new key for each engine's request below start-up, and all below it.

    Such a request has no parent any more. It lies directly below a start-up span, or below nothing that
    arrived in a trace that has start-up spans. Keys of the others stay; rows stay where they are.
    """
    detached = _below_startup(spans, operations)
    if not len(detached):
        return spans
    parent, key = spans.parent.copy(), spans.key.copy()
    parent[detached] = PARENTLESS
    key[detached] = spans.key.max() + 1 + np.arange(len(detached))
    return replace(spans, parent=parent, key=passed_down(key, parent))


def _below_startup(spans: Spans, operations: Operations) -> NDArray[np.int64]:
    is_startup = operations.stage == operations.codes.code(STARTUP)
    engines = operations.facts.filter(pl.col("vantage") == "engine")["row"].to_numpy()
    if not is_startup.any() or not len(engines):
        return engines[:0]
    starts = np.bincount(spans.key, weights=is_startup) > 0
    parent = spans.parent[engines]
    is_detached = np.where(parent < 0, starts[spans.key[engines]], is_startup[np.maximum(parent, 0)])
    return np.sort(engines[is_detached])
