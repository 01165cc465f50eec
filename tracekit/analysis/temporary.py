"""Statements that ship with tracekit on the cursor of a question, and the temporary tables that they share."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl

from tracekit import queries


def rows(cursor: duckdb.DuckDBPyConnection, name: str, parameters: dict[str, Any] | None = None) -> pl.DataFrame:
    """Rows of `queries/<name>.sql`, which may read the temporary tables of the cursor."""
    return cursor.sql(queries.text(name), params=parameters or None).pl()


def create_table(cursor: duckdb.DuckDBPyConnection, table: str, name: str, parameters: dict[str, Any]) -> None:
    """Keep the rows of `queries/<name>.sql` as the temporary table `table` of the cursor."""
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {queries.text(name)}", parameters or None)
