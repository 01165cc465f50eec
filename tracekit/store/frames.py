"""DuckDB results as polars frames."""

from __future__ import annotations

import re

import duckdb
import polars as pl

# Types that polars cannot take over, with the type to show them in; inside of others all become JSON.
_SHOWN_AS = {
    "VARIANT": "JSON", "INTERVAL": "VARCHAR", "BIGNUM": "VARCHAR", "BIT": "VARCHAR", "TIME WITH TIME ZONE": "VARCHAR",
}  # fmt: skip
_UNKNOWN_INSIDE = re.compile(rf"\b(?:{'|'.join(_SHOWN_AS)}|UNION)\b")


def frame(relation: duckdb.DuckDBPyRelation | None) -> pl.DataFrame:
    """The rows of a relation; VARIANT as JSON text, INTERVAL as text. No relation, no rows."""
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
    """The relation with every column in a type that polars knows, and under a name of its own."""
    names = _distinct(relation.columns)
    kinds = [_shown_as(str(kind)) for kind in relation.types]
    if names == relation.columns and not any(kinds):
        return relation
    columns = [
        f"#{place}{f'::{kind}' if kind else ''} AS {_identifier(name)}"
        for place, (name, kind) in enumerate(zip(names, kinds, strict=True), 1)
    ]
    return relation.project(", ".join(columns))


def _shown_as(kind: str) -> str | None:
    return _SHOWN_AS.get(kind) or ("JSON" if _UNKNOWN_INSIDE.search(kind) else None)


def _distinct(names: list[str]) -> list[str]:
    """The names, those that came before with a number behind: a join of two tables has many twice."""
    taken, found = set(names), list[str]()
    for name in names:
        number, own = 0, name
        while own in found or (number and own in taken):
            number += 1
            own = f"{name}_{number}"
        found.append(own)
    return found


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
