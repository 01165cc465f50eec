"""Gateways and clients in front of an engine, and how their token times and the engine's fit together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import CLIENT, ERROR, INTERNAL, SERVER, Span, by_stage, request, store, times
from tracekit.store import Database

MS = 1_000_000
HTTP = {"http.request.method": "POST", "url.path": "/v1/completions", "http.response.status_code": 200}
GENAI = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "large"}
ENGINE = {
    "gen_ai.latency.time_to_first_token": 0.050,
    "gen_ai.latency.e2e": 0.080,
    "gen_ai.latency.time_in_queue": 0.010,
    "gen_ai.latency.time_in_model_prefill": 0.030,
    "gen_ai.latency.time_in_model_decode": 0.030,
    "gen_ai.usage.prompt_tokens": 7,
    "gen_ai.usage.completion_tokens": 4,
}
ROOT = Span(1, 0, 100 * MS, "POST /v1/completions", kind=SERVER, service="gw", attributes=HTTP)
AUTH = Span(2, 1 * MS, 4 * MS, "auth", parent=1, service="gw")
CALL = Span(
    3, 5 * MS, 99 * MS, "chat large", parent=1, kind=CLIENT, service="gw", attributes=GENAI,
    events=(("first_token", 63 * MS),),
)  # fmt: skip
SERVE = Span(4, 10 * MS, 92 * MS, "llm_request", parent=3, kind=SERVER, service="vllm", attributes=ENGINE)


def test_a_request_through_a_gateway_is_explained_from_end_to_end(database: Database) -> None:
    """The gateway's own time before the first token is ingress, the way to the engine and back are stages.

    The engine has its first token at 60 ms, the gateway sees it at 63 ms: until then the time is streaming.
    """
    store(database, [ROOT, AUTH, CALL, SERVE])
    assert times(database) == {
        ("ttft", "gw.ingress", "POST /v1/completions"): 2 * MS,
        ("ttft", "gw.auth", "auth"): 3 * MS,
        ("ttft", "net.dispatch", "edge:gw->vllm"): 5 * MS,
        ("ttft", "unattributed", "llm_request"): 10 * MS,
        ("ttft", "eng.queue", "llm_request/queue"): 10 * MS,
        ("ttft", "eng.prefill", "llm_request/prefill"): 30 * MS,
        ("ttft", "out.stream", "llm_request/decode"): 3 * MS,
        ("decode", "eng.decode", "llm_request/decode"): 27 * MS,
        ("after", "out.detok", "llm_request/detokenise"): 2 * MS,
        ("after", "out.stream", "chat large/stream"): 7 * MS,
        ("after", "unattributed", "POST /v1/completions"): 1 * MS,
    }


def test_each_fact_comes_from_one_layer(database: Database) -> None:
    """First token from whoever is nearest to the client, last token and counts from the engine."""
    told = replace(CALL, attributes=GENAI | {"gen_ai.usage.input_tokens": 99, "gen_ai.usage.output_tokens": 99})
    store(database, [ROOT, AUTH, told, SERVE])
    unit = request(database)
    assert (unit["ttft_ns"], unit["last_token_ns"], unit["vantage"]) == (63 * MS, 90 * MS, "gateway")
    assert (unit["input_tokens"], unit["output_tokens"], unit["model"], unit["outcome"]) == (
        7,
        4,
        "large",
        "ok",
    )


@pytest.mark.parametrize(
    "seen",
    [
        {"events": (("First Token Stream Event", 63 * MS),)},
        {"events": (), "attributes": GENAI | {"gen_ai.response.time_to_first_chunk": 0.058}},
    ],
)
def test_the_first_token_is_an_event_or_an_attribute_of_the_call(database: Database, seen: dict[str, Any]) -> None:
    """Envoy's event, and the time to first chunk in seconds from the start of the call."""
    store(database, [ROOT, replace(CALL, **seen), SERVE])
    assert request(database)["ttft_ns"] == 63 * MS


def test_without_a_first_token_downstream_the_engines_counts(database: Database) -> None:
    """Then the vantage is the engine."""
    store(database, [ROOT, replace(CALL, events=()), SERVE])
    unit = request(database)
    assert (unit["ttft_ns"], unit["vantage"]) == (60 * MS, "engine")


def test_an_aborted_request_without_engine_span_is_upstream_time(database: Database) -> None:
    """vLLM sends no span for an abort: the call's time is the provider's, the request neither lost nor ok."""
    gone = replace(ROOT, status=ERROR, attributes=HTTP | {"http.response.status_code": 499})
    store(database, [gone, AUTH, CALL])
    unit = request(database)
    assert (unit["outcome"], unit["first_token_ns"], unit["last_token_ns"]) == ("aborted", 63 * MS, None)
    found = times(database)
    assert by_stage(found, "ttft") == {"gw.ingress": 2 * MS, "gw.auth": 3 * MS, "upstream": 58 * MS}
    assert by_stage(found, "decode") == {"upstream": 36 * MS, "unattributed": 1 * MS}


def test_a_call_to_a_provider_ends_its_stream_with_its_span(database: Database) -> None:
    """Without engine the last token of a request that ended well is the end of the call."""
    told = replace(CALL, parent=0, attributes=GENAI | {"gen_ai.usage.output_tokens": 5})
    store(database, [told])
    unit = request(database)
    assert (unit["vantage"], unit["outcome"], unit["last_token_ns"]) == ("client", "ok", 99 * MS)
    assert times(database) == {
        ("ttft", "upstream", "chat large"): 58 * MS,
        ("decode", "upstream", "chat large"): 36 * MS,
    }


@pytest.mark.parametrize(
    ("reasons", "outcome"),
    [
        ("stop", "ok"),
        (["length"], "ok"),
        ('["abort"]', "aborted"),
        (["cancelled"], "aborted"),
        ("error", "failed"),
        (None, "ok"),
    ],
)
def test_a_call_tells_its_outcome_by_finish_reasons(database: Database, reasons: object, outcome: str) -> None:
    """A list, a JSON text of a list, or one word; nothing at all is ok, as for any span without error."""
    attributes = GENAI if reasons is None else GENAI | {"gen_ai.response.finish_reasons": reasons}
    store(database, [replace(CALL, parent=0, events=(), attributes=attributes)])
    assert request(database)["outcome"] == outcome


def test_a_refused_request_is_invalid_and_has_no_token_windows(database: Database) -> None:
    """HTTP 400 without engine span: the request was wrong, the server did not fail."""
    refused = replace(ROOT, status=ERROR, attributes=HTTP | {"http.response.status_code": 400})
    store(database, [refused, AUTH, replace(CALL, events=())])
    assert request(database)["outcome"] == "invalid"
    assert by_stage(times(database), "e2e") == {
        "unattributed": 3 * MS,
        "gw.auth": 3 * MS,
        "upstream": 94 * MS,
    }


def test_the_http_span_of_the_client_library_is_part_of_the_call(database: Database) -> None:
    """Instrumented HTTP clients put a client span of their own between the call and the engine."""
    transport = Span(5, 6 * MS, 98 * MS, "POST", parent=3, kind=CLIENT, service="gw")
    store(database, [ROOT, AUTH, CALL, transport, replace(SERVE, parent=5)])
    found = times(database)
    assert found["ttft", "net.dispatch", "edge:gw->vllm"] == 4 * MS
    assert found["after", "out.stream", "POST/stream"] == 6 * MS
    assert found["after", "unattributed", "chat large"] == 1 * MS


def test_time_between_two_attempts_is_not_guessed(database: Database) -> None:
    """With several remote spans below a call nothing says what lies between them."""
    first = replace(SERVE, id=5, start=6 * MS, end=9 * MS, attributes={"gen_ai.usage.completion_tokens": 0})
    store(database, [ROOT, AUTH, CALL, first, SERVE])
    found = times(database)
    assert not {stage for _, stage, _ in found} & {"net.dispatch", "upstream"}
    assert request(database)["flags"] == "several_calls"


def test_several_calls_have_no_single_first_token(database: Database) -> None:
    """An agent that calls a model twice is one request without token windows; its tokens add up."""
    agent = Span(1, 0, 300 * MS, "agent", service="app")
    again = [replace(CALL, id=13, start=105 * MS, end=199 * MS, events=(("first_token", 163 * MS),))]
    store(database, [agent, CALL, SERVE, *again, replace(SERVE, id=14, parent=13, start=110 * MS, end=192 * MS)])
    unit = request(database)
    assert (unit["first_token_ns"], unit["output_tokens"], unit["flags"]) == (None, 8, "several_calls")
    assert sum(by_stage(times(database), "e2e").values()) == 300 * MS


def test_a_token_outside_the_request_is_a_conflict(database: Database) -> None:
    """It is not used and counted."""
    store(database, [ROOT, AUTH, replace(CALL, events=(("first_token", 200 * MS),))])
    unit = request(database)
    assert (unit["first_token_ns"], unit["conflict_count"], unit["flags"]) == (
        None,
        1,
        "conflict:first_token",
    )


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        ("auth /v1/chat/completions", "gw.auth"),
        ("execute_guardrail pii", "gw.guardrail"),
        ("guardrail", "gw.guardrail"),
        ("cache.get llm_response", "gw.cache"),
        ("route large", "gw.route"),
        ("redis.get rate_limits", "gw.ratelimit"),
        ("proxy_pre_call", "gw.ratelimit"),
    ],
)
def test_named_steps_of_a_gateway_have_stages(database: Database, name: str, stage: str) -> None:
    """LiteLLM's names."""
    store(database, [ROOT, Span(2, 1 * MS, 4 * MS, name, parent=1, service="gw"), CALL, SERVE])
    assert times(database)["ttft", stage, name] == 3 * MS


def test_other_spans_of_a_gateway_keep_service_and_name(database: Database) -> None:
    """What no mapping knows is left to the generic one."""
    store(database, [ROOT, Span(2, 1 * MS, 4 * MS, "audit", parent=1, service="gw"), CALL, SERVE])
    assert times(database)["ttft", "gw:audit", "audit"] == 3 * MS


def test_a_trace_that_calls_no_model_is_left_to_the_generic_mapping(database: Database) -> None:
    """`auth` under any HTTP server is not a gateway's."""
    shop = replace(ROOT, name="GET /cart", attributes=HTTP | {"url.path": "/cart"})
    store(database, [shop, AUTH])
    assert {stage for _, stage, _ in times(database)} == {"gw:GET /cart", "gw:auth"}


def test_an_application_that_calls_a_model_is_no_gateway(database: Database) -> None:
    """Its HTTP root serves a path of its own and keeps its own stage; the call is found all the same."""
    app = replace(ROOT, name="POST /ask", service="rag", attributes=HTTP | {"url.path": "/ask"})
    store(database, [app, replace(CALL, service="rag")])
    assert times(database) == {
        ("ttft", "rag:POST /ask", "POST /ask"): 5 * MS,
        ("ttft", "upstream", "chat large"): 58 * MS,
        ("decode", "upstream", "chat large"): 36 * MS,
        ("after", "rag:POST /ask", "POST /ask"): 1 * MS,
    }


@pytest.mark.parametrize(
    "told",
    [
        {"http.target": "/v1/chat/completions?stream=true"},
        {"http.route": "/v1/messages"},
        {"url.full": "http://gw:8000/v1/embeddings"},
        {"http.url": "http://gw:8000/generate?n=1"},
        {},
    ],
)
def test_a_server_of_a_models_path_is_a_gateway(database: Database, told: dict[str, str]) -> None:
    """By whichever attribute names the path, else by the name of the span."""
    attributes = {"http.request.method": "POST"} | told
    store(database, [replace(ROOT, attributes=attributes), CALL])
    assert by_stage(times(database), "ttft")["gw.ingress"] == 5 * MS


def test_an_openinference_span_is_a_call(database: Database) -> None:
    """OpenInference marks calls by its own key and names tokens otherwise."""
    attributes = {
        "openinference.span.kind": "LLM",
        "llm.token_count.completion": 5,
        "llm.model_name": "large",
    }
    call = replace(
        CALL, parent=0, kind=INTERNAL, attributes=attributes, events=(("First Token Stream Event", 63 * MS),)
    )
    store(database, [call])
    unit = request(database)
    assert (unit["ttft_ns"], unit["output_tokens"], unit["model"]) == (58 * MS, 5, "large")


def test_the_way_to_the_engine_is_placed_on_a_corrected_clock(database: Database) -> None:
    """The engine's host is 20 ms behind: its span is shifted, and the way there with it."""
    gateway = [replace(span, host="a") for span in (ROOT, AUTH, CALL)]
    behind = replace(SERVE, host="b", start=SERVE.start - 20 * MS, end=SERVE.end - 20 * MS)
    store(database, [*gateway, behind])
    found = times(database)
    assert request(database)["shift_ns"] == 15 * MS
    assert ("ttft", "net.dispatch", "edge:gw->vllm") not in found
    assert found["ttft", "eng.prefill", "llm_request/prefill"] == 30 * MS
    assert sum(found.values()) == 100 * MS
