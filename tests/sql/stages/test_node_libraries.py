"""Vercel's AI SDK, and what servers of Node, Go and aiohttp tell of clients that left: shapes of real captures."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.stages.stored import CLIENT, ERROR, SERVER, Span, request, store, times
from tracekit.analysis import request_failures
from tracekit.store import Database

STATUS = "http.response.status_code"
MS = 1_000_000
WHOLE = Span(1, 0, 100 * MS, "ai.streamText", attributes={"ai.operationId": "ai.streamText", "ai.model.id": "m"})
CALL = Span(
    2, 10 * MS, 90 * MS, "ai.streamText.doStream", parent=1,
    attributes={
        "ai.operationId": "ai.streamText.doStream", "gen_ai.system": "fake", "gen_ai.request.model": "m",
        "ai.response.msToFirstChunk": "20.0", "gen_ai.response.finish_reasons": '["stop"]',
        "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3,
    },
)  # fmt: skip
HTTP = Span(3, 12 * MS, 40 * MS, "POST", parent=2, kind=CLIENT, attributes={STATUS: 200})


def test_a_call_of_the_ai_sdk_is_a_model_call(database: Database) -> None:
    """Of the whole run and the call below it, one counts tokens; the first token is that of the call."""
    ended = replace(WHOLE, attributes=WHOLE.attributes | {"ai.response.finishReason": "stop"})
    store(database, [ended, CALL, HTTP])
    unit = request(database)
    assert (unit["vantage"], unit["model"], unit["outcome"]) == ("client", "m", "ok")
    assert (unit["first_token_ns"], unit["input_tokens"], unit["output_tokens"]) == (30 * MS, 7, 3)


def test_a_stream_of_the_ai_sdk_that_was_left_is_unknown(database: Database) -> None:
    """The call's span never ends then, and the whole one tells of no end."""
    store(database, [WHOLE, replace(HTTP, parent=1)])
    assert request(database)["outcome"] == "unknown"


@pytest.mark.parametrize(
    ("status", "outcome"), [(429, "rejected"), (503, "rejected"), (400, "invalid"), (500, "failed")]
)
def test_an_error_that_only_wraps_that_of_http_ends_like_it(database: Database, status: int, outcome: str) -> None:
    """Through the library's call and its retries; of several attempts the last one counts."""
    wraps = {"exception.type": "AI_APICallError", "exception.message": "injected"}
    gives_up = {"exception.type": "AI_RetryError", "exception.message": "Failed after 2 attempts."}
    attempt = Span(3, 15 * MS, 20 * MS, "POST", parent=2, kind=CLIENT, status=ERROR, attributes={STATUS: 500})
    call = replace(CALL, status=ERROR, attributes={"ai.operationId": "ai.streamText.doStream"}, exception=wraps)
    store(
        database,
        [
            replace(WHOLE, status=ERROR, exception=gives_up),
            call,
            attempt,
            replace(attempt, id=4, start=30 * MS, end=80 * MS, attributes={STATUS: status}),
        ],
    )
    assert request(database)["outcome"] == outcome
    answer = request_failures(database)
    assert (answer.failed, answer.rejected) == (int(outcome == "failed"), int(status == 429))


def test_a_handler_of_node_that_was_aborted_lost_its_client(database: Database) -> None:
    """The server's span says 200; what ran in it ended by DOMException 20 when that span ended."""
    root = Span(1, 0, 50, "POST /stream", kind=SERVER, attributes={STATUS: 200})
    aborted = {"exception.type": "20", "exception.message": "This operation was aborted"}
    store(database, [root, Span(2, 1, 51, "handler", parent=1, status=ERROR, exception=aborted)])
    assert request(database)["outcome"] == "aborted"


def test_a_handler_that_gave_something_up_and_went_on_lost_nobody(database: Database) -> None:
    root = Span(1, 0, 50, "POST /stream", kind=SERVER, attributes={STATUS: 200})
    aborted = {"exception.type": "AbortError", "exception.message": "This operation was aborted"}
    store(database, [root, Span(2, 1, 20, "lookup", parent=1, status=ERROR, exception=aborted)])
    assert request(database)["outcome"] == "ok"


@pytest.mark.parametrize(
    ("scope", "attributes", "outcome"),
    [
        ("opentelemetry.instrumentation.aiohttp_server", {"http.method": "POST"}, "aborted"),
        ("opentelemetry.instrumentation.aiohttp_server", {"http.method": "POST", "http.status_code": 200}, "ok"),
        ("other", {"http.method": "POST"}, "ok"),
    ],
)
def test_a_server_of_aiohttp_without_status_was_cancelled(
    database: Database, scope: str, attributes: dict[str, object], outcome: str
) -> None:
    store(database, [Span(1, 0, 50, "POST /stream", kind=SERVER, scope=scope, attributes=attributes)])
    assert request(database)["outcome"] == outcome


@pytest.mark.parametrize(
    ("message", "after", "outcome"),
    [("context canceled", 0, "aborted"), ("context canceled", 50 * MS, "failed"), ("connection refused", 0, "failed")],
)
def test_a_server_of_go_whose_call_was_called_off_lost_its_client(
    database: Database, message: str, after: int, outcome: str
) -> None:
    """A proxy answers 502 to nobody. Where it went on for long, it had another reason."""
    root = Span(1, 0, 50 * MS + after, "POST /stream", kind=SERVER, status=ERROR, attributes={STATUS: 502})
    call = Span(
        2, MS, 49 * MS, "HTTP POST", parent=1, kind=CLIENT, status=ERROR, status_message=message,
        attributes={"url.full": "http://m:80/v1/chat/completions", "error.type": "*errors.errorString"},
    )  # fmt: skip
    store(database, [root, call])
    assert request(database)["outcome"] == outcome


def test_a_server_of_go_that_called_a_hedge_off_answered(database: Database) -> None:
    root = Span(1, 0, 50 * MS, "POST /ask", kind=SERVER, attributes={STATUS: 200})
    asked = {"url.full": "http://m:80/v1/chat/completions"}
    won = Span(2, MS, 49 * MS, "HTTP POST", parent=1, kind=CLIENT, attributes=asked | {STATUS: 200})
    lost = replace(won, id=3, start=20 * MS, status=ERROR, attributes=asked, status_message="context canceled")
    store(database, [root, won, lost])
    assert request(database)["outcome"] == "ok"


def test_tornados_599_is_a_time_out(database: Database) -> None:
    root = Span(1, 0, 90 * MS, "POST /ask", kind=SERVER, status=ERROR, attributes={"http.status_code": 504})
    call = Span(
        2, MS, 80 * MS, "POST", parent=1, kind=CLIENT, status=ERROR,
        attributes={"http.status_code": 599, "http.url": "http://m:80/v1/chat/completions"},
    )  # fmt: skip
    store(database, [root, call])
    assert request(database)["outcome"] == "failed"
    assert request_failures(database).requests["rule"].to_list() == ["messenger"]


def test_a_user_abort_of_openais_client_is_no_failure(database: Database) -> None:
    root = Span(1, 0, 50, "POST /stream", kind=SERVER, attributes={STATUS: 200})
    call = Span(
        2, 5, 50, "chat m", parent=1, kind=CLIENT, status=ERROR,
        attributes={"gen_ai.operation.name": "chat", "error.type": "APIUserAbortError"},
    )  # fmt: skip
    store(database, [root, call])
    assert request(database)["outcome"] == "aborted"
    assert times(database)["e2e", "upstream", "chat m"] == 45
