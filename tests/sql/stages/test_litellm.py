"""LiteLLM's first kind of spans: several of them enclose or repeat one call."""

from __future__ import annotations

from typing import Any

from tests.unit.stages.stored import SERVER, Span, by_stage, request, store, times
from tracekit.store import Database

MS = 1_000_000


def span(number: int, start_ms: int, end_ms: int, name: str, parent: int = 1, **more: Any) -> Span:
    """A span of the proxy."""
    return Span(number, start_ms * MS, end_ms * MS, name, parent=parent, **({"service": "litellm"} | more))


ROOT = span(1, 0, 100, "Received Proxy Server Request", 0, kind=SERVER, attributes={"http.response.status_code": 200})
AUTH, QUOTA = span(2, 1, 4, "auth"), span(3, 4, 6, "proxy_pre_call")
ROUTER = span(4, 8, 98, "router")
REQUEST = span(
    5, 10, 97, "litellm_request", 4,
    attributes={"gen_ai.request.model": "gpt", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3},
)  # fmt: skip
CALL = span(6, 12, 96, "raw_gen_ai_request", 5)
SELF = span(7, 8, 99, "self")


def test_the_call_is_the_providers_whoever_encloses_or_repeats_it(database: Database) -> None:
    """`self` ends last and would own it all: what it spends while the call runs is the call's."""
    store(database, [ROOT, AUTH, QUOTA, ROUTER, REQUEST, CALL, SELF])
    assert by_stage(times(database), "e2e") == {
        "gw.auth": 3 * MS,
        "gw.ratelimit": 2 * MS,
        "upstream": 84 * MS,
        "unattributed": (1 + 2 + 4 + 3 + 1) * MS,
    }
    unit = request(database)
    assert (unit["input_tokens"], unit["output_tokens"], unit["model"]) == (7, 3, "gpt")


def test_the_rest_of_the_router_is_the_choice_of_a_deployment(database: Database) -> None:
    """Before and after the request that it encloses."""
    store(database, [ROOT, ROUTER, REQUEST, CALL])
    found = by_stage(times(database), "e2e")
    assert (found["gw.route"], found["upstream"]) == (3 * MS, 84 * MS)


def test_a_call_with_spans_below_keeps_their_stages(database: Database) -> None:
    """Then the engine tells its own time, and the call none."""
    below = span(8, 20, 90, "llm_request", 6, service="vllm", kind=SERVER, scope="vllm.tracing.otel")
    store(database, [ROOT, ROUTER, REQUEST, CALL, below])
    assert "upstream" not in by_stage(times(database), "e2e")


def test_spans_of_these_names_elsewhere_are_left_alone(database: Database) -> None:
    """Without a root of the proxy `self` and `router` are anybody's names."""
    store(database, [span(1, 0, 10, "self", 0, service="shop")])
    assert set(by_stage(times(database), "e2e")) == {"shop:self"}
