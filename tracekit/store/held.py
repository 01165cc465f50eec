"""Stores that this process serves: whoever opens one of them here shares the open database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tracekit.store.database import Database

_held: dict[Path, Callable[[], Database]] = {}


@contextmanager
def holding(path: str | Path, database: Callable[[], Database]) -> Iterator[None]:
    """Let others in this process find the database of the file at `path` inside the block.

    DuckDB opens a file once per process and mode, so they could not open it themselves.
    """
    key = Path(path).resolve()
    _held[key] = database
    try:
        yield
    finally:
        del _held[key]


def held_database(path: str | Path | None) -> Database | None:
    """The open database of the file at `path` where this process serves it, else None.

    Raises `StoreError` while it cannot be used.
    """
    provider = None if path is None else _held.get(Path(path).resolve())
    return None if provider is None else provider()
