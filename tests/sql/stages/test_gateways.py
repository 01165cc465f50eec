"""Gateways by their own shape: Envoy and its AI gateway, TensorRT-LLM's router, and the paths of KServe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import CLIENT, ERROR, INTERNAL, SERVER, Span, request, store, times
from tracekit.store import Database

MS = 1_000_000
URL = "http://gateway/v1/chat/completions"


def proxied(number: int, start: int, end: int, kind: int, flags: str = "-", code: str = "200", **more: Any) -> Span:
    """A span of Envoy; its numbers are texts."""
    said = {
        "component": "proxy", "response_flags": flags, "http.status_code": code, "http.method": "POST",
        "upstream_cluster": "llama", "http.url": URL,
    }  # fmt: skip
    name = "ingress" if kind == SERVER else "router llama egress"
    return Span(number, start * MS, end * MS, name, kind=kind, service="envoy", attributes=said, **more)


INGRESS = proxied(1, 0, 100, SERVER)
EGRESS = proxied(2, 5, 95, CLIENT, parent=1)
LLM = Span(
    3, 2 * MS, 96 * MS, "ChatCompletion", parent=1, kind=INTERNAL, service="ai-gateway", scope="envoyproxy/ai-gateway",
    attributes={
        "openinference.span.kind": "LLM", "llm.model_name": "llama", "llm.token_count.prompt": 70,
        "llm.token_count.completion": 20,
    },
    events=(("First Token Stream Event", 96 * MS - 30_000),),
)  # fmt: skip
MODEL = Span(
    4, 20 * MS, 90 * MS, "POST /v1/chat/completions", parent=2, kind=SERVER, service="vllm",
    attributes={"http.request.method": "POST", "url.path": "/v1/chat/completions"},
)  # fmt: skip


def in_ms(database: Database) -> dict[str, float]:
    found: dict[str, float] = {}
    for (_, stage, _), ns in times(database).items():
        found[stage] = found.get(stage, 0) + ns / MS
    return found


def test_envoys_try_of_an_upstream_that_sends_no_spans_is_the_providers(database: Database) -> None:
    store(database, [INGRESS, EGRESS])
    assert times(database)["e2e", "upstream", "router llama egress"] == 90 * MS
    assert request(database)["vantage"] == "gateway"


def test_envoy_alone_cannot_tell_its_own_work_from_its_upstreams(database: Database) -> None:
    store(database, [INGRESS])
    assert times(database) == {("e2e", "unsplit(gw.ingress|upstream)", "ingress"): 100 * MS}


def test_around_the_server_that_envoy_reaches_lie_the_way_and_the_stream(database: Database) -> None:
    store(database, [INGRESS, EGRESS, MODEL])
    assert times(database)["e2e", "net.dispatch", "edge:envoy->vllm"] == 15 * MS
    assert in_ms(database)["vllm:POST /v1/chat/completions"] == 70


def test_the_ai_gateway_tells_model_and_tokens_but_no_first_token(database: Database) -> None:
    """It writes the event of the first token when the stream ends."""
    store(database, [INGRESS, EGRESS, LLM])
    unit = request(database)
    assert (unit["model"], unit["input_tokens"], unit["output_tokens"], unit["ttft_ns"]) == ("llama", 70, 20, None)
    assert unit["flags"] == "conflict:first_token"
    assert in_ms(database)["upstream"] == pytest.approx(94)


@pytest.mark.parametrize(
    ("flags", "code", "status", "outcome"),
    [
        ("-", "200", 0, "ok"),
        ("DC", "0", ERROR, "aborted"),
        ("DC", "200", 0, "aborted"),
        ("UO", "503", ERROR, "rejected"),
        ("RL", "429", 0, "rejected"),
        ("UF,URX", "503", ERROR, "failed"),
        ("UH", "503", ERROR, "failed"),
        ("UT", "504", ERROR, "failed"),
        ("-", "400", 0, "invalid"),
    ],
)
def test_envoys_flags_tell_how_a_request_ended(
    database: Database, flags: str, code: str, status: int, outcome: str
) -> None:
    store(database, [proxied(1, 0, 100, SERVER, flags, code, status=status)])
    assert request(database)["outcome"] == outcome


def test_the_flags_of_others_are_not_envoys(database: Database) -> None:
    own = replace(INGRESS, attributes=INGRESS.attributes | {"component": "shop", "response_flags": "DC"})
    store(database, [own])
    assert request(database)["outcome"] == "ok"


def test_tensorrt_llms_router_chooses_until_it_says_so(database: Database) -> None:
    """Then it waits for the context server and the generation server."""
    halves = [
        Span(
            number, start * MS, end * MS, "llm_request", parent=1, kind=SERVER, service=f"trt-{number}",
            attributes={
                "gen_ai.request.id": "r", "gen_ai.usage.prompt_tokens": 70, "gen_ai.usage.completion_tokens": tokens,
                "gen_ai.latency.time_to_first_token": first_s, "gen_ai.latency.e2e": (end - start) / 1000,
                "gen_ai.latency.time_in_queue": 0.002,
            },
        )
        for number, start, end, tokens, first_s in [(2, 5, 35, 1, 0.03), (3, 40, 98, 20, 0.01)]
    ]  # fmt: skip
    events = (("ctx_server.selected", 3 * MS), ("gen_server.selected", 38 * MS))
    store(database, [Span(1, 0, 100 * MS, "disaggregated_request", kind=SERVER, service="trt", events=events), *halves])
    assert times(database)["ttft", "gw.route", "disaggregated_request/choice"] == 3 * MS
    unit = request(database)
    assert (unit["seen_from"], unit["output_tokens"], unit["ttft_ns"]) == ("gateway", 20, 50 * MS)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models/llama:predict", "/v2/models/llama/infer", "/openai/v1/chat/completions",
        "/v2/models/llama/generate_stream", "/v2/models/llama/versions/3/infer",
    ],
)  # fmt: skip
def test_the_paths_of_kserve_serve_a_model(database: Database, path: str) -> None:
    """KServe sends no spans itself; those of FastAPI and of a client of HTTP tell by their path."""
    asked = {"http.request.method": "POST", "url.full": f"http://predictor{path}"}
    served = {"http.request.method": "POST", "url.path": path}
    store(
        database,
        [
            Span(1, 0, 100 * MS, "summarise", kind=SERVER, service="app"),
            Span(2, 5 * MS, 95 * MS, "POST", parent=1, kind=CLIENT, service="app", attributes=asked),
            Span(3, 10 * MS, 90 * MS, "POST", parent=2, kind=SERVER, service="kserve", attributes=served),
        ],
    )
    assert request(database)["vantage"] == "gateway"
    assert in_ms(database)["kserve:POST"] == 80
