"""SQL from people who may look at everything in a store and change nothing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import polars as pl

from tracekit.errors import QueryError
from tracekit.store.database import Database
from tracekit.store.frames import portable, unterminated


@dataclass(frozen=True, slots=True)
class LimitedRows:
    """The first rows of an answer; `truncated` says that there were more."""

    frame: pl.DataFrame
    truncated: bool


def read_only_sql(
    database: Database,
    statement: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    row_limit: int = 10_000,
    time_limit_s: float = 30.0,
    interruptible: Callable[[Callable[[], None]], None] = lambda interrupt: None,
) -> LimitedRows:
    """The first `row_limit` rows of one SELECT statement that somebody typed.

    It runs in a transaction that DuckDB keeps from writing, on a store whose SQL reaches no file, extension
    or setting. After `time_limit_s` seconds it is interrupted (between rows: one call of a function on one
    huge value is not); `interruptible` is handed a function that does so earlier, from any thread.
    Raises `QueryError` for other statements, for DuckDB's own refusals, and for time.
    """
    with closing(database.cursor()) as cursor:
        try:
            _check_is_one_select(statement)
            interruptible(cursor.interrupt)
            with _read_only(cursor), _interrupted_after(cursor, time_limit_s):
                relation = cursor.sql(unterminated(statement), params=dict(parameters or {}) or None)
                rows = portable(relation).limit(row_limit + 1).pl()
        except duckdb.InterruptException as error:
            raise QueryError(f"the query took longer than {time_limit_s:g} s and was stopped; ask for less") from error
        except duckdb.Error as error:
            raise QueryError(str(error), statement=statement) from error
    return LimitedRows(frame=rows.head(row_limit), truncated=rows.height > row_limit)


def _check_is_one_select(statement: str) -> None:
    kinds = [parsed.type for parsed in duckdb.extract_statements(statement)]
    if kinds != [duckdb.StatementType.SELECT]:
        found = ", ".join(kind.name for kind in kinds) or "nothing"
        raise QueryError(f"one SELECT statement is allowed here, this is: {found}", statement=statement)


@contextmanager
def _read_only(cursor: duckdb.DuckDBPyConnection) -> Iterator[None]:
    # A SELECT may hold INSERT or DELETE in a WITH clause; only the transaction keeps those from writing.
    cursor.execute("BEGIN TRANSACTION READ ONLY")
    try:
        yield
    finally:
        cursor.execute("ROLLBACK")


@contextmanager
def _interrupted_after(cursor: duckdb.DuckDBPyConnection, seconds: float) -> Iterator[None]:
    timer = threading.Timer(seconds, cursor.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
