"""tracekit: which stage made the slow ones slow, from OpenTelemetry data, exactly.

import tracekit as tk

store = tk.open("run.duckdb")
store.ingest("traces.jsonl")
print(store.tail("ttft").stages)
"""

import importlib
import typing

from tracekit.errors import (
    BusyError,
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

if typing.TYPE_CHECKING:
    from tracekit.api import Store

    open = Store.open

__all__ = [
    "BusyError",
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


def __getattr__(name: str) -> typing.Any:
    # What the store needs takes most of a second to import; the command must mind signals before that.
    if name not in ("Store", "open"):
        raise AttributeError(f"module 'tracekit' has no attribute {name!r}")
    store = importlib.import_module("tracekit.api").Store
    found = globals()[name] = store if name == "Store" else store.open
    return found
