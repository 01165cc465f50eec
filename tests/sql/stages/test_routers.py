"""Routers in front of engines: llm-d with its sidecars, and Ray Serve."""

from __future__ import annotations

from tests.unit.stages.stored import INTERNAL, SERVER, Span, request, store, times
from tracekit.store import Database

PROXY = {"llm_d.pd_proxy.connector": "nixlv2"}


def test_llm_d_shows_the_choice_of_an_endpoint_and_both_halves(database: Database) -> None:
    """Without spans of the engines a half cannot be split further."""
    store(
        database,
        [
            Span(1, 0, 100, "gateway.request", kind=SERVER, service="epp", attributes={"gen_ai.request.model": "m"}),
            Span(2, 2, 10, "gateway.request_orchestration", parent=1, kind=SERVER, service="epp"),
            Span(3, 3, 9, "llm_d.epp.scorer.prefix", parent=2, service="epp"),
            Span(4, 20, 50, "llm_d.pd_proxy.prefill", parent=1, service="sidecar", attributes=PROXY),
            Span(5, 55, 95, "decode", parent=1, service="sidecar", attributes=PROXY),
        ],
    )
    assert times(database) == {
        ("e2e", "unattributed", "gateway.request"): 22,
        ("e2e", "gw.route", "gateway.request_orchestration"): 2,
        ("e2e", "gw.route", "llm_d.epp.scorer.prefix"): 6,
        ("e2e", "unsplit(eng.prefill|eng.queue)", "llm_d.pd_proxy.prefill"): 30,
        ("e2e", "unsplit(eng.decode|eng.decode_wait|kv.transfer)", "decode"): 40,
    }
    assert (request(database)["model"], request(database)["vantage"]) == ("m", "gateway")


def test_spans_that_are_called_decode_elsewhere_are_not_llm_ds(database: Database) -> None:
    """The bare names count only in its scope, or with its attributes."""
    store(database, [Span(1, 0, 100, "decode", service="codec")])
    assert times(database) == {("e2e", "codec:decode", "decode"): 100}


def test_ray_serve_waits_for_a_replica_between_route_and_replica(database: Database) -> None:
    """The deployment has its own time, by its name: services are mostly not named."""
    deployment = {"deployment": "LLMServer", "call_method": "chat"}
    store(
        database,
        [
            Span(1, 0, 100, "proxy_http_request LLMServer POST /v1", kind=SERVER, service=None),
            Span(2, 5, 95, "route_to_replica LLMServer chat", parent=1, kind=SERVER, service=None),
            Span(
                3, 35, 90, "replica_handle_request LLMServer chat", parent=2, kind=SERVER, service=None,
                attributes=deployment,
            ),
            Span(4, 40, 80, "generate", parent=3, kind=INTERNAL, service=None),
        ],
    )  # fmt: skip
    assert times(database) == {
        ("e2e", "unattributed", "proxy_http_request LLMServer POST /v1"): 10,
        ("e2e", "unsplit(gw.queue|gw.route)", "route_to_replica LLMServer chat/wait"): 30,
        (
            "e2e",
            "LLMServer:replica_handle_request LLMServer chat",
            "replica_handle_request LLMServer chat",
        ): 15,
        ("e2e", "unknown:generate", "generate"): 40,
        ("e2e", "out.stream", "route_to_replica LLMServer chat/stream"): 5,
    }
