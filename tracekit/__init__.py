"""tracekit: which stage made the slow ones slow, from OpenTelemetry data, exactly.

import tracekit as tk

store = tk.open("run.duckdb")
store.ingest("traces.jsonl")
print(store.tail("ttft").stages)
"""

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
    "InsufficientDataError",
    "QueryError",
    "Store",
    "StoreError",
    "StoreFullError",
    "StoreLockedError",
    "StoreVersionError",
    "TracekitError",
    "UnknownFormatError",
    "UsageError",
    "open",
]
