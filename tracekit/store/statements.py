"""Statements of `queries/`, run to their end, with Arrow tables as input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa

from tracekit import queries


def run(
    cursor: duckdb.DuckDBPyConnection,
    name: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    tables: Mapping[str, pa.Table] | None = None,
) -> list[tuple[Any, ...]]:
    """The rows of `queries/<name>.sql`, with `tables` visible to it under their names."""
    with registered(cursor, tables or {}):
        return cursor.execute(queries.text(name), dict(parameters or {})).fetchall()


@contextmanager
def registered(cursor: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table | pl.DataFrame]) -> Iterator[None]:
    """Make each table visible to the cursor's SQL under its name inside the block.

    Where the block raises they stay: an aborted transaction takes no statement, so taking them out would fail and hide
    the first error; the cursor is closed then.
    """
    for name, table in tables.items():
        cursor.register(name, table)
    yield
    for name in tables:
        cursor.unregister(name)
