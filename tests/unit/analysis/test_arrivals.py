"""Requests as they arrive: from several layers, with spans of callees that are missing, with times that cannot be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.stages.stored import CLIENT, CONSUMER, ERROR, PRODUCER, SERVER, Span, store
from tracekit.analysis import failures, quality, request_failures, request_goodput, tail
from tracekit.analysis.compare.question import compare
from tracekit.analysis.coverage import coverage_frame
from tracekit.stages import update_units
from tracekit.store import Database

MS = 1_000_000
ENGINE = {
    "gen_ai.latency.time_to_first_token": 0.26, "gen_ai.latency.e2e": 1.9, "gen_ai.latency.time_in_queue": 0.05,
    "gen_ai.latency.time_in_model_prefill": 0.2, "gen_ai.usage.completion_tokens": 64,
}  # fmt: skip
HTTP = {"http.request.method": "POST", "http.route": "/v1/chat/completions", "http.response.status_code": 200}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}


def served(number: int, *, has_engine: bool = True, host: str | None = None, **call: Any) -> list[Span]:
    """A request of a gateway that calls an engine, whose span may be missing."""
    trace, start = number + 1, number * 1000 * MS
    called = CHAT | {"server.address": "engine-3.svc"} | {key.replace("__", "."): value for key, value in call.items()}
    spans = [
        Span(1, start, start + 2000 * MS, "POST /v1/chat/completions", trace=trace, kind=SERVER, service="gateway",
             host=host, attributes=HTTP),
        Span(2, start + 10 * MS, start + 1990 * MS, "chat m", parent=1, trace=trace, kind=CLIENT, service="gateway",
             host=host, attributes=called),
    ]  # fmt: skip
    engine = Span(
        3, start + 20 * MS, start + 1980 * MS, "llm_request", parent=2, trace=trace, kind=SERVER, service="vllm",
        attributes=ENGINE,
    )  # fmt: skip
    return [*spans, engine] if has_engine else spans


def disjoint(clients: int, engines: int) -> list[Span]:
    """Calls that their client saw, and requests that an engine saw, without anything that joins them."""
    seen = [
        Span(1, at * 1000 * MS, (at * 1000 + 4000) * MS, "chat m", trace=at + 1, kind=CLIENT, service="app",
             attributes=CHAT)
        for at in range(clients)
    ]  # fmt: skip
    return seen + [
        Span(1, (at * 1000 + 700) * MS, (at * 1000 + 2600) * MS, "llm_request", trace=1000 + at, kind=SERVER,
             service="vllm", attributes=ENGINE)
        for at in range(engines)
    ]  # fmt: skip


def test_two_layers_are_never_one_population(database: Database) -> None:
    """Every answer is about the same ones, and says so; where both have as many, the outermost."""
    store(database, disjoint(60, 60))
    update_units(database)
    answer = tail(database, "e2e")
    assert (answer.count, answer.evidence.verdict) == (60, "usable")
    assert answer.left_out.rows() == [(0, "seen from engine", 60)]
    assert request_failures(database).attempted == 60
    goodput = request_goodput(database, "e2e=10s")
    assert (goodput.attempted, goodput.left_out, goodput.seen_from) == (60, {"seen from engine": 60}, "client")
    compared = compare(database, None, None)
    assert (compared.before_count, compared.after_count, compared.left_out) == (60, 60, {"seen from engine": 120})
    assert quality(database).verdict == "usable"
    for summary in (goodput.summary, request_failures(database).summary, compared.summary):
        assert "seen from the engine" in summary


def test_the_layer_that_knows_the_metric_answers(database: Database) -> None:
    """Only the engine knows when the first token came; a condition chooses, too."""
    store(database, disjoint(60, 40))
    update_units(database)
    assert tail(database, "ttft").count == 40
    assert request_goodput(database, "ttft=2s").attempted == 40
    assert tail(database, "e2e").count == 60
    assert tail(database, "e2e", where="seen_from = 'engine'").count == 40
    assert request_failures(database, where="seen_from = 'engine'").attempted == 40


def test_engines_below_gateways_are_no_layer_of_their_own(database: Database) -> None:
    store(database, [span for number in range(12) for span in served(number, has_engine=number % 2 == 0)])
    update_units(database)
    assert tail(database, "e2e").count == 12
    assert "other_layer" not in {name.partition(":")[0] for name in quality(database).findings["check"]}


def found(database: Database) -> dict[str, tuple[int, int]]:
    update_units(database)
    rows = quality(database).findings.select("check", "count", "total").rows()
    return {name: (count, total) for name, count, total in rows if count and ":" in name}


def test_missing_spans_of_a_callee_are_told(database: Database) -> None:
    """Though no span of them lacks its parent; the answer says it with the same verdict."""
    store(database, [span for number in range(40) for span in served(number, has_engine=number < 3)])
    assert found(database) == {"unseen_callees:gateway->vllm": (37, 40)}
    answer = tail(database, "e2e")
    assert answer.evidence.verdict == quality(database).verdict == "usable"
    assert "37 of 40 calls gateway->vllm" in " ".join(answer.evidence.reasons)
    assert failures(database).evidence.verdict == "usable"


def test_a_provider_that_sends_no_spans_loses_none(database: Database) -> None:
    """Calls of the same name that go elsewhere are no loss; those to other hosts of one service are."""
    spans = [span for number in range(20) for span in served(number)]
    for number in range(20, 30):
        spans += served(number, has_engine=False, server__address="api.example.com")
    store(database, spans)
    assert found(database) == {}
    store(
        database, [span for n in range(30, 35) for span in served(n, has_engine=False, server__address="engine-7.svc")]
    )
    assert found(database) == {"unseen_callees:gateway->vllm": (5, 25)}


def test_a_call_that_reached_nobody_misses_no_span(database: Database) -> None:
    refused = [*served(21, has_engine=False, error__type="ConnectionRefusedError")]
    refused[1] = Span(**{**refused[1].__dict__, "status": ERROR})
    store(database, [span for number in range(20) for span in served(number)] + refused)
    assert found(database) == {}


def test_coverage_is_told_by_host_and_time(database: Database) -> None:
    """Of one host nothing arrived between the fifth and the tenth call."""
    spans = [
        span
        for number in range(20)
        for span in served(number, has_engine=not (number % 2 and 4 < number < 11), host=f"g{number % 2}")
    ]
    store(database, spans)
    update_units(database)
    rows = coverage_frame(database).select("caller_host", "expected_count", "arrived_count", "between_count").rows()
    assert sorted(rows) == [("g0", 10, 10, 0), ("g1", 10, 7, 0)]


@pytest.mark.parametrize("arrived", [1, 9])
def test_messages_that_nobody_is_seen_to_receive_are_told(database: Database, arrived: int) -> None:
    spans = [
        Span(1, number * MS, (number + 2) * MS, "send", trace=number + 1, kind=PRODUCER, service="api")
        for number in range(10)
    ]
    spans += [
        Span(2, (number + 5) * MS, (number + 50) * MS, "process", parent=1, trace=number + 1, kind=CONSUMER,
             service="worker")
        for number in range(arrived)
    ]  # fmt: skip
    store(database, spans)
    assert found(database) == {"unseen_callees:api->worker": (10 - arrived, 10)}


def test_a_time_out_against_an_engine_that_is_known_is_not_the_providers(database: Database) -> None:
    """Other calls of the gateway reach it: its span is missing."""
    late = served(30, has_engine=False, error__type="TimeoutError")
    late = [Span(**{**span.__dict__, "status": ERROR}) for span in late]
    late[0] = Span(**{**late[0].__dict__, "attributes": {**HTTP, "http.response.status_code": 504}})
    store(database, [span for number in range(20) for span in served(number)] + late)
    update_units(database)
    [incident] = request_failures(database).incidents.to_dicts()
    assert (incident["service"], incident["stage"]) == ("vllm", "edge:gateway->vllm")


def test_a_request_whose_beginning_is_missing_is_told_by_both(database: Database) -> None:
    """The engine's spans arrived, those of its callers did not."""
    store(database, [span for number in range(12) for span in served(number) if span.id == 3])
    update_units(database)
    assert tail(database, "e2e").evidence.verdict == quality(database).verdict == "usable"


def test_times_that_cannot_be_are_in_no_answer(database: Database) -> None:
    day = 86_400_000 * MS
    spans = [span for number in range(12) for span in served(number)]
    spans[0] = Span(**{**spans[0].__dict__, "end": spans[0].end + 2 * day})
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO base.ingests VALUES (1, 'x', 'x', 0, 36, 0, 0, 0, 0, NULL)")
    store(database, spans)
    update_units(database)
    assert tail(database, "e2e").count == 11
    assert request_failures(database).attempted == 11
    goodput = request_goodput(database, "e2e=10s")
    assert (goodput.attempted, goodput.left_out) == (11, {"implausible times": 1})
    assert compare(database, None, None).before_count == 11
