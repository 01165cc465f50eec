"""tracekit: which stage made the slow ones slow, from OpenTelemetry data, exactly.

import tracekit as tk

store = tk.open("run.duckdb")
store.ingest("traces.jsonl")
print(store.tail("ttft").stages)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracekit.errors import (
    BusyError,
    InsufficientDataError,
    QueryError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StoreMemoryError,
    StoreVersionError,
    TracekitError,
    UnknownFormatError,
    UsageError,
)

if TYPE_CHECKING:
    from pathlib import Path

    from tracekit.analysis import Answer, Evidence, Finding, QualityAnswer, StragglersAnswer, TailAnswer
    from tracekit.api import Store

    __version__: str

__all__ = [
    "Answer",
    "BusyError",
    "Evidence",
    "Finding",
    "InsufficientDataError",
    "QualityAnswer",
    "QueryError",
    "Store",
    "StoreError",
    "StoreFullError",
    "StoreLockedError",
    "StoreMemoryError",
    "StoreVersionError",
    "StragglersAnswer",
    "TailAnswer",
    "TracekitError",
    "UnknownFormatError",
    "UsageError",
    "open",
]


def open(path: str | Path | None, *, read_only: bool = False) -> Store:
    """Open the trace store at `path`, or a new one in memory for None; see `Store.open`.

    >>> import tracekit as tk
    >>> with tk.open(None) as store:
    ...     report = store.ingest("sample_traces/vllm_gateway")
    ...     report.spans
    1134
    """
    from tracekit.api import Store

    return Store.open(path, read_only=read_only)


def __getattr__(name: str) -> Any:
    """What takes long to import, or is asked for rarely, comes when it is first used."""
    if name == "Store":
        from tracekit.api import Store

        return Store
    if name in __all__:
        from tracekit import analysis

        return getattr(analysis, name)
    if name == "__version__":
        from importlib.metadata import version

        return version("tracekit-stages")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})
