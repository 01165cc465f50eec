"""The units that a question is about, on a cursor and in temporary tables of its own."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import Any, Self, TypeVar

import duckdb
import polars as pl

from tracekit import queries
from tracekit.analysis.condition import checked_condition
from tracekit.analysis.measured import BASELINE, SELECTION, MeasuredUnits
from tracekit.analysis.population import Messages, population_of
from tracekit.errors import QueryError
from tracekit.schema import ANY_OUTCOME, METRICS, OUTCOMES, Metric
from tracekit.store import Database

CLASS_LIMIT = 255
"""Classes of units that stay apart; rarer ones are one class together, shown as such."""

CALLS_UNIT_LIMIT = 20_000
"""About so many units of each side are looked at call by call: more do not make a finding clearer."""

Kept = TypeVar("Kept")

_UNKNOWN_COLUMN = re.compile(r'Referenced column "([^"]+)" not found')


class Selection:
    """Units with a metric: those that are asked about, and those of the baseline selection where there is one.

    A context manager. It owns a cursor and, on it, the temporary view `tail_selection` (units of both sides by the
    conditions) and the tables `unit_populations` (who is in no answer with the others), `tail_units` (with metric,
    class and why some are left out) and `tail_classes`, which statements of `queries/tail` and `queries/quality` read.
    All are gone when it is closed.
    """

    def __init__(
        self,
        database: Database,
        metric: Metric,
        *,
        where: str | None = None,
        baseline: str | None = None,
        outcome: str = OUTCOMES[0],
        messages: Messages = "aside",
    ) -> None:
        """Select by the conditions `where` and `baseline` (None: all; no baseline), by `outcome`, and with `messages`.

        Raises `QueryError` or `UsageError` where a condition is not one.
        """
        self.metric = METRICS[metric]
        self.database = database
        self._messages: Messages = messages
        self._cursor = database.cursor()
        self._kept: dict[str, Any] = {}
        try:
            self._select(where=where, baseline=baseline, outcome=outcome)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Drop the temporary tables with the cursor."""
        self._cursor.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def sides(self) -> list[MeasuredUnits]:
        """The units that enter: of the selection, and of the baseline selection (none without one)."""
        columns = self._cursor.execute(queries.text("tail/measured_units")).fetchnumpy()
        return [MeasuredUnits.of_side(columns, side) for side in (SELECTION, BASELINE)]

    def kept(self, name: str, make: Callable[[], Kept]) -> Kept:
        """What `make` gives, made once under this name: what is the same whichever cohorts are compared."""
        if name not in self._kept:
            self._kept[name] = make()
        found: Kept = self._kept[name]
        return found

    def divide(self, attribute: str) -> None:
        """Let units be of one kind only where they have the same value of an attribute: all is to be made anew."""
        self.create_table("tail_kinds", "tail/kinds", attribute=attribute)
        self._cursor.execute(
            "UPDATE tail_units SET population = tail_kinds.population FROM tail_kinds "
            "WHERE tail_kinds.side = tail_units.side AND tail_kinds.unit_id = tail_units.unit_id"
        )
        self.drop("tail_kinds")
        self.create_table("tail_classes", "tail/classes", class_limit=CLASS_LIMIT)
        self._kept.clear()
        self.__dict__.pop("sides", None)

    def sample(self) -> None:
        """Make the table `tail_sampled`, once: some units of both sides; none without a baseline selection."""
        limit = CALLS_UNIT_LIMIT if self.sides[BASELINE].count else 0
        self.kept("sample", lambda: self.create_table("tail_sampled", "tail/sampled_units", unit_limit=limit))

    @cached_property
    def left_out(self) -> pl.DataFrame:
        """How many units do not enter, by `side` and `reason`: rows of `tail/left_out.sql`."""
        return self.rows("tail/left_out")

    @cached_property
    def stored_count(self) -> int:
        """Units of the metric's kind in the store, whatever their outcome."""
        return int(self.rows("tail/stored_count", unit_kind=self.metric.unit_kind).item())

    def rows(self, name: str, /, **parameters: Any) -> pl.DataFrame:
        """Rows of `queries/<name>.sql`, which may read the temporary tables."""
        return self._cursor.sql(queries.text(name), params=parameters or None).pl()

    def sql(self, statement: str) -> pl.DataFrame:
        """Rows of a statement, which may read the temporary tables."""
        return self._cursor.sql(statement).pl()

    def create_table(self, table: str, name: str, /, **parameters: Any) -> None:
        """Keep the rows of `queries/<name>.sql` as the temporary table `table`."""
        self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {queries.text(name)}", parameters or None)

    def register(self, name: str, frame: pl.DataFrame) -> None:
        """Let statements read a frame under a name."""
        self._cursor.register(name, frame)

    def drop(self, *tables: str) -> None:
        """Drop temporary tables."""
        for table in tables:
            self._cursor.execute(f"DROP TABLE IF EXISTS {table}")

    def unregister(self, name: str) -> None:
        """Forget a frame."""
        self._cursor.unregister(name)

    def _select(self, *, where: str | None, baseline: str | None, outcome: str) -> None:
        parts = [self._side(SELECTION, where, option="where")]
        if baseline is not None:
            parts.append(self._side(BASELINE, baseline, option="baseline"))
        try:
            self._cursor.execute(f"CREATE OR REPLACE TEMP VIEW tail_selection AS {' UNION ALL '.join(parts)}")
        except duckdb.Error as error:
            hint = self._attribute_hint(str(error))
            raise QueryError(f"a condition does not fit the view `units`: {error}{hint}") from error
        metric = self.metric
        try:
            self._cursor.execute(f"CREATE OR REPLACE TEMP TABLE tail_described AS {self._described()}")
            self._leave_out(outcome)
            self.create_table(
                "tail_units",
                "tail/units",
                metric=metric.name,
                unit_kind=metric.unit_kind,
                depends_on=list(metric.depends_on),
                outcome=outcome,
            )
        except duckdb.Error as error:
            raise QueryError(f"the units cannot be selected: {error}") from error
        self.create_table("tail_classes", "tail/classes", class_limit=CLASS_LIMIT)

    def _described(self) -> str:
        """The statement for what attributes tell of requests without a model; no rows where all have one."""
        lacking = "SELECT 1 FROM tail_selection WHERE kind = 'request' AND model IS NULL LIMIT 1"
        text = queries.text("tail/described_units")
        return text if self._cursor.execute(lacking).fetchall() else f"SELECT * FROM ({text}) LIMIT 0"

    def _leave_out(self, outcome: str) -> None:
        """Make the table `unit_populations`."""
        fits = "true" if outcome == ANY_OUTCOME else f"outcome = '{outcome}'"
        population_of(
            self._cursor,
            "SELECT side, unit_id, kind, service_name, name, outcome, flags, seen_from, "
            f"{fits} AND value_ns >= 0 AS is_measured "
            f"FROM tail_selection WHERE kind = '{self.metric.unit_kind}'",
            messages=self._messages,
        )

    def _side(self, side: int, condition: str | None, *, option: str) -> str:
        checked = checked_condition(self._cursor, condition, option=option)
        columns = f"{side}::UTINYINT AS side, units.{self.metric.column} AS value_ns, units.*"
        return f"SELECT {columns} FROM units WHERE {checked}"

    def _attribute_hint(self, message: str) -> str:
        """How to write a column that DuckDB does not know where units have an attribute of its name."""
        unknown = _UNKNOWN_COLUMN.search(message)
        if unknown is None:
            return ""
        name = unknown[1]
        quoted = name.replace("'", "''")
        found = self.rows("tail/attribute_exists", attribute=name).item()
        return f"\nUnits have an attribute of this name: write attributes['{quoted}']" if found else ""
