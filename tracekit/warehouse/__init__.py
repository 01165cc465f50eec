"""A warehouse: Parquet files and a manifest, built by many processes or a cluster, read as a store.

A build decodes every source, numbers who sent what, deals whole requests and whole training jobs to parts, and makes
the units of a part with the code that a store of one file uses. What the manifest names is the warehouse.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracekit.warehouse.building import Built, build
    from tracekit.warehouse.engines import Engine, LocalEngine
    from tracekit.warehouse.manifest import is_warehouse
    from tracekit.warehouse.object_reading import open_object_warehouse
    from tracekit.warehouse.reading import open_warehouse
    from tracekit.warehouse.spark import SparkEngine

_LATER = {
    "SparkEngine": "spark",
    "Built": "building",
    "Engine": "engines",
    "LocalEngine": "engines",
    "build": "building",
    "is_warehouse": "manifest",
    "open_object_warehouse": "object_reading",
    "open_warehouse": "reading",
}

__all__ = [
    "Built",
    "Engine",
    "LocalEngine",
    "SparkEngine",
    "build",
    "is_warehouse",
    "open_object_warehouse",
    "open_warehouse",
]


def __getattr__(name: str) -> Any:
    """Who only reads a warehouse does not load what builds one."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"tracekit.warehouse.{_LATER[name]}"), name)
