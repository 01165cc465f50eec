"""One trace store: a DuckDB file with the schema of `queries/schema`."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import duckdb
import polars as pl

from tracekit import queries
from tracekit.errors import QueryError, StoreError, UsageError
from tracekit.store import schema, template
from tracekit.store.connection import SERVED_CATALOG, connect, connect_served, store_errors
from tracekit.store.dedup_cache import DedupCache
from tracekit.store.frames import frame, unterminated
from tracekit.store.known_spans import load_recent
from tracekit.store.only_looking import told
from tracekit.store.recent_spans import RecentSpans
from tracekit.store.spilled import clear_spilled, remove_spill_folder

_LONGEST_CLOSE_S = 10.0


class Database:
    """An open trace store. Use it as a context manager, or `close()` it.

    Its SQL cannot reach the file system; frames enter with `cursor().register(name, frame)`.
    Any thread may call any method; a cursor belongs to one thread at a time. Who adds records holds
    `writing`, because new numbers for resources, scopes and series depend on those given before, and uses
    `dedup_cache`, which knows some of those; who changes
    units holds `building`, because two that make the same unit at once do not see each other, and uses
    `crowded_request_ids`, names that so many traces have that they name no request.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, *, path: Path | None, read_only: bool, catalog: str | None = None
    ) -> None:
        self.path = path
        self.read_only = read_only
        self.writing = threading.Lock()
        self.building = threading.Lock()
        self.dedup_cache = DedupCache()
        self.crowded_request_ids: set[str] = set()
        self._connection = connection
        self._catalog = catalog
        self._cursor_lock = threading.Lock()
        self._cursors: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()
        self._connect_again: Callable[[], duckdb.DuckDBPyConnection] | None = None

    @classmethod
    def open(
        cls,
        path: str | Path | None,
        *,
        read_only: bool = False,
        create: bool = True,
        tuning: Mapping[str, str] = MappingProxyType({}),
    ) -> Database:
        """Open the store at `path`, or one in memory for None.

        A file that is not there is made unless `create` is false or the store is `read_only`; a store of
        an older tracekit is brought up to date. `tuning` are settings of DuckDB, such as `threads`.
        Raises `StoreLockedError` when another process holds the file, `StoreVersionError` when a newer
        tracekit wrote it, `StoreError` when it is no trace store.
        """
        location = Path(path) if path is not None else None
        _check_location(location, read_only=read_only, create=create)
        if location is None:
            connection = template.new_in_memory(tuning)
        else:
            template.new_file(location)
            connection = connect(location, read_only=read_only, tuning=tuning)
        return cls(connection, path=location, read_only=read_only)._prepared()

    @classmethod
    def beside_files(
        cls, folder: Path, *, path: Path | None = None, tuning: Mapping[str, str] = MappingProxyType({})
    ) -> Database:
        """A new store in memory whose SQL reads and writes the files of `folder`, and no others.

        `path` is what errors call it. Raises as `open`.
        """
        connection = template.new_in_memory(tuning, folder=folder.resolve())
        return cls(connection, path=path, read_only=False)._prepared()

    @classmethod
    def beside_objects(
        cls, prefix: str, file_system: Any, *, tuning: Mapping[str, str] = MappingProxyType({})
    ) -> Database:
        """A new store in memory whose SQL reads the objects below `prefix` by `file_system` (of fsspec), and no files.

        Raises as `open`.
        """
        connection = template.new_in_memory(tuning, folder=prefix, file_system=file_system)
        return cls(connection, path=None, read_only=False)._prepared()

    @classmethod
    def serve(
        cls, path: str | Path, *, row_group_rows: int, tuning: Mapping[str, str] = MappingProxyType({})
    ) -> Database:
        """Open the store at `path` for taking small batches for long, and make it where it is not there.

        A batch of `row_group_rows` spans or more costs least. `tuning` are settings of DuckDB, such as
        `memory_limit`. Raises as `open`.
        """
        location = Path(path)
        _check_location(location, read_only=False, create=True)
        template.new_file(location)
        connect_again = partial(connect_served, location, row_group_rows=row_group_rows, tuning=tuning)
        database = cls(connect_again(), path=location, read_only=False, catalog=SERVED_CATALOG)._prepared()
        database._connect_again = connect_again
        try:
            database._remember_spans()
        except BaseException:
            database.close()
            raise
        return database

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A new cursor on the store, for one thread; close it after use."""
        with self._cursor_lock, store_errors(self.path):
            cursor = self._connection.cursor()
            if self._catalog is not None:
                cursor.execute(f"USE {self._catalog}")
            self._cursors.add(cursor)
            return cursor

    def renew(self) -> bool:
        """Open a served store anew, where nobody has a cursor on it just now; whether it was done.

        DuckDB keeps in memory what it knows of every row group that it wrote, some 12 bytes a span, until the file is
        closed. Who asks for a cursor meanwhile waits, for less than a second. Raises `StoreError` when the file cannot
        be opened again; the store is closed then.
        """
        with self.building, self.writing, self._cursor_lock:
            if self._connect_again is None or len(self._cursors):
                return False
            _close(self._connection)
            self._connection = self._connect_again()
            self.dedup_cache.rows_written = 0
            return True

    def sql(self, statement: str, /, **parameters: Any) -> pl.DataFrame:
        """The rows of a SQL statement; `parameters` are bound to its `$names`.

        Attributes come as JSON text. Raises `QueryError` with DuckDB's message.
        """
        with closing(self.cursor()) as cursor:
            try:
                return frame(cursor.sql(unterminated(statement), params=parameters or None))
            except (duckdb.Error, ValueError, TypeError, OverflowError, RuntimeError) as error:
                # Values that cannot be bound raise Python's own errors.
                raise QueryError(told(str(error)), statement=statement) from error

    def query(self, name: str, /, **parameters: Any) -> pl.DataFrame:
        """The rows of the statement in `queries/<name>.sql`; errors as `sql`, `UsageError` where there is none."""
        if not queries.is_known(name):
            raise UsageError(f"there is no query {str(name)[:200]!r}", option="query", value=str(name)[:200])
        return self.sql(queries.text(name), **parameters)

    @contextmanager
    def transaction(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor whose statements are committed together, or not at all when the block raises.

        After the block what was written is durable. DuckDB's errors become `StoreError`.
        """
        with closing(self.cursor()) as cursor, store_errors(self.path):
            cursor.execute("BEGIN TRANSACTION")
            try:
                yield cursor
            except BaseException:
                _roll_back(cursor)
                raise
            cursor.execute("COMMIT")

    def interrupt(self) -> None:
        """End what runs on its cursors just now, in whatever thread: it raises DuckDB's `InterruptException`."""
        with self._cursor_lock:
            for cursor in list(self._cursors):
                with suppress(duckdb.Error):
                    cursor.interrupt()

    def close(self) -> None:
        """Close the store; cursors that are in use go on to the end of their work."""
        with self._cursor_lock:
            _close(self._connection)
        if (path := self._written_file()) is not None:
            remove_spill_folder(path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _prepared(self) -> Self:
        try:
            if (path := self._written_file()) is not None:
                clear_spilled(path)
            self._prepare_schema()
        except BaseException:
            self.close()
            raise
        return self

    def _written_file(self) -> Path | None:
        """The file that nobody else has open; None in memory, for a warehouse's folder, and where it is only read."""
        return self.path if self.path is not None and not self.read_only and self.path.is_file() else None

    def _remember_spans(self) -> None:
        """Remember from now on the spans that come last, and begin with those that came last so far.

        Looking for repeats then costs by the batch, not by the store. A span that comes with the id of an older one
        than those remembered, at another time, is taken for another span.
        """
        recent = RecentSpans()
        with self.writing, closing(self.cursor()) as cursor, store_errors(self.path):
            load_recent(cursor, recent)
            self.dedup_cache.spans = recent

    def _prepare_schema(self) -> None:
        where = str(self.path or "the trace store in memory")
        with self.transaction() as cursor:
            found = schema.found_version(cursor, where=where)
            if found == schema.SCHEMA_VERSION:
                return
            if found is not None:
                schema.check_version(found, where=where)
            if self.read_only:
                raise StoreError(f"{where} is empty or of an older tracekit; open it once for writing", path=self.path)
            if found is None:
                schema.create(cursor)
            else:
                schema.upgrade(cursor, found=found)


def _check_location(path: Path | None, *, read_only: bool, create: bool) -> None:
    if path is None:
        if read_only:
            raise UsageError("a store in memory is empty when it is opened: open it for writing")
        return
    if path.is_dir():
        told = f"{path} is a folder; name the file of a trace store (a warehouse is only read, and filled by `build`)"
        raise StoreError(told, path=path)
    if (read_only or not create) and not path.exists():
        remedy = f"make one with `tracekit ingest PATH --db {path}`"
        raise StoreError(f"there is no trace store at {path}; {remedy}", path=path)
    if not path.parent.is_dir():
        raise StoreError(f"the folder {path.parent} does not exist; make it first", path=path)


def _roll_back(cursor: duckdb.DuckDBPyConnection) -> None:
    # After a fatal fault there is no transaction left to roll back; the first error is the one to tell.
    try:
        cursor.execute("ROLLBACK")
    except duckdb.Error:
        return


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close a connection; one that another thread is just in refuses instead of waiting (DuckDB 2), for a moment."""
    deadline = time.monotonic() + _LONGEST_CLOSE_S
    while True:
        try:
            return connection.close()
        except duckdb.ResourceInUseException:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
