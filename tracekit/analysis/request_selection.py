"""The requests that a question about outcomes is about."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb
import polars as pl

from tracekit.analysis.condition import checked_condition
from tracekit.analysis.slo import Slo
from tracekit.analysis.temporary import rows
from tracekit.errors import QueryError

SERVICE = "service"
"""Vantage of requests that call no model."""


def select_requests(
    cursor: duckdb.DuckDBPyConnection, *, where: str | None, classes: Sequence[Slo] = (Slo(),)
) -> tuple[int, int]:
    """Leave the view `request_selection` on the cursor: units with the number of their class as `slo_class`.

    Where any selected request calls a model, those that call none (health checks, background work) are no part of it.
    Returns how many requests were left out for this, and how many because no class is theirs. Raises `QueryError` or
    `UsageError` for a condition that is none.
    """
    condition = checked_condition(cursor, where, option="where")
    kinds = [checked_condition(cursor, one.where, option=f"the SLO class {one.name}") for one in classes]
    cases = " ".join(f"WHEN {kind} THEN {number}" for number, kind in enumerate(kinds))
    _view(cursor, "request_candidates", f"SELECT * FROM units WHERE kind = 'request' AND {condition}")
    population = rows(cursor, "goodput/population")
    calling = population.filter(pl.col("vantage") != SERVICE)["request_count"].sum()
    serving = f"vantage != '{SERVICE}'" if calling else "true"
    _view(cursor, "request_classes", f"SELECT *, CASE {cases} END AS slo_class FROM request_candidates WHERE {serving}")
    _view(cursor, "request_selection", "SELECT * FROM request_classes WHERE slo_class IS NOT NULL")
    unclassed = cursor.sql("SELECT count(*) FROM request_classes WHERE slo_class IS NULL").fetchall()[0][0]
    total = int(population["request_count"].sum())
    return (total - int(calling) if calling else 0), int(unclassed)


def _view(cursor: duckdb.DuckDBPyConnection, name: str, statement: str) -> None:
    try:
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {statement}")
    except duckdb.Error as error:
        raise QueryError(f"a condition does not fit the view `units`: {error}") from error
