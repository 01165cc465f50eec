"""SQL from people who may look at everything in a store and change nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from tracekit.errors import QueryError
from tracekit.store.connection import BOUNDED_SCHEMA
from tracekit.store.database import Database
from tracekit.store.frames import portable, unterminated
from tracekit.store.only_looking import check_only_looks, told

_BATCH_ROWS = 2048


@dataclass(frozen=True, slots=True)
class LimitedRows:
    """The first rows of an answer; `truncated` says that there were more."""

    frame: pl.DataFrame
    truncated: bool


class WatchedDatabase(Database):
    """A database as one question sees it: whoever watches learns of each cursor before it is used.

    `watch` may raise, and the question ends; `settings` are DuckDB's for each cursor.
    """

    def __init__(
        self,
        database: Database,
        watch: Callable[[duckdb.DuckDBPyConnection], None],
        settings: Mapping[str, str],
    ) -> None:
        super().__init__(database._connection, path=database.path, read_only=True)
        self._watched = database
        self._watch = watch
        self._settings = settings

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """A new cursor on the store that the question's watcher knows."""
        cursor = self._watched.cursor()
        try:
            if self._watched._catalog is not None:
                cursor.execute(f"SET search_path = '{self._watched._catalog}.main,{BOUNDED_SCHEMA}'")
            for name, value in self._settings.items():
                cursor.execute(f"SET {name} = '{value}'")
            self._watch(cursor)
        except BaseException:
            cursor.close()
            raise
        return cursor


def read_only_sql(
    database: Database,
    statement: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    row_limit: int = 10_000,
    time_limit_s: float = 30.0,
) -> LimitedRows:
    """The first `row_limit` rows of one statement that somebody typed and that only looks.

    It runs in a transaction that DuckDB keeps from writing, on a store whose SQL reaches no file, extension
    or setting. After `time_limit_s` seconds it is interrupted (between vectors of rows: one call of a function on one
    huge value is not). Raises `QueryError` for other statements, for DuckDB's own refusals, and for time.
    """
    with (
        closing(database.cursor()) as cursor,
        _told(time_limit_s),
        _interrupted_after(cursor, time_limit_s),
        only_looking(cursor, statement, parameters) as relation,
    ):
        rows = portable(relation).limit(row_limit + 1).pl()
    return LimitedRows(frame=rows.head(row_limit), truncated=rows.height > row_limit)


def looked_up(database: Database, statement: str, parameters: Mapping[str, Any]) -> pl.DataFrame:
    """Every row of one statement that only looks; errors as `read_only_sql`."""
    with closing(database.cursor()) as cursor, only_looking(cursor, statement, parameters) as relation:
        return portable(relation).pl()


@contextmanager
def only_looking(
    cursor: duckdb.DuckDBPyConnection, statement: str, parameters: Mapping[str, Any] | None = None
) -> Iterator[duckdb.DuckDBPyRelation]:
    """The rows of one statement that only looks, as a relation that is not yet read; to be read in the block.

    Raises `QueryError`, also for what goes wrong in the block.
    """
    try:
        check_only_looks(statement)
        # A SELECT may hold INSERT or DELETE in a WITH clause; only the transaction keeps those from writing.
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        try:
            yield cursor.sql(unterminated(statement), params=dict(parameters or {}) or None)
        finally:
            cursor.execute("ROLLBACK")
    except duckdb.InterruptException:
        raise
    except OSError as error:
        # In the middle of a result DuckDB's errors come through Arrow, as errors of no file.
        if error.errno is not None:
            raise
        raise QueryError(told(str(error))) from error
    except (duckdb.Error, ValueError, TypeError, OverflowError, RuntimeError) as error:
        # Values that cannot be bound raise Python's own errors.
        raise QueryError(told(str(error))) from error


def batches(relation: duckdb.DuckDBPyRelation, *, row_limit: int) -> pa.RecordBatchReader:
    """The first rows of a relation in batches, as DuckDB makes them, in types that polars knows."""
    return portable(relation).limit(row_limit).to_arrow_reader(_BATCH_ROWS)


@contextmanager
def _told(seconds: float) -> Iterator[None]:
    try:
        yield
    except duckdb.InterruptException as error:
        raise QueryError(f"the query took longer than {seconds:g} s and was stopped; ask for less") from error


@contextmanager
def _interrupted_after(cursor: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, cursor.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
