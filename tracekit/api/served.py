"""A store that a server holds, in this process or another: the same questions, asked there."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from tracekit.api.store import Store
from tracekit.errors import StoreLockedError

if TYPE_CHECKING:
    import polars as pl

    from tracekit.ingest import FileReport, IngestReport, OutgoingFiles, Source
    from tracekit.output import Output
    from tracekit.remote import RemoteStore
    from tracekit.store import Database, HeldStore

Asked = ParamSpec("Asked")
Replied = TypeVar("Replied")


def _within_limits(
    question: Callable[Concatenate[Store, Asked], Replied],
) -> Callable[Concatenate[SharedStore, Asked], Replied]:
    """The question, asked as everybody asks a server: in its turn, for a while, with so much memory."""

    @wraps(question)
    def ask(store: SharedStore, *arguments: Asked.args, **options: Asked.kwargs) -> Replied:
        thread = get_ident()
        try:
            answer: Replied = store._held.ask(
                lambda database: question(Store(database), *arguments, **options),
                queued=lambda end: store._ends.update({thread: end}),
            )
        finally:
            store._ends.pop(thread, None)
        return answer

    return ask


class SharedStore(Store):
    """A store that this process serves; closing it leaves it open for the server."""

    def __init__(self, held: HeldStore) -> None:
        self._held = held
        self._ends: dict[int, Callable[[], None]] = {}
        """What ends the question of each thread."""

    @property
    def database(self) -> Database:
        """Raises `StoreLockedError`: only the server writes."""
        raise StoreLockedError("the store is served by this process: its tables can only be read with `sql`")

    def ingest(self, *paths: str | Path, progress: Callable[[int, int], None] | None = None) -> IngestReport:
        """Raises `StoreLockedError`: only the server writes."""
        from tracekit import ingest

        return ingest.ingest(self.database, paths, progress=progress)

    sql = _within_limits(Store.sql)
    query = _within_limits(Store.query)
    ask = _within_limits(Store.ask)
    operations = _within_limits(Store.operations)
    report = _within_limits(Store.report)

    def interrupt(self) -> None:
        """See `Store.interrupt`; what others ask of the server goes on."""
        for end in list(self._ends.values()):
            end()

    def close(self) -> None:
        """Do nothing: the server closes the file when it stops."""


class ServedStore(Store):
    """A store that another process serves: every question goes there."""

    def __init__(self, remote: RemoteStore) -> None:
        self._remote = remote

    @property
    def served_by(self) -> str:
        """The server that is asked."""
        where = self._remote.endpoint
        return f"process {where.pid} at {where.url}"

    @property
    def database(self) -> Database:
        """Raises `StoreLockedError`: the file is open in the server."""
        raise self._held("its tables can only be read with `sql`")

    def ingest(self, *paths: str | Path, progress: Callable[[int, int], None] | None = None) -> IngestReport:
        """Read files here and let the server store them; see `Store.ingest`."""
        from tracekit.ingest import IngestReport, OutgoingFiles, find

        sources = find(paths)
        files = OutgoingFiles(sum(source.size_bytes for source in sources), progress)
        reports = [self._ingest_file(source, files, is_last=source is sources[-1]) for source in sources]
        return IngestReport(files=tuple(reports))

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

    def ask(self, question: str, /, *arguments: Any, **options: Any) -> Any:
        """See `Store.ask`."""
        # What comes back is made from the types that it registers.
        from tracekit import analysis  # noqa: F401

        return self._remote.answer(question, *arguments, **options)

    def operations(self, *, trace_id: str) -> pl.DataFrame:
        """See `Store.operations`."""
        return self._remote.answer("operations", trace_id=trace_id)

    def report(self, *, html: bool = False) -> Output:
        """See `Store.report`."""
        return self._remote.answer("report", html=html)

    def interrupt(self) -> None:
        """See `Store.interrupt`; the server ends a question that nobody waits for."""
        self._remote.interrupt()

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def _held(self, remedy: str) -> StoreLockedError:
        where = self._remote.endpoint
        told = f"the store is served by process {where.pid} at {where.url}: {remedy}"
        return StoreLockedError(told, endpoint=where.url, pid=where.pid)
