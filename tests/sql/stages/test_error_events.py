"""What a span says by the exception that it recorded, and by the connection that it lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import CLIENT, ERROR, SERVER, Span, request, store, times
from tracekit.store import Database

STATUS = "http.response.status_code"
GENAI = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "large"}
AGENT = Span(1, 0, 100, "agent")
CALL = Span(2, 10, 90, "chat large", parent=1, kind=CLIENT, attributes=GENAI)


@pytest.mark.parametrize(
    ("kind", "message", "outcome"),
    [
        ("openai.RateLimitError", "Error code: 429 - rate limited", "rejected"),
        ("langchain_openai.chat_models.base.OpenAIRateLimitError", "", "rejected"),
        ("openai.OpenAIError", "Error code: 429 - rate limited", "rejected"),
        ("openai.InternalServerError", "Error code: 503 - boom", "rejected"),
        ("openai.InternalServerError", "Error code: 500 - boom", "failed"),
        ("openai.BadRequestError", "", "invalid"),
        ("ollama._types.ResponseError", "no room (status code: 429)", "rejected"),
        ("mistralai.models.SDKError", "API error occurred: Status 429. Body: {}", "rejected"),
        ("google.genai.errors.ClientError", "400 INVALID_ARGUMENT. {'error': {}}", "invalid"),
        ("httpx.HTTPStatusError", "Server error '503 Service Unavailable' for url 'http://m'", "rejected"),
        ("requests.exceptions.HTTPError", "404 Client Error: Not Found for url: http://m", "invalid"),
        ("aiohttp.ClientResponseError", "429, message='Too Many Requests', url='http://m'", "rejected"),
        ("urllib.error.HTTPError", "HTTP Error 429: Too Many Requests", "rejected"),
        ("ValueError", "429 tokens are too many", "failed"),
        ("haystack.PipelineRuntimeError", "Component 'llm' failed\nError: Error code: 400 - x", "invalid"),
        ("openai.APITimeoutError", "Request timed out.", "failed"),
        ("asyncio.exceptions.CancelledError", "", "aborted"),
        ("starlette.requests.ClientDisconnect", "", "aborted"),
        ("ValueError", "tool broke", "failed"),
        ("grpc._channel._InactiveRpcError", "<... status = StatusCode.RESOURCE_EXHAUSTED details", "rejected"),
        ("grpc._channel._InactiveRpcError", "<... status = StatusCode.INVALID_ARGUMENT details", "invalid"),
        ("grpc._channel._InactiveRpcError", "<... status = StatusCode.CANCELLED details", "aborted"),
        ("grpc._channel._InactiveRpcError", "<... status = StatusCode.INTERNAL details", "failed"),
        ("*status.Error", "rpc error: code = ResourceExhausted desc = full", "rejected"),
        ("io.grpc.StatusRuntimeException", "UNAVAILABLE: no healthy upstream", "rejected"),
    ],
)
def test_an_exception_tells_why_a_span_failed(database: Database, kind: str, message: str, outcome: str) -> None:
    """By its class, or by the status in the message of the clients of OpenAI and Anthropic."""
    failed = {"exception.type": kind, "exception.message": message}
    store(database, [replace(AGENT, status=ERROR, exception=failed)])
    assert request(database)["outcome"] == outcome


@pytest.mark.parametrize(("call_status", "outcome"), [(0, "aborted"), (ERROR, "failed")])
def test_aiohttps_server_tells_of_a_client_that_left(database: Database, call_status: int, outcome: str) -> None:
    """Unless the connection that broke is that of a call, which then failed."""
    lost = {"exception.type": "aiohttp.client_exceptions.ClientConnectionResetError", "exception.message": "closing"}
    store(database, [replace(AGENT, kind=SERVER, status=ERROR, exception=lost), replace(CALL, status=call_status)])
    assert request(database)["outcome"] == outcome


def test_an_exception_that_was_handled_does_not_count(database: Database) -> None:
    """A span may record one and end well."""
    store(database, [replace(AGENT, exception={"exception.type": "openai.RateLimitError"})])
    assert request(database)["outcome"] == "ok"


@pytest.mark.parametrize(
    ("kind", "attributes", "outcome"),
    [
        (SERVER, {STATUS: 200, "error.type": "ConnectionError"}, "aborted"),
        (SERVER, {STATUS: 500, "error.type": "ConnectionError"}, "failed"),
        (CLIENT, {STATUS: 200, "error.type": "ConnectionError"}, "failed"),
    ],
)
def test_a_server_that_lost_its_connection_lost_its_client(
    database: Database, kind: int, attributes: dict[str, Any], outcome: str
) -> None:
    """Its good status had gone out; the same words of a client span tell of a server."""
    store(database, [replace(AGENT, kind=kind, status=ERROR, attributes=attributes)])
    assert request(database)["outcome"] == outcome


@pytest.mark.parametrize(("left_ns", "outcome"), [(80, "aborted"), (101, "ok")])
def test_an_asgi_server_that_is_told_of_a_disconnect_while_it_works_was_left(
    database: Database, left_ns: int, outcome: str
) -> None:
    """After the response it is told, too; the span that listens owns no time either way."""
    server = replace(AGENT, kind=SERVER, name="POST /ask", attributes={STATUS: 200})
    listens = Span(3, 5, left_ns, "POST /ask http receive", parent=1, attributes={"asgi.event.type": "http.disconnect"})
    store(database, [server, listens])
    assert request(database)["outcome"] == outcome
    assert times(database) == {("e2e", "service:POST /ask", "POST /ask"): 100}


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ({"gen_ai.is_streaming": True}, "unknown"),
        ({"gen_ai.request.stream": True}, "unknown"),
        ({"llm.is_streaming": True, "gen_ai.usage.output_tokens": 3}, "ok"),
        ({"gen_ai.request.stream": True, "gen_ai.response.finish_reasons": ["stop"]}, "ok"),
        ({"gen_ai.request.stream": False}, "ok"),
    ],
)
def test_a_stream_that_tells_of_no_end_is_unknown(database: Database, told: dict[str, Any], outcome: str) -> None:
    """It was cut or closed: nobody knows which, whether the call has a parent or not."""
    call = replace(CALL, status=1, attributes=GENAI | told)
    store(database, [AGENT, call, replace(call, trace=2, parent=0)])
    assert [request(database, trace=trace)["outcome"] for trace in (1, 2)] == [outcome, outcome]


def test_the_first_chunk_is_the_first_token(database: Database) -> None:
    """OpenLLMetry has an event for each chunk."""
    chunks = tuple(("gen_ai.content.completion.chunk", time_ns) for time_ns in (40, 30, 50))
    store(database, [AGENT, replace(CALL, events=chunks)])
    assert request(database)["ttft_ns"] == 30


def test_the_model_is_the_one_that_answered_and_a_fallbacks_first_attempt_is_retry(database: Database) -> None:
    """Another model below the same span, after a call that failed."""
    failed = replace(
        CALL, name="chat cheap", end=30, status=ERROR, attributes=GENAI | {"gen_ai.request.model": "cheap"}
    )
    store(database, [AGENT, failed, replace(CALL, id=3, start=40)])
    assert (request(database)["model"], request(database)["outcome"]) == ("large", "ok")
    assert times(database) == {
        ("e2e", "service:agent", "agent"): 20,
        ("e2e", "retry", "chat cheap"): 20,
        ("e2e", "retry", "chat cheap/backoff"): 10,
        ("e2e", "upstream", "chat large"): 50,
    }


def test_a_function_that_is_shown_beside_its_work_leaves_the_time_to_it(database: Database) -> None:
    """LangGraph's node function and the runnable inside it hang below the same span."""
    chain = {"openinference.span.kind": "CHAIN"}
    call = {"openinference.span.kind": "LLM", "llm.model_name": "large"}
    function = Span(2, 10, 90, "call_model", parent=1, attributes=chain)
    sequence = Span(3, 11, 89, "RunnableSequence", parent=1, attributes=chain)
    store(database, [AGENT, function, sequence, Span(4, 20, 80, "ChatOpenAI", parent=3, attributes=call)])
    assert times(database) == {
        ("e2e", "service:agent", "agent"): 22,
        ("e2e", "service:RunnableSequence", "RunnableSequence"): 18,
        ("e2e", "upstream", "ChatOpenAI"): 60,
    }


def test_a_models_server_that_shows_nothing_inside_is_named(database: Database) -> None:
    """The gateway in front of it calls; the server itself does not."""
    path = {"http.request.method": "POST", "url.path": "/v1/chat/completions", STATUS: 200}
    store(
        database,
        [
            Span(1, 0, 100, "POST /v1/chat/completions", kind=SERVER, service="mid", attributes=path),
            Span(2, 10, 90, "POST", parent=1, kind=CLIENT, service="mid"),
            Span(3, 20, 80, "POST /v1/chat/completions", parent=2, kind=SERVER, service="model", attributes=path),
        ],
    )
    assert times(database)["e2e", "model:POST /v1/chat/completions", "POST /v1/chat/completions"] == 60


@pytest.mark.parametrize(
    ("message", "outcome"), [("Error code: 503 - injected", "rejected"), ("Error code: 500", "failed")]
)
def test_a_span_without_exceptions_has_their_message_in_its_status(
    database: Database, message: str, outcome: str
) -> None:
    """As OpenTelemetry's own instrumentation of OpenAI writes it, whose type says InternalServerError for both."""
    call = replace(CALL, parent=0, status=ERROR, attributes=GENAI | {"error.type": "InternalServerError"})
    store(database, [replace(call, status_message=message)])
    assert request(database)["outcome"] == outcome
