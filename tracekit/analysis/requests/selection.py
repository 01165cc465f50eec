"""The requests that a question about outcomes is about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb

from tracekit import queries
from tracekit.analysis.condition import checked_condition
from tracekit.analysis.population import Messages, answering_layer, population_of
from tracekit.analysis.requests.slo import Slo
from tracekit.errors import QueryError

_MEASURED = {"ttft": "ttft_ns IS NOT NULL", "tpot": "tpot_ns IS NOT NULL"}
"""What a served request must have to be judged by a term of an SLO."""


@dataclass(frozen=True)
class SelectedRequests:
    """What a selection left out.

    left_out: requests by why no answer counts them with the others. unclassed: those that no class takes. seen_from:
    the layer whose spans the requests have, None where they call no model.
    """

    left_out: dict[str, int]
    unclassed: int
    seen_from: str | None


def select_requests(
    cursor: duckdb.DuckDBPyConnection,
    *,
    where: str | None,
    classes: Sequence[Slo] = (Slo(),),
    seen_from: str | None = None,
    messages: Messages = "counted",
) -> SelectedRequests:
    """Leave the view `request_selection` on the cursor: units with the number of their class as `slo_class`.

    The macros of `units/said_values.sql`, by which statuses are read, are left there too.

    The rule of `population_of` says who is in it, with `messages`; `seen_from` is the layer that answers, None for that
    of the rule.
    Raises `QueryError` or `UsageError` for a condition that is none.
    """
    cursor.execute(queries.text("units/said_values"))
    condition = checked_condition(cursor, where, option="where")
    kinds = [checked_condition(cursor, one.where, option=f"the SLO class {one.name}") for one in classes]
    cases = " ".join(f"WHEN {kind} THEN {number}" for number, kind in enumerate(kinds))
    _view(cursor, "request_candidates", f"SELECT * FROM units WHERE kind = 'request' AND {condition}")
    population_of(cursor, _candidates(classes), seen_from=seen_from, messages=messages)
    kept = "request_candidates ANTI JOIN unit_populations USING (unit_id)"
    _view(cursor, "request_classes", f"SELECT *, CASE {cases} END AS slo_class FROM {kept}")
    _view(cursor, "request_selection", "SELECT * FROM request_classes WHERE slo_class IS NOT NULL")
    left_out = cursor.sql("SELECT reason, count(*) FROM unit_populations GROUP BY reason ORDER BY reason").fetchall()
    unclassed = cursor.sql("SELECT count(*) FROM request_classes WHERE slo_class IS NULL").fetchall()[0][0]
    return SelectedRequests(dict(left_out), int(unclassed), answering_layer(cursor))


def _candidates(classes: Sequence[Slo]) -> str:
    terms = [says for term, says in _MEASURED.items() if any(getattr(one, f"{term}_ns") is not None for one in classes)]
    measured = " AND ".join(["outcome = 'ok'", *terms])
    known = "unit_id, kind, service_name, name, outcome, flags, seen_from"
    return f"SELECT 0 AS side, {known}, {measured} AS is_measured FROM request_candidates"


def _view(cursor: duckdb.DuckDBPyConnection, name: str, statement: str) -> None:
    try:
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {statement}")
    except duckdb.Error as error:
        raise QueryError(f"a condition does not fit the view `units`: {error}") from error
