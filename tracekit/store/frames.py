"""DuckDB results as polars frames."""

from __future__ import annotations

import duckdb
import polars as pl

# Types that polars cannot take over, with the type to show them in.
_SHOWN_AS = {"VARIANT": "JSON", "INTERVAL": "VARCHAR", "UHUGEINT": "VARCHAR"}


def frame(relation: duckdb.DuckDBPyRelation | None) -> pl.DataFrame:
    """The rows of a relation; VARIANT as JSON text, INTERVAL and UHUGEINT as text. No relation, no rows."""
    return pl.DataFrame() if relation is None else portable(relation).pl()


def unterminated(statement: str) -> str:
    """The text of a statement without the semicolon at its end and remarks behind that.

    A relation becomes a subquery of what is asked of it, where neither may stand.
    """
    text = statement.encode()
    for offset, kind in reversed(duckdb.tokenize(statement)):
        is_semicolon = text[offset : offset + 1] == b";"
        if not is_semicolon and kind != duckdb.token_type.comment:
            return statement
        if is_semicolon:
            return unterminated(text[:offset].decode())
    return statement


def portable(relation: duckdb.DuckDBPyRelation) -> duckdb.DuckDBPyRelation:
    """The relation with every column in a type that polars knows."""
    replaced = [
        f"{_identifier(name)}::{_SHOWN_AS[str(kind)]} AS {_identifier(name)}"
        for name, kind in zip(relation.columns, relation.types, strict=True)
        if str(kind) in _SHOWN_AS
    ]
    return relation.project(f"* REPLACE ({', '.join(replaced)})") if replaced else relation


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
