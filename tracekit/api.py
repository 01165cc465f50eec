"""The public face: a trace store and the questions it answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from tracekit import analysis, ingest, report, stages
from tracekit.output import Output
from tracekit.store import Database


class Store:
    """A trace store: one DuckDB file with what arrived and what was computed from it.

    Open it with `tracekit.open`. Every question returns a polars frame or a frozen answer with frames inside;
    none prints or plots.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: str | Path | None, *, read_only: bool = False) -> Store:
        """Open the store at `path`, or a new one in memory for None.

        `read_only` lets other processes read at the same time; the file must exist then.
        Raises `StoreLockedError`, `StoreVersionError` or `StoreError`.
        """
        return cls(Database.open(path, read_only=read_only))

    @property
    def database(self) -> Database:
        """The DuckDB file underneath, for those who extend tracekit."""
        return self._database

    def ingest(
        self, *paths: str | Path, progress: Callable[[int, int], None] | None = None
    ) -> ingest.IngestReport:
        """Read files, directories, glob patterns or `-` (standard input), and bring units up to date.

        `progress` is called with bytes done and bytes in total.
        """
        return ingest.ingest(self._database, paths, progress=progress, after=stages.update_units)

    def sql(self, statement: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of a SQL statement; `$name` in the statement is bound to the parameter `name`.

        Raises `QueryError` with DuckDB's message.
        """
        return self._database.sql(statement, **parameters)

    def query(self, name: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of a statement that ships with tracekit: `queries/<name>.sql`."""
        return self._database.query(name, **parameters)

    def tail(
        self,
        metric: str,
        *,
        quantile: float = 0.99,
        where: str | None = None,
        baseline: str = "body",
        outcome: str = "ok",
    ) -> analysis.TailAnswer:
        """Which stage made the slow ones slow; see `tracekit.analysis.tail`."""
        return analysis.tail(
            self._database, metric, quantile=quantile, where=where, baseline=baseline, outcome=outcome
        )

    def stragglers(self, *, job: str | None = None) -> analysis.StragglersAnswer:
        """Which rank made the others wait; see `tracekit.analysis.stragglers`."""
        return analysis.stragglers(self._database, job=job)

    def quality(self) -> analysis.QualityAnswer:
        """What the data can bear; see `tracekit.analysis.quality`."""
        return analysis.quality(self._database)

    def operations(self, *, trace_id: str) -> pl.DataFrame:
        """The operations of one trace with the time that each owns; see `tracekit.stages.operations`."""
        return stages.operations(self._database, trace_id=trace_id)

    def report(self) -> Output:
        """The whole picture as rows, as an object and as text; see `tracekit.report.report`."""
        return report.report(self._database)

    def close(self) -> None:
        """Close the file. What was ingested is already durable."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
