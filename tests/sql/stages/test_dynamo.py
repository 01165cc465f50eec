"""Dynamo's frontend, router and worker endpoints; its engines have mappings of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import CLIENT, ERROR, INTERNAL, SERVER, Span, by_stage, request, store, times
from tracekit.store import Database

MS = 1_000_000


def span(number: int, start_ms: int, end_ms: int, name: str, parent: int = 0, **more: Any) -> Span:
    """A span of frontend or worker; times in milliseconds."""
    return Span(number, start_ms * MS, end_ms * MS, name, parent=parent, **({"service": "dynamo"} | more))


ROOT = span(
    1, 0, 100, "http-request", kind=SERVER,
    attributes={
        "method": "POST", "uri": "/v1/chat/completions", "x_request_id": "a", "model": "llama",
        "input_tokens": 70, "output_tokens": 11, "ttft_ms": 50.0, "avg_itl_ms": 4.5,
    },
)  # fmt: skip
CHOICE = span(2, 4, 9, "kv_router.select_worker", 1)
SCHEDULE = span(3, 5, 8, "kv_router.schedule", 2)
ROUTE = span(
    4, 10, 97, "kv_router.route_request", 1, kind=CLIENT,
    attributes={"phase": "Aggregated", "request.attempt": 0, "request.outcome": "success"},
)  # fmt: skip
ENDPOINT = span(5, 12, 95, "handle_payload", 4, kind=SERVER, service="worker", attributes={"component": "backend"})
GENERATE = span(
    6, 14, 95, "engine.generate", 5, kind=INTERNAL, service="worker",
    attributes={"disagg_role": "prefill_and_decode", "ttft_ms": 34.0, "output_tokens": 11},
)  # fmt: skip
ENGINE = span(
    7, 16, 95, "llm_request", 6, kind=SERVER, service="worker",
    attributes={
        "gen_ai.latency.time_to_first_token": 0.032, "gen_ai.latency.e2e": 0.078,
        "gen_ai.latency.time_in_queue": 0.010, "gen_ai.latency.time_in_model_prefill": 0.022,
        "gen_ai.latency.time_in_model_decode": 0.046, "gen_ai.usage.completion_tokens": 11,
    },
)  # fmt: skip
WHOLE = [ROOT, CHOICE, SCHEDULE, ROUTE, ENDPOINT, GENERATE, ENGINE]


def test_every_layer_has_its_own_time(database: Database) -> None:
    """Frontend, choice, way to the worker, endpoint, engine; and the same way back."""
    store(database, WHOLE)
    found = times(database)
    assert by_stage(found, "ttft") == {
        "gw.ingress": (4 + 1) * MS,
        "gw.queue": 3 * MS,
        "gw.route": 2 * MS,
        "net.dispatch": 2 * MS,
        "unsplit(fe.dispatch|fe.preprocess)": 2 * MS,
        "fe.dispatch": 2 * MS,
        "eng.queue": 10 * MS,
        "eng.prefill": 22 * MS,
        "out.stream": 2 * MS,
    }
    assert by_stage(found, "decode") == {"eng.decode": 44 * MS}
    assert by_stage(found, "after") == {"out.detok": 1 * MS, "out.stream": (2 + 3) * MS}


def test_the_frontend_tells_first_and_last_token(database: Database) -> None:
    """TTFT in milliseconds, the last token by the mean gap; the engine's own last token is preferred."""
    store(database, [ROOT])
    unit = request(database)
    assert (unit["ttft_ns"], unit["last_token_ns"], unit["vantage"]) == (50 * MS, 95 * MS, "gateway")
    assert (unit["input_tokens"], unit["output_tokens"], unit["model"]) == (70, 11, "llama")


def test_an_impossible_ttft_is_a_conflict(database: Database) -> None:
    """Longer than the request itself: not used, counted."""
    store(database, [replace(ROOT, attributes=ROOT.attributes | {"ttft_ms": 5000.0})])
    unit = request(database)
    assert (unit["ttft_ns"], unit["flags"]) == (None, "conflict:ttft")


def test_without_spans_of_the_engine_its_call_says_when_the_first_token_came(database: Database) -> None:
    """Queue and prefill stay together before it."""
    store(database, WHOLE[:-1])
    found = times(database)
    assert by_stage(found, "ttft")["unsplit(eng.prefill|eng.queue)"] == 34 * MS
    assert by_stage(found, "decode")["eng.decode"] == 45 * MS


@pytest.mark.parametrize(
    ("component", "stage"),
    [
        ("prefill", "unsplit(eng.prefill|eng.queue)"),
        ("backend", "unsplit(eng.decode|eng.prefill|eng.queue)"),
    ],
)
def test_an_endpoint_alone_holds_all_that_its_engine_does(database: Database, component: str, stage: str) -> None:
    """Nothing below it: nobody can tell the stages apart."""
    endpoint = replace(ENDPOINT, attributes={"component": component})
    store(database, [ROOT, ROUTE, endpoint])
    assert by_stage(times(database), "ttft")[stage] == 38 * MS


def test_an_attempt_in_vain_is_retry_with_all_below_and_the_pause_after_it(database: Database) -> None:
    """The next attempt starts from nothing."""
    first = replace(
        ROUTE,
        end=30 * MS,
        status=ERROR,
        attributes={"request.attempt": 0, "request.outcome": "worker_disconnected"},
    )
    lost = replace(ENDPOINT, end=30 * MS)
    again = replace(ROUTE, id=14, start=35 * MS, attributes={"request.attempt": 1, "request.outcome": "success"})
    store(database, [ROOT, first, lost, again])
    found = times(database)
    assert by_stage(found, "ttft")["retry"] == 25 * MS
    assert request(database)["outcome"] == "ok"


def test_a_migration_that_keeps_its_tokens_wastes_only_the_pause(database: Database) -> None:
    """Tokens of the first worker have reached the client; its stages stay what they were."""
    first = replace(ROUTE, end=70 * MS, status=ERROR)
    carried = {"request.attempt": 1, "migration.is_retry": True, "migration.tokens_completed": 5}
    again = replace(ROUTE, id=14, start=75 * MS, attributes=ROUTE.attributes | carried)
    store(database, [ROOT, first, replace(ENDPOINT, end=70 * MS), again])
    found = times(database)
    assert "retry" not in by_stage(found, "ttft")
    assert by_stage(found, "decode")["retry"] == 5 * MS


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("cancelled", "aborted"),
        ("deadline_exceeded", "aborted"),
        ("rejected", "rejected"),
        ("timeout", "failed"),
        ("success", "ok"),
    ],
)
def test_the_last_attempt_says_how_the_request_ended(database: Database, said: str, outcome: str) -> None:
    """The frontend's own span has no status of HTTP."""
    route = replace(ROUTE, attributes={"request.outcome": said})
    store(database, [ROOT, route])
    assert request(database)["outcome"] == outcome


def test_a_route_that_ends_with_the_dispatch_leaves_the_worker_unexplained(database: Database) -> None:
    """As older versions send it: the endpoint outlives its parent."""
    store(database, [ROOT, replace(ROUTE, end=13 * MS), ENDPOINT])
    found = times(database)
    assert by_stage(found, "ttft")["unsplit(eng.decode|eng.prefill|eng.queue)"] == 38 * MS
    assert by_stage(found, "decode") == {"unsplit(eng.decode|eng.prefill|eng.queue)": 45 * MS}


def test_spans_of_the_lifecycle_trace_have_stages(database: Database) -> None:
    """Preprocessing and admission are told; streaming runs beside decoding."""
    told = {"dynamo.request.id": "a"}
    life = span(8, 0, 100, "request.lifecycle", 1, attributes=told)
    steps = [
        span(9, 0, 10, "request.preprocessing", 8, attributes=told),
        span(10, 10, 12, "worker.admission", 8, attributes=told),
        span(11, 12, 40, "worker.operation.prefill", 8, attributes=told),
        span(12, 40, 100, "response.streaming", 8, attributes=told),
    ]
    store(database, [ROOT, life, *steps])
    found = by_stage(times(database), "ttft")
    assert found == {
        "fe.preprocess": 10 * MS,
        "fe.dispatch": 2 * MS,
        "unsplit(eng.prefill|eng.queue)": 28 * MS,
        "unsplit(eng.decode|out.stream)": 10 * MS,
    }


def test_spans_of_others_with_the_same_names_are_left_alone(database: Database) -> None:
    """`http-request` without any attribute of Dynamo's."""
    store(database, [span(1, 0, 10, "http-request", service="shop")])
    assert set(by_stage(times(database), "e2e")) == {"shop:http-request"}
