"""The units that enter a tail question, as arrays, and the bands of them that are compared."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, Literal

import duckdb
import numpy as np
import polars as pl

from tracekit import queries
from tracekit.analysis.condition import checked_condition
from tracekit.errors import QueryError

Metric = Literal["ttft", "tpot", "e2e", "step"]

OUTCOMES = ("ok", "failed", "aborted", "rejected", "invalid", "unknown")
"""How units end."""

SELECTION, BASELINE = 0, 1
"""Sides of a comparison: the selection, and the baseline selection where there is one."""

CLASS_LIMIT = 255
"""Classes of units that stay apart; rarer ones are one class together, shown as such."""


_UNKNOWN_COLUMN = re.compile(r'Referenced column "([^"]+)" not found')


@dataclass(frozen=True)
class MeasuredUnits:
    """Units of one side with their metric: parallel arrays, ordered by metric, then unit.

    Times are int64 nanoseconds; unknown token counts are -1.
    """

    unit_id: np.ndarray
    start_ns: np.ndarray
    value_ns: np.ndarray
    class_id: np.ndarray
    input_tokens: np.ndarray
    output_tokens: np.ndarray

    @property
    def count(self) -> int:
        """Number of units."""
        return len(self.unit_id)

    @property
    def duration_ns(self) -> int:
        """Time from the first start to the last, plus one nanosecond; 0 without units."""
        return int(self.start_ns.max() - self.start_ns.min()) + 1 if self.count else 0


@dataclass(frozen=True)
class Band:
    """Units of one side whose metric lies between two of its quantiles, both ends included.

    `first` and `last` are positions in the units ordered by metric: the band is `[first, last)`.
    `lower` and `upper` are the quantiles; 0 and 1 leave that end open.
    """

    lower: float
    upper: float
    first: int
    last: int

    @property
    def count(self) -> int:
        """Number of units in the band."""
        return self.last - self.first


def band(units: MeasuredUnits, *, lower: float, upper: float = 1.0) -> Band:
    """The units between two quantiles of the metric; equal values stay together.

    A quantile is the smallest observed value at or below which at least that share of the units lies.
    """
    if units.count == 0:
        return Band(lower, upper, 0, 0)
    low, high = quantile_ns(units.value_ns, lower), quantile_ns(units.value_ns, upper)
    first = int(np.searchsorted(units.value_ns, low, side="left"))
    last = int(np.searchsorted(units.value_ns, high, side="right"))
    return Band(lower, upper, first, last)


def quantile_ns(ordered_ns: np.ndarray, quantile: float) -> int:
    """The smallest value of an ordered array at or below which at least this share of the values lies."""
    # The tolerance keeps 0.99 * 300 = 297.00000000000006 from meaning the 298th value.
    rank = math.ceil(quantile * len(ordered_ns) - 1e-9)
    return int(ordered_ns[min(max(rank, 1), len(ordered_ns)) - 1])


def select_units(
    cursor: duckdb.DuckDBPyConnection,
    metric: Metric,
    *,
    where: str | None,
    baseline: str | None,
    outcome: str,
) -> list[MeasuredUnits]:
    """Units of the selection and of the baseline selection (empty for None).

    Leaves the temporary tables `tail_units` and `tail_classes` on the cursor for the statements of
    `queries/tail`. Raises `QueryError` or `UsageError` where a condition is not one.
    """
    _create_selection(cursor, where=where, baseline=baseline)
    parameters = {"metric": metric, "outcome": outcome}
    try:
        create_table(cursor, "tail_units", "tail/units", parameters)
    except duckdb.Error as error:
        raise QueryError(f"the units cannot be selected: {error}") from error
    create_table(cursor, "tail_classes", "tail/classes", {"class_limit": CLASS_LIMIT})
    columns = cursor.execute(queries.text("tail/measured_units")).fetchnumpy()
    return [_side(columns, side) for side in (SELECTION, BASELINE)]


def create_stage_rows(cursor: duckdb.DuckDBPyConnection, metric: Metric, members: pl.DataFrame) -> None:
    """Leave the frame `tail_members` and the temporary table `tail_stage_rows` on the cursor.

    `members` has the columns `unit_id`, `band`, `bin` and `class_id`.
    """
    cursor.register("tail_members", members)
    if metric == "tpot":
        create_table(cursor, "tail_stage_rows", "tail/stage_rows_per_token", {})
    else:
        create_table(cursor, "tail_stage_rows", "tail/stage_rows", {"metric": metric})


def rows(cursor: duckdb.DuckDBPyConnection, name: str, parameters: dict[str, Any] | None = None) -> pl.DataFrame:
    """Rows of `queries/<name>.sql` on the cursor that holds the temporary tables."""
    relation = cursor.sql(queries.text(name), params=parameters)
    return pl.DataFrame() if relation is None else relation.pl()


def _create_selection(cursor: duckdb.DuckDBPyConnection, *, where: str | None, baseline: str | None) -> None:
    selection = checked_condition(cursor, where, option="where")
    parts = [f"SELECT {SELECTION}::UTINYINT AS side, units.* FROM units WHERE {selection}"]
    if baseline is not None:
        condition = checked_condition(cursor, baseline, option="baseline")
        parts.append(f"SELECT {BASELINE}::UTINYINT AS side, units.* FROM units WHERE {condition}")
    try:
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW tail_selection AS {' UNION ALL '.join(parts)}")
    except duckdb.Error as error:
        hint = _attribute_hint(cursor, str(error))
        raise QueryError(f"a condition does not fit the view `units`: {error}{hint}") from error


def _attribute_hint(cursor: duckdb.DuckDBPyConnection, message: str) -> str:
    """How to write a column that DuckDB does not know where units have an attribute of its name."""
    unknown = _UNKNOWN_COLUMN.search(message)
    if unknown is None:
        return ""
    name = unknown[1]
    found = cursor.execute(queries.text("tail/attribute_exists"), {"attribute": name}).fetchall()[0][0]
    quoted = name.replace("'", "''")
    return f"\nUnits have an attribute of this name: write attributes['{quoted}']" if found else ""


def create_table(cursor: duckdb.DuckDBPyConnection, name: str, query: str, parameters: dict[str, Any]) -> None:
    """Leave the rows of `queries/<query>.sql` as the temporary table `name` on the cursor."""
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS {queries.text(query)}", parameters or None)


def _side(columns: dict[str, np.ndarray], side: int) -> MeasuredUnits:
    chosen = np.flatnonzero(columns["side"] == side)
    order = chosen[np.lexsort((columns["unit_id"][chosen], columns["value_ns"][chosen]))]
    names = ("unit_id", "start_ns", "value_ns", "class_id", "input_tokens", "output_tokens")
    return MeasuredUnits(**{name: np.asarray(columns[name][order]) for name in names})
