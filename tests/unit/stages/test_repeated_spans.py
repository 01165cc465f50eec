"""Spans that share their id with their caller, and spans that were recorded twice under other ids."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.stages.stored import CLIENT, CONSUMER, PRODUCER, SERVER, Span, request, store, times
from tracekit.analysis import quality
from tracekit.stages.trace_operations import operations
from tracekit.store import Database

FRONT = Span(1, 0, 100, "GET", kind=SERVER, service="front")
CALLING = Span(2, 5, 95, "route", parent=1, kind=CLIENT, service="front")
CALLED = Span(2, 8, 90, "route", parent=1, kind=SERVER, service="back")
BELOW = Span(4, 20, 60, "db", parent=2, kind=CLIENT, service="back")


@pytest.mark.parametrize("kinds", [(CLIENT, SERVER), (PRODUCER, CONSUMER)])
def test_client_and_server_with_one_id_are_two_spans(database: Database, kinds: tuple[int, int]) -> None:
    """In either order; what hangs below the id belongs to the one that sent it."""
    own = Span(5, 91, 94, "log", parent=2, service="front")
    spans = [FRONT, replace(CALLING, kind=kinds[0]), replace(CALLED, kind=kinds[1]), BELOW, own]
    store(database, spans)
    found = times(database)
    if kinds == (CLIENT, SERVER):
        assert {(stage, operation): ns for (_, stage, operation), ns in found.items()} == {
            ("front:GET", "GET"): 10, ("edge:front->back", "route"): 5, ("back:route", "route"): 42,
            ("back:db", "db"): 40, ("front:log", "log"): 3,
        }  # fmt: skip
    with Database.open(None) as other:
        store(other, spans[::-1])
        assert times(other) == found


def test_a_shared_id_is_shown_as_it_came(database: Database) -> None:
    store(database, [FRONT, CALLING, CALLED, BELOW])
    shown = operations(database, trace_id=f"{1:032x}")
    assert sorted(shown["span_id"].drop_nulls().to_list()) == [f"{number:016x}" for number in (1, 2, 2, 4)]


CALL = Span(
    2, 10, 90, "chat m", parent=1, kind=CLIENT, service="front",
    attributes={
        "gen_ai.operation.name": "chat", "gen_ai.request.model": "m",
        "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10,
    },
)  # fmt: skip


@pytest.mark.parametrize("copies", [1, 2])
def test_a_call_that_was_recorded_twice_is_one(database: Database, copies: int) -> None:
    """Its tokens count once, its time is not doubled, what hangs below any of the two stays, and it is told."""
    served = [Span(20, 20, 80, "serve", parent=3, kind=SERVER, service="engine", attributes={"a": 1})]
    store(database, [FRONT, CALL, *(replace(CALL, id=3 + number) for number in range(copies)), *served])
    unit = request(database)
    assert (unit["input_tokens"], unit["output_tokens"], unit["flags"]) == (100, 10, "repeated_spans")
    assert sum(times(database).values()) == 100
    assert any(stage.startswith("engine") for _, stage, _ in times(database))
    findings = {row["check"]: row for row in quality(database).findings.to_dicts()}
    assert (findings["repeated_spans"]["count"], findings["repeated_spans"]["severity"]) == (1, "warning")


def test_copies_below_copies_are_one(database: Database) -> None:
    """Where a whole tree was recorded twice."""
    below = replace(CALL, id=20, start=20, end=80, name="POST", parent=2)
    store(database, [FRONT, CALL, below, replace(CALL, id=3), replace(below, id=21, parent=3)])
    unit = request(database)
    assert (unit["span_count"], unit["input_tokens"]) == (3, 100)


@pytest.mark.parametrize(
    "other",
    [
        replace(CALL, id=3, attributes={**CALL.attributes, "gen_ai.response.id": "r2"}),
        replace(CALL, id=3, start=11),
        replace(CALL, id=3, service="other"),
        replace(CALL, id=3, name="chat n"),
    ],
)
def test_like_calls_are_no_copies(database: Database, other: Span) -> None:
    store(database, [FRONT, CALL, other])
    assert "repeated_spans" not in (request(database)["flags"] or "")


def test_many_like_calls_of_a_coarse_clock_are_no_copies(database: Database) -> None:
    store(database, [FRONT, *(replace(CALL, id=10 + number) for number in range(5))])
    assert request(database)["input_tokens"] == 500
