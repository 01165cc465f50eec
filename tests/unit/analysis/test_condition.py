"""Conditions can filter and do nothing else."""

from __future__ import annotations

from contextlib import closing

import pytest

from tracekit.analysis.condition import checked_condition
from tracekit.errors import QueryError, UsageError
from tracekit.store import Database


@pytest.mark.parametrize(
    "condition",
    [
        "model = 'x'",
        "attributes['scenario'] = 'overload' AND start_ns >= 5",
        "name LIKE 'POST%' OR step BETWEEN 20 AND 29",
        "true -- all of them",
        "lower(model) IN ('a', 'b')",
    ],
)
def test_conditions_over_units_pass(database: Database, condition: str) -> None:
    """Comparisons, attributes, pure functions and comments are fine, and DuckDB runs them."""
    with closing(database.cursor()) as cursor:
        checked = checked_condition(cursor, condition, option="where")
        assert cursor.execute(f"SELECT count(*) FROM units WHERE {checked}").fetchall() == [(0,)]


@pytest.mark.parametrize(
    "condition",
    [
        "unit_id IN (SELECT unit_id FROM units)",
        "EXISTS (FROM read_csv('/etc/passwd'))",
        "true) UNION ALL SELECT 1 FROM (SELECT 1",
        "true) GROUP BY (1",
        "true) ORDER BY (1",
        "row_number() OVER () = 1",
        "random() < 0.5",
        " ",
        "nextval('s') = 1",
    ],
)
def test_more_than_a_condition_is_refused(database: Database, condition: str) -> None:
    """Subqueries, set operations, clauses, window functions and functions that act are refused."""
    with closing(database.cursor()) as cursor, pytest.raises(UsageError, match="where"):
        checked_condition(cursor, condition, option="where")


@pytest.mark.parametrize("condition", ["true); DROP TABLE base.units; SELECT (1", "model = ", "((true)"])
def test_what_does_not_parse_is_a_query_error(database: Database, condition: str) -> None:
    """Syntax errors, and statements hidden behind a condition, never reach the data."""
    with closing(database.cursor()) as cursor, pytest.raises(QueryError, match="not a SQL condition"):
        checked_condition(cursor, condition, option="where")
