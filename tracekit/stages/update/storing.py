"""Builds and stores batches of units beside the thread that reads them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import duckdb
import polars as pl

from tracekit.stages.update.tables import add_request_ids, delete_units, set_built_through
from tracekit.store import Database

# One batch is stored while the next is built and the one behind it is read: more would only take memory.
_MOST_UNDER_WAY = 1


@dataclass(frozen=True, eq=False)
class Building:
    """A batch that is being built, how its frames are added to the store, and which units it replaces.

    `kind` is the kind of its units; `add` returns the number of units; `old_units` has the column `unit_id`.
    """

    kind: str
    frames: Future[Any]
    add: Callable[[duckdb.DuckDBPyConnection, Any], int]
    old_units: pl.DataFrame


class UnitStorer:
    """Builds batches in one thread and stores them in another, in order, each in one transaction.

    The units that a batch replaces are deleted with it, and the transaction of the last batch says how far the
    units are built. So every unit is whole at any time, and an update that breaks off is made again. An error
    is raised by the next call; nothing is stored after it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._builder = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tracekit-build")
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tracekit-store")
        self._under_way: deque[Future[None]] = deque()
        self._last: Building | None = None
        self._stored: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._builder.shutdown(cancel_futures=True)
        self._writer.shutdown(cancel_futures=True)

    def store(
        self,
        kind: str,
        build: Callable[[], Any],
        add: Callable[[duckdb.DuckDBPyConnection, Any], int],
        old_units: pl.DataFrame,
    ) -> None:
        """Build a batch and store it when another one, or the end, follows."""
        building = Building(kind, self._builder.submit(build), add, old_units)
        if self._last is not None:
            self._under_way.append(self._writer.submit(self._store, self._last))
        self._last = building
        self._wait(_MOST_UNDER_WAY)

    def finish(self, *, built_through: int, old_units: pl.DataFrame, request_ids: pl.DataFrame) -> Counter[str]:
        """Store the last batch and the names of its requests, and delete old units that nothing takes the place of.

        Returns the number of units stored, by kind.
        """
        self._wait(0)
        with self._database.transaction() as cursor:
            if self._last is not None:
                self._add(cursor, self._last)
            delete_units(cursor, old_units)
            add_request_ids(cursor, request_ids)
            set_built_through(cursor, built_through)
        return self._stored

    def _wait(self, most: int) -> None:
        while len(self._under_way) > most:
            self._under_way.popleft().result()

    def _store(self, building: Building) -> None:
        with self._database.transaction() as cursor:
            self._add(cursor, building)

    def _add(self, cursor: duckdb.DuckDBPyConnection, building: Building) -> None:
        frames = building.frames.result()
        delete_units(cursor, building.old_units)
        self._stored[building.kind] += building.add(cursor, frames)
