"""Stores that this process serves: whoever opens one of them here asks the server, within its limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tracekit.store.database import Database


class HeldStore(Protocol):
    """A store that this process serves."""

    def ask(self, work: Callable[[Database], Any], *, queued: Callable[[Callable[[], None]], None] = ...) -> Any:
        """What `work` makes of the open database. Raises `StoreError` while it cannot be used.

        `queued` is given at once what ends it from another thread.
        """
        ...


_held: dict[Path, HeldStore] = {}


@contextmanager
def holding(path: str | Path, store: HeldStore) -> Iterator[None]:
    """Let others in this process find the store of the file at `path` inside the block.

    DuckDB opens a file once per process and mode, so they could not open it themselves.
    """
    key = Path(path).resolve()
    _held[key] = store
    try:
        yield
    finally:
        del _held[key]


def held_store(path: str | Path | None) -> HeldStore | None:
    """The store of the file at `path` where this process serves it, else None."""
    return None if path is None else _held.get(Path(path).resolve())
