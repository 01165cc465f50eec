"""How requests ended: what a root span says, what calls say, and how several calls count together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import CLIENT, ERROR, SERVER, Span, request, store
from tracekit.store import Database

STATUS = "http.response.status_code"
GRPC = "rpc.grpc.status_code"
GENAI = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "large"}
ROOT = Span(1, 0, 100, "POST /v1/chat/completions", kind=SERVER, attributes={STATUS: 200})
AGENT = Span(1, 0, 100, "agent")
FIRST = Span(2, 10, 30, "chat large", parent=1, kind=CLIENT, attributes=GENAI)
SECOND = replace(FIRST, id=3, start=40, end=90)
OK_CODE = 1


@pytest.mark.parametrize(
    ("attributes", "status", "outcome"),
    [
        ({STATUS: 200}, 0, "ok"),
        ({STATUS: 499}, ERROR, "aborted"),
        ({STATUS: "503"}, ERROR, "rejected"),
        ({STATUS: 404}, 0, "invalid"),
        ({STATUS: 408}, 0, "failed"),
        ({STATUS: 502, "error.type": "aiohttp.ServerDisconnectedError"}, ERROR, "failed"),
        ({STATUS: 500, "error.type": "ConnectionAbortedError"}, 0, "failed"),
        ({STATUS: 429, "error.type": "timeout"}, ERROR, "rejected"),
        ({GRPC: 1}, 0, "aborted"),
        ({GRPC: 4}, 0, "failed"),
        ({GRPC: 8, "error.type": "cancelled"}, ERROR, "rejected"),
        ({GRPC: 0}, 0, "ok"),
        ({"rpc.response.status_code": "DEADLINE_EXCEEDED"}, ERROR, "failed"),
        ({"rpc.response.status_code": "RESOURCE_EXHAUSTED"}, ERROR, "rejected"),
        ({"rpc.response.status_code": "NOT_FOUND"}, 0, "invalid"),
        ({"rpc.response.status_code": "OK"}, 0, "ok"),
        ({STATUS: 200, GRPC: 14}, 0, "rejected"),
        ({"error.type": "429"}, ERROR, "rejected"),
        ({"error.type": "500"}, 0, "failed"),
        ({"error.type": "client_disconnect"}, ERROR, "aborted"),
        ({"error.type": "asyncio.CancelledError"}, ERROR, "aborted"),
        ({"error.type": "stream_drop"}, 0, "aborted"),
        ({"error.type": "worker_overloaded"}, ERROR, "rejected"),
        ({"error.type": "resource_exhausted"}, ERROR, "rejected"),
        ({"error.type": "Rate limit exceeded"}, ERROR, "rejected"),
        ({"error.type": "worker_disconnected"}, ERROR, "failed"),
        ({"error.type": "timeout"}, 0, "failed"),
        ({STATUS: 200}, ERROR, "failed"),
        ({STATUS: 200, "error.type": "client_disconnect"}, ERROR, "aborted"),
        ({}, ERROR, "failed"),
        ({}, OK_CODE, "ok"),
        ({}, 0, "ok"),
    ],
)
def test_a_status_decides_then_the_type_of_the_error(
    database: Database, attributes: dict[str, Any], status: int, outcome: str
) -> None:
    """An HTTP or gRPC status of failure first; behind a success, or without status, the error type."""
    store(database, [Span(1, 0, 100, "serve", kind=SERVER, status=status, attributes=attributes)])
    assert request(database)["outcome"] == outcome


@pytest.mark.parametrize(
    ("error", "outcome"),
    [({"error.type": "timeout"}, "failed"), ({}, "failed"), ({"error.type": "cancelled"}, "aborted")],
)
def test_a_stream_that_broke_behind_a_status_of_200_is_not_ok(
    database: Database, error: dict[str, Any], outcome: str
) -> None:
    """The status went out before the stream broke; the call knows better."""
    broken = replace(FIRST, status=ERROR, attributes=GENAI | error, events=(("first_token", 20),))
    store(database, [ROOT, broken])
    unit = request(database)
    assert (unit["outcome"], unit["last_token_ns"]) == (outcome, None)


def test_a_call_that_was_repeated_and_succeeded_is_ok(database: Database) -> None:
    """The attempt that failed first does not count any more."""
    store(database, [ROOT, replace(FIRST, status=ERROR, attributes=GENAI | {"error.type": "503"}), SECOND])
    assert request(database)["outcome"] == "ok"


@pytest.mark.parametrize("start", [40, 20])
def test_a_call_that_failed_last_or_beside_another_counts(database: Database, start: int) -> None:
    """A repetition comes after; parallel calls do not repeat each other."""
    failed = replace(SECOND, start=start, status=ERROR, attributes=GENAI | {"error.type": "429"})
    store(database, [ROOT, FIRST, failed])
    assert request(database)["outcome"] == "rejected"


def test_a_fallback_inside_a_call_that_answered_does_not_count(database: Database) -> None:
    """The outer call says why it finished: its client got its answer."""
    outer = replace(SECOND, start=5, attributes=GENAI | {"gen_ai.response.finish_reasons": ["stop"]})
    inner = replace(FIRST, parent=3, status=ERROR)
    store(database, [AGENT, outer, inner])
    assert request(database)["outcome"] == "ok"


@pytest.mark.parametrize(
    ("first", "second", "outcome"),
    [
        ({}, {}, "ok"),
        ({"gen_ai.response.finish_reasons": ["stop"]}, {"gen_ai.usage.output_tokens": 3}, "ok"),
        (
            {"gen_ai.response.finish_reasons": ["stop"]},
            {"gen_ai.response.finish_reasons": ["abort"]},
            "aborted",
        ),
    ],
)
def test_several_calls_of_an_agent_count_together(
    database: Database, first: dict[str, Any], second: dict[str, Any], outcome: str
) -> None:
    """One bad end is that of the request; all well is ok."""
    store(
        database,
        [
            AGENT,
            replace(FIRST, attributes=GENAI | first),
            replace(SECOND, attributes=GENAI | second),
        ],
    )
    assert request(database)["outcome"] == outcome


def test_an_engine_that_tells_of_no_token_leaves_the_outcome_unknown(database: Database) -> None:
    """Nobody says how the request ended, and its engine made nothing."""
    engine = Span(2, 10, 90, "llm_request", parent=1, kind=SERVER)
    store(database, [AGENT, engine])
    assert request(database)["outcome"] == "unknown"


@pytest.mark.parametrize(
    ("lost_ns", "outcome"),
    [(50, "ok"), (95, "ok"), (90 + 200_000_000, "aborted")],
)
def test_the_call_that_lost_a_race_does_not_count(database: Database, lost_ns: int, outcome: str) -> None:
    """A hedge: of two calls at once the slower one is called off, while the other one streams or when it has ended."""
    lost = replace(FIRST, end=lost_ns, status=ERROR, attributes=GENAI | {"error.type": "CancelledError"})
    root = replace(ROOT, end=max(100, lost_ns))
    store(database, [root, lost, replace(SECOND, start=20, attributes=GENAI | {"gen_ai.usage.output_tokens": 3})])
    assert request(database)["outcome"] == outcome
