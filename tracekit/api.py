"""The public face: a trace store and the questions it answers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import polars as pl

from tracekit import analysis, ingest, report, stages
from tracekit.errors import StoreLockedError
from tracekit.ingest import FileReport, OutgoingFiles, Source
from tracekit.output import Output
from tracekit.remote import RemoteStore, endpoint_of
from tracekit.store import Database, held_database

Metric = analysis.Metric

DEVICES, PRECISIONS = analysis.DEVICES, analysis.PRECISIONS
"""Accelerators and precisions whose peak rates `Store.goodput` knows."""

OUTCOMES = analysis.OUTCOMES
"""How units end: the outcomes that `Store.tail` can be asked about, besides `any`."""


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

        `read_only` lets other processes read at the same time; the file must exist then. Where
        `tracekit serve` holds the file, the store asks it instead, and says so on standard error.
        Raises `StoreLockedError`, `StoreVersionError` or `StoreError`.
        """
        if (shared := held_database(path)) is not None:
            return _SharedStore(shared)
        try:
            return cls(Database.open(path, read_only=read_only))
        except StoreLockedError:
            endpoint = None if path is None else endpoint_of(Path(path))
            if endpoint is None:
                raise
        print(f"{path} is served by process {endpoint.pid}; asking it at {endpoint.url}", file=sys.stderr)
        return _ServedStore(RemoteStore(endpoint))

    @property
    def database(self) -> Database:
        """The DuckDB file underneath, for those who extend tracekit."""
        return self._database

    def ingest(self, *paths: str | Path, progress: Callable[[int, int], None] | None = None) -> ingest.IngestReport:
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
        metric: Metric,
        *,
        quantile: float | None = None,
        where: str | None = None,
        baseline: str = "body",
        outcome: str = "ok",
    ) -> analysis.TailAnswer:
        """Which stage made the slow ones slow; see `tracekit.analysis.tail`."""
        return analysis.tail(self._database, metric, quantile=quantile, where=where, baseline=baseline, outcome=outcome)

    def stragglers(self, *, job: str | None = None) -> analysis.StragglersAnswer:
        """Which rank made the others wait; see `tracekit.analysis.stragglers`."""
        return analysis.stragglers(self._database, job=job)

    def goodput(
        self,
        *,
        job: str | None = None,
        price: float | None = None,
        flops_per_token: float | None = None,
        device: str | None = None,
        precision: str = "bf16",
    ) -> analysis.GoodputAnswer:
        """Where paid accelerator time went; see `tracekit.analysis.goodput`."""
        usage = {"flops_per_token": flops_per_token, "device": device, "precision": precision}
        return analysis.goodput(self._database, job=job, price=price, **usage)

    def failures(self, *, job: str | None = None, price: float | None = None) -> analysis.FailuresAnswer:
        """What failed first, and who only followed; see `tracekit.analysis.failures`."""
        return analysis.failures(self._database, job=job, price=price)

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


class _SharedStore(Store):
    """A store that this process serves; closing it leaves it open for the server."""

    def close(self) -> None:
        """Do nothing: the server closes the file when it stops."""


class _ServedStore(Store):
    """A store that another process serves: every question goes there."""

    def __init__(self, remote: RemoteStore) -> None:
        self._remote = remote

    @property
    def database(self) -> Database:
        """Raises `StoreLockedError`: the file is open in the server."""
        raise self._held("its tables can only be read with `sql`")

    def ingest(self, *paths: str | Path, progress: Callable[[int, int], None] | None = None) -> ingest.IngestReport:
        """Read files here and let the server store them; see `Store.ingest`."""
        sources = ingest.find(paths)
        files = OutgoingFiles(sum(source.size_bytes for source in sources), progress)
        reports = [self._ingest_file(source, files, is_last=source is sources[-1]) for source in sources]
        return ingest.IngestReport(files=tuple(reports))

    def _ingest_file(self, source: Source, files: OutgoingFiles, *, is_last: bool) -> FileReport:
        pieces = files.pieces(source)
        report = self._remote.ingest_file(source.name, pieces, is_named=source.is_named, is_last=is_last)
        return files.reported(report)

    def sql(self, statement: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of one SELECT statement; see `Store.sql`."""
        return self._remote.sql(statement, **parameters)

    def query(self, name: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of a statement that ships with tracekit; see `Store.query`."""
        return self._remote.answer("query", name, **parameters)

    def tail(self, metric: Metric, **options: Any) -> analysis.TailAnswer:
        """See `Store.tail`."""
        return self._remote.answer("tail", metric, **options)

    def stragglers(self, **options: Any) -> analysis.StragglersAnswer:
        """See `Store.stragglers`."""
        return self._remote.answer("stragglers", **options)

    def goodput(self, **options: Any) -> analysis.GoodputAnswer:
        """See `Store.goodput`."""
        return self._remote.answer("goodput", **options)

    def failures(self, **options: Any) -> analysis.FailuresAnswer:
        """See `Store.failures`."""
        return self._remote.answer("failures", **options)

    def quality(self) -> analysis.QualityAnswer:
        """See `Store.quality`."""
        return self._remote.answer("quality")

    def operations(self, *, trace_id: str) -> pl.DataFrame:
        """See `Store.operations`."""
        return self._remote.answer("operations", trace_id=trace_id)

    def report(self) -> Output:
        """See `Store.report`."""
        return self._remote.answer("report")

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _held(self, remedy: str) -> StoreLockedError:
        where = self._remote.endpoint
        return StoreLockedError(f"the store is served by process {where.pid} at {where.url}: {remedy}")
