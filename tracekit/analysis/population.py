"""Which units an answer counts together: one rule for every question, `queries/population/left_out.sql`."""

from __future__ import annotations

from typing import Literal

import duckdb

from tracekit import queries

IMPLAUSIBLE = "implausible times"
NO_MODEL_CALL = "without a call of a model"
FROM_MESSAGE = "started by a message"
NOT_FROM_MESSAGE = "not started by a message"
OTHER_LAYER = "seen from "
"""Reasons to be left out; the last one is followed by the layer."""

Messages = Literal["counted", "aside", "only"]
"""What becomes of work that messages start, beside the requests that send them and do not wait for it."""


def population_of(
    cursor: duckdb.DuckDBPyConnection,
    candidates: str,
    *,
    seen_from: str | None = None,
    messages: Messages = "counted",
) -> None:
    """Leave the table `unit_populations` on the cursor: `side`, `unit_id` and `reason` of units that are left out.

    `candidates` is a statement with the columns that the query reads as `population_candidates`. `seen_from` is the
    layer that answers, None for the one that has most units. `messages`: as of work that they start.
    """
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW population_candidates AS {candidates}")
    statement = f"CREATE OR REPLACE TEMP TABLE unit_populations AS {queries.text('population/left_out')}"
    cursor.execute(statement, {"seen_from": seen_from, "messages": messages})


def answering_layer(cursor: duckdb.DuckDBPyConnection) -> str | None:
    """The layer that the units are seen from which are not left out; None where they call no model."""
    kept = (
        "SELECT any_value(seen_from) FROM population_candidates ANTI JOIN unit_populations USING (side, unit_id) "
        "WHERE kind = 'request' AND side = 0 AND seen_from != 'service'"
    )
    return cursor.execute(kept).fetchall()[0][0]
