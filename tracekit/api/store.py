"""A trace store and the questions it answers.

Each method imports the room that answers it: whoever asks one question does not wait for the others to load, nor for
the decoder where nothing is ingested.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tracekit.api.questions import Questions
from tracekit.errors import StoreLockedError, UsageError
from tracekit.objects import is_object

if TYPE_CHECKING:
    import polars as pl

    from tracekit.export import PerfettoTrace
    from tracekit.ingest import IngestReport
    from tracekit.output import Output
    from tracekit.store import Database


class Store(Questions):
    """A trace store: one DuckDB file with what arrived and what was computed from it.

    Open it with `tracekit.open`. Every question returns a polars frame or a frozen answer with frames inside;
    none prints or plots.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: str | Path | None, *, read_only: bool = False) -> Store:
        """Open the store at `path`, or a new one in memory for None; a folder is opened as a warehouse, and
        so is a prefix of an object store (`s3://BUCKET/PREFIX`).

        `read_only` lets other processes read at the same time; the file must exist then. Where
        `tracekit serve` holds the file, the store asks it instead; `served_by` says so.
        Raises `StoreLockedError`, `StoreVersionError` or `StoreError`.

        >>> Store.open("missing.duckdb", read_only=True)
        Traceback (most recent call last):
        tracekit.errors.StoreError: there is no trace store at missing.duckdb; make one with `tracekit ingest ...
        """
        from tracekit.store import Database, held_store

        if path is not None and is_object(str(path)):
            from tracekit.api.warehouse import WarehouseStore

            return WarehouseStore.open(path)
        if (held := held_store(path)) is not None:
            from tracekit.api.served import SharedStore

            return SharedStore(held)
        if path is not None and Path(path).is_dir():
            from tracekit.api.warehouse import WarehouseStore

            return WarehouseStore.open(path)
        try:
            return cls(Database.open(path, read_only=read_only))
        except StoreLockedError:
            from tracekit.api.served import ServedStore
            from tracekit.remote import RemoteStore, endpoint_of

            endpoint = None if path is None else endpoint_of(Path(path))
            if endpoint is None:
                raise
        return ServedStore(RemoteStore(endpoint))

    @staticmethod
    def server_of(path: str | Path) -> str | None:
        """The server that holds the file at `path`, for people, without opening it; None where nobody serves it.

        >>> Store.server_of("missing.duckdb") is None
        True
        """
        from tracekit.remote import endpoint_of
        from tracekit.store import held_store

        if held_store(path) is not None:
            return "this process"
        endpoint = endpoint_of(Path(path))
        return None if endpoint is None else f"process {endpoint.pid} at {endpoint.url}"

    @property
    def served_by(self) -> str | None:
        """The server that is asked in place of the file, for people; None where the file itself is open."""
        return None

    @property
    def database(self) -> Database:
        """The DuckDB file underneath, for those who extend tracekit."""
        return self._database

    def ingest(self, *paths: str | Path, progress: Callable[[int, int], None] | None = None) -> IngestReport:
        """Read files, directories, glob patterns or `-` (standard input), and bring units up to date.

        `progress` is called with bytes done and bytes in total.

        >>> with Store.open(None) as new:
        ...     report = new.ingest("sample_traces/vllm_gateway")
        >>> report.spans, report.duplicates, report.rejected, report.is_complete
        (1134, 0, 0, True)
        """
        from tracekit import ingest, stages

        return ingest.ingest(self._database, paths, progress=progress, after=stages.update_units)

    def sql(self, statement: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of a SQL statement; `$name` in the statement is bound to the parameter `name`.

        A store that was opened to read takes what only looks: SELECT, SHOW, DESCRIBE, EXPLAIN, PIVOT.
        Raises `QueryError` with DuckDB's message.

        >>> store.sql("SELECT count(*) AS steps FROM units WHERE kind = $kind", kind="step").rows()
        [(352,)]
        """
        if self._database.read_only:
            from tracekit.store import looked_up

            return looked_up(self._database, statement, parameters)
        return self._database.sql(statement, **parameters)

    def query(self, name: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of a statement that ships with tracekit: `queries/<name>.sql`.

        >>> store.query("explore/store_contents")["span_count"].item()
        4332
        """
        return self._database.query(name, **parameters)

    @staticmethod
    def statement(name: str) -> str:
        """The text of a statement that ships with tracekit, as `query` runs it. Raises `UsageError` for no such name.

        >>> "FROM units" in Store.statement("explore/found_units")
        True
        """
        from tracekit import queries

        if not queries.is_known(name):
            raise UsageError(f"there is no query {str(name)[:200]!r}", option="query", value=str(name)[:200])
        return queries.text(name)

    def ask(self, question: str, /, *arguments: Any, **options: Any) -> Any:
        """The answer to a question by its name, one of `questions()`; see `tracekit.analysis.answer`.

        Raises `UsageError` where there is none of this name.

        >>> store.ask("quality").verdict
        'usable'
        """
        from tracekit import analysis

        return analysis.question_named(question)(self._database, *arguments, **options)

    def operations(self, *, trace_id: str) -> pl.DataFrame:
        """The operations of one trace with the time that each owns; see `tracekit.stages.operations`.

        >>> trace_id = store.sql("SELECT min(trace_id) FROM units WHERE kind = 'request'").item()
        >>> store.operations(trace_id=trace_id).is_empty()
        False
        """
        from tracekit import stages

        return stages.operations(self._database, trace_id=trace_id)

    def perfetto(
        self,
        *,
        trace_id: str | None = None,
        job: str | None = None,
        attempt: int | None = None,
        step: int | None = None,
        first_ns: int | None = None,
        last_ns: int | None = None,
    ) -> PerfettoTrace:
        """A trace, a training step or a range of time as Perfetto opens it; see `tracekit.export.perfetto`.

        Raises `UsageError` where the trace or the step is not there.

        >>> trace = store.perfetto(job="job-a", step=25)
        >>> trace.counts["spans"], trace.text()[:22]
        (42, '{"displayTimeUnit":"ns')
        """
        from tracekit import export

        selection = export.Selection(trace_id, job, attempt, step, first_ns, last_ns)
        return export.perfetto(export.records(self.query, selection))

    def spans(
        self, *, trace_id: str | None = None, first_ns: int | None = None, last_ns: int | None = None
    ) -> pl.DataFrame:
        """The spans of a trace or of a range of time as rows, in order of time; all of them without either.

        >>> store.spans().height
        4332
        """
        from tracekit import export

        return export.span_rows(self.query, export.Selection(trace_id, first_ns=first_ns, last_ns=last_ns))

    def report(self, *, html: bool = False) -> Output:
        """The whole picture as rows, as an object and as text; see `tracekit.report.report`.

        `html`: with the sections of a page, too, which `tracekit report --html FILE` writes.

        >>> print(store.report().text.splitlines()[0])
        # What is in the store
        """
        from tracekit import report

        return report.report(self._database, html=html)

    def interrupt(self) -> None:
        """End what other threads ask of this store just now: there it raises an error, and what they ask next runs.

        A question is many statements, and one of them may just have ended: repeat it until the question has.

        >>> store.interrupt()
        """
        self._database.interrupt()

    def close(self) -> None:
        """Close the file. What was ingested is already durable.

        >>> Store.open(None).close()
        """
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
