"""tracekit: which stage made the slow ones slow, from OpenTelemetry data, exactly.

import tracekit as tk

store = tk.open("run.duckdb")
store.ingest("traces.jsonl")
print(store.tail("ttft").stages)
"""

from tracekit.analysis import Answer, Evidence, Finding, QualityAnswer, StragglersAnswer, TailAnswer
from tracekit.api import Store
from tracekit.errors import (
    InsufficientDataError,
    QueryError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreVersionError,
    TracekitError,
    UnknownFormatError,
    UsageError,
)

open = Store.open

__all__ = [
    "Answer",
    "Evidence",
    "Finding",
    "InsufficientDataError",
    "QualityAnswer",
    "QueryError",
    "Store",
    "StoreError",
    "StoreFullError",
    "StoreLockedError",
    "StoreVersionError",
    "StragglersAnswer",
    "TailAnswer",
    "TracekitError",
    "UnknownFormatError",
    "UsageError",
    "open",
]
