"""What reads a model's answer while it comes (a parser of a stream, as LangChain shows it) waits for the call."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import CLIENT, Span, request, store, times
from tracekit.store import Database

CHAIN = Span(1, 0, 100, "chain")
CALL = Span(2, 10, 90, "chat", parent=1, kind=CLIENT, attributes={"gen_ai.operation.name": "chat"})
OPENAI = "opentelemetry.instrumentation.openai_v2"
PARSER = Span(3, 70, 95, "parser", parent=1)


def test_the_call_has_the_time_until_it_ends(database: Database) -> None:
    store(database, [CHAIN, CALL, PARSER])
    assert times(database) == {
        ("e2e", "service:chain", "chain"): 15,
        ("e2e", "upstream", "chat"): 80,
        ("e2e", "service:parser", "parser"): 5,
    }


@pytest.mark.parametrize("attributes", [{"gen_ai.operation.name": "execute_tool"}, {"openinference.span.kind": "TOOL"}])
def test_a_tool_beside_the_call_has_its_own_time(database: Database, attributes: dict[str, Any]) -> None:
    store(database, [CHAIN, CALL, replace(PARSER, attributes=attributes)])
    assert sum(ns for (_, stage, _), ns in times(database).items() if "parser" in stage or "tool" in stage) == 25


def test_what_began_with_work_of_its_own_has_that(database: Database) -> None:
    store(database, [CHAIN, CALL, PARSER, Span(4, 72, 94, "lookup", parent=3)])
    assert times(database)["e2e", "service:lookup", "lookup"] == 22


@pytest.mark.parametrize(
    ("scope", "told", "outcome"),
    [
        (OPENAI, {"gen_ai.response.id": "x"}, "unknown"),
        (OPENAI, {"gen_ai.response.id": "x", "gen_ai.response.finish_reasons": '["stop"]'}, "ok"),
        (OPENAI, {"gen_ai.response.id": "x", "gen_ai.usage.output_tokens": 3}, "ok"),
        (OPENAI, {}, "ok"),
        ("a library that tells no ends", {"gen_ai.response.id": "x"}, "ok"),
    ],
)
def test_an_answer_that_began_and_tells_of_no_end_is_unknown(
    database: Database, scope: str, told: dict[str, Any], outcome: str
) -> None:
    """A client that closes its stream leaves the id of the answer, and nothing more."""
    store(database, [replace(CALL, parent=0, scope=scope, attributes=CALL.attributes | told)])
    assert request(database)["outcome"] == outcome
