"""Conditions that select units: one SQL expression that can filter and do nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from tracekit.errors import QueryError, UsageError

_HARMFUL_NODES = {"SUBQUERY": "a subquery", "WINDOW": "a window function", "PARAMETER": "a parameter"}
_EMPTY_CLAUSES = ("modifiers", "group_expressions", "group_sets", "having", "sample", "qualify")


def checked_condition(cursor: duckdb.DuckDBPyConnection, condition: str | None, *, option: str) -> str:
    """The condition in parentheses, ready to follow `WHERE`; `(true)` for None.

    Raises `QueryError` where it does not parse, and `UsageError` where it is more than a condition over the
    columns of the view `units` (a subquery, a second statement, a function that does something).
    `option` names the condition in messages.
    """
    if condition is None:
        return "(true)"
    if not condition.strip():
        raise UsageError(f"{option} is empty; leave it out to select all units", option=option)
    wrapped = f"(\n{condition}\n)"
    node = _parsed(cursor, f"SELECT 1 FROM units WHERE {wrapped}", condition=condition, option=option)
    _check_shape(node, condition=condition, option=option)
    _check_functions(cursor, node["where_clause"], condition=condition, option=option)
    return wrapped


def _parsed(cursor: duckdb.DuckDBPyConnection, statement: str, *, condition: str, option: str) -> dict[str, Any]:
    row = cursor.execute("SELECT json_serialize_sql($statement)", {"statement": statement}).fetchall()[0]
    tree = json.loads(row[0])
    if tree["error"]:
        raise QueryError(f"{option} {condition!r} is not a SQL condition: {tree['error_message']}", statement=condition)
    if len(tree["statements"]) != 1:
        raise UsageError(
            f"{option} {condition!r} holds more than one statement; give one condition over `units`",
            option=option,
            value=condition,
        )
    return tree["statements"][0]["node"]


def _check_shape(node: dict[str, Any], *, condition: str, option: str) -> None:
    plain = (
        node["type"] == "SELECT_NODE"
        and node["from_table"].get("table_name") == "units"
        and not node["cte_map"]["map"]
        and not any(node[clause] for clause in _EMPTY_CLAUSES)
    )
    if not plain:
        raise UsageError(
            f"{option} {condition!r} is more than a condition; give one expression over `units`",
            option=option,
            value=condition,
        )
    for part in _nodes(node["where_clause"]):
        if part.get("class") in _HARMFUL_NODES:
            what = _HARMFUL_NODES[part["class"]]
            raise UsageError(
                f"{option} {condition!r} holds {what}; use only the columns of `units`", option=option, value=condition
            )


def _check_functions(
    cursor: duckdb.DuckDBPyConnection, expression: dict[str, Any], *, condition: str, option: str
) -> None:
    used = sorted({part["function_name"] for part in _nodes(expression) if part.get("class") == "FUNCTION"})
    volatile = cursor.execute(
        "SELECT DISTINCT function_name FROM duckdb_functions() WHERE stability = 'VOLATILE' "
        "AND list_contains($used, function_name) ORDER BY ALL",
        {"used": used},
    ).fetchall()
    if volatile:
        raise UsageError(
            f"{option} {condition!r} calls {volatile[0][0]}(), which is not a pure function",
            option=option,
            value=condition,
        )


def _nodes(tree: object) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
    children = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    for child in children:
        yield from _nodes(child)
