"""First causes: every request that was not served has exactly one, found by stated rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.unit.analysis.requests_received import CLIENT, ERROR, MS, SERVER, S, Seen, call, receive, root
from tracekit.analysis import RequestFailures, request_failures
from tracekit.store import Database

OK = 1

ENGINE: dict[str, Any] = {"service": "vllm", "kind": SERVER}


def causes(answer: RequestFailures, *names: str) -> list[tuple[Any, ...]]:
    """Some columns of the requests that were not served, in order of trace."""
    return answer.requests.sort("trace_id").select(*names).rows()


@pytest.fixture
def ask(database: Database, tmp_path: Path) -> Any:
    """Store some spans and ask what failed."""

    def asked(*spans: Seen) -> RequestFailures:
        return request_failures(receive(database, tmp_path, spans))

    return asked


def engine(number: int, parent: int, start: int, end: int, host: str = "worker-0", **more: Any) -> Seen:
    return Seen(number, start, end, "generate", parent=parent, host=host, **(ENGINE | more))


def test_the_lowest_span_that_failed_is_the_cause(ask: Any) -> None:
    """The call and the gateway passed the error on; the engine's own words and host are told."""
    answer = ask(
        root(10 * MS, 500),
        call(2, MS, 9 * MS, status=ERROR),
        engine(3, 2, 2 * MS, 9 * MS, status=ERROR, exception=("CUDAError", "out of memory")),
    )
    assert causes(answer, "rule", "service", "host", "error_type", "message") == [
        ("propagated", "vllm", "worker-0", "CUDAError", "out of memory")
    ]
    assert [row["source"] for row in answer.evidence.iter_rows(named=True)] == ["exception", "span"]


def test_a_request_that_failed_by_itself_names_itself(ask: Any) -> None:
    """What ran well inside it, long before, is not blamed."""
    answer = ask(root(100 * MS, 500), Seen(2, MS, 9 * MS, "auth", parent=1), engine(3, 1, 10 * MS, 20 * MS))
    assert causes(answer, "rule", "service", "host") == [("self", "gateway", "gateway-0")]


def test_a_callee_whose_clock_is_ahead_had_ended_with_its_call(ask: Any) -> None:
    """By its own clock it ended when the request failed; its caller had gone on 4 ms before."""
    answer = ask(
        root(100 * MS, 500, exception=("KeyError", "'tenant'")),
        call(2, MS, 96 * MS),
        engine(3, 2, 8 * MS, 101 * MS),
    )
    assert causes(answer, "rule", "service", "host", "error_type") == [("self", "gateway", "gateway-0", "KeyError")]


def test_a_repeated_attempt_is_no_cause(ask: Any) -> None:
    """The attempt that ended the series is."""
    answer = ask(
        root(30 * MS, 500),
        call(2, MS, 9 * MS, status=ERROR, exception=("FirstError", "")),
        call(3, 10 * MS, 19 * MS, status=ERROR, exception=("LastError", "")),
    )
    assert causes(answer, "error_type", "rule") == [("LastError", "unseen")]


def test_a_loop_over_targets_repeats_nothing(ask: Any) -> None:
    """The first of three different calls failed, and the request with it."""
    spans = [
        Seen(2 + n, n * 10 * MS + MS, n * 10 * MS + 9 * MS, "GET", parent=1, kind=CLIENT, status=ERROR if n == 0 else 0,
             attributes={"url.full": f"http://tool-{n}/", "server.address": f"tool-{n}"})
        for n in range(3)
    ]  # fmt: skip
    answer = ask(root(40 * MS, 500), call(9, 35 * MS, 39 * MS), *spans)
    assert causes(answer, "rule", "service", "operation") == [("unseen", "tool-0", "GET")]


def test_what_a_handler_stopped_is_no_cause(ask: Any) -> None:
    """A cache that failed inside a step that went on; later the engine fails."""
    answer = ask(
        root(30 * MS, 500),
        Seen(2, MS, 9 * MS, "lookup", parent=1),
        Seen(3, 2 * MS, 3 * MS, "redis.get", parent=2, status=ERROR, exception=("RedisError", "")),
        Seen(4, 4 * MS, 8 * MS, "compute", parent=2),
        call(5, 10 * MS, 29 * MS, status=ERROR),
        engine(6, 5, 11 * MS, 29 * MS, status=ERROR),
    )
    assert causes(answer, "service", "operation") == [("vllm", "generate")]


def test_an_error_passes_through_a_span_without_status(ask: Any) -> None:
    """Manual spans often set none; nothing went on in it afterwards."""
    answer = ask(
        root(30 * MS, 500),
        Seen(2, MS, 29 * MS, "pipeline", parent=1),
        Seen(3, 2 * MS, 28 * MS, "tokenise", parent=2, status=ERROR, exception=("TokenError", "")),
        call(4, MS, 2 * MS),
    )
    assert causes(answer, "rule", "operation", "error_type") == [("propagated", "tokenise", "TokenError")]


def test_a_time_out_is_the_messenger(ask: Any) -> None:
    """The engine that took the time is the cause, though its own span only says that it was ended."""
    answer = ask(
        root(S, 504),
        call(2, MS, S, status=ERROR, exception=("ReadTimeout", "")),
        engine(3, 2, 2 * MS, S, host="worker-1", status=ERROR),
    )
    assert causes(answer, "rule", "service", "host", "error_type") == [("messenger", "vllm", "worker-1", "ReadTimeout")]
    assert (answer.failed, answer.timed_out, answer.incidents["origin_ns"][0]) == (1, 1, S - MS)
    assert "is the messenger, the time went to vllm on worker-1" in answer.summary


def test_an_error_below_a_time_out_that_says_what_it_was_is_the_cause(ask: Any) -> None:
    """The engine ran out of memory, and its caller only noticed when its time was up."""
    answer = ask(
        root(S, 504),
        call(2, MS, S, status=ERROR, exception=("ReadTimeout", "")),
        engine(3, 2, 2 * MS, 9 * MS, status=ERROR, exception=("OutOfMemory", "")),
    )
    assert causes(answer, "rule", "error_type") == [("propagated", "OutOfMemory")]


def test_a_callee_without_spans_is_named_by_other_requests(ask: Any) -> None:
    """Calls from here reach one service on one host, so this one did."""
    answer = ask(
        root(30 * MS, 200, trace=2),
        call(2, MS, 29 * MS, trace=2),
        engine(3, 2, 2 * MS, 28 * MS, trace=2),
        root(30 * MS, 502),
        call(2, MS, 29 * MS, status=ERROR, attributes={"error.type": "connection_error"}),
    )
    assert causes(answer, "rule", "service", "host") == [("unseen", "vllm", "worker-0")]


def test_cancelled_siblings_are_collateral(ask: Any) -> None:
    """Three requests of one call, joined by links; one fails, another is cancelled, the third client just leaves."""
    spans = [
        root(30 * MS, 500), call(2, MS, 29 * MS, status=ERROR, exception=("BoomError", "")),
        root(32 * MS, 499, trace=2, links=(1,)), call(2, MS, 31 * MS, trace=2),
        root(32 * MS, 499, trace=3), call(2, MS, 31 * MS, trace=3),
    ]  # fmt: skip
    answer = ask(*spans)
    assert causes(answer, "ending", "rule", "incident") == [
        ("failed", "unseen", 1),
        ("aborted_before", "collateral", 1),
        ("aborted_before", "left", None),
    ]
    assert (answer.failed, answer.aborted, answer.collateral) == (1, 2, 1)
    assert answer.incidents.select("failed_count", "collateral_count").rows() == [(1, 1)]


def test_a_cancelled_span_is_no_first_cause(ask: Any) -> None:
    """Two parallel calls: one fails, the other is cancelled a moment earlier by the clock."""
    answer = ask(
        root(30 * MS, 500),
        call(2, MS, 27 * MS, status=ERROR, exception=("CancelledError", "")),
        Seen(3, MS, 28 * MS, "tool", parent=1, status=ERROR, exception=("ToolError", "")),
    )
    assert causes(answer, "error_type") == [("ToolError",)]


def test_an_invalid_or_refused_request_is_no_failure(ask: Any) -> None:
    """400 and 429 are counted apart; refusals still name who refused."""
    answer = ask(root(MS, 400), root(MS, 429, trace=2), root(MS, 503, trace=3))
    assert (answer.failed, answer.invalid, answer.rejected, answer.shed) == (0, 1, 1, 1)
    assert (answer.verdict, answer.incidents.height) == ("no_failures", 0)
    assert sorted(answer.refusals["kind"].to_list()) == ["rejected", "shed"]
    assert "No failures of the service: 1 rejected, 1 shed, 1 invalid." in answer.summary


def test_a_cause_that_comes_again_after_quiet_is_another_incident(ask: Any) -> None:
    """Counts of incidents sum to the requests that failed."""
    times = (0, 10 * S, 100 * S)
    answer = ask(*(Seen(1, at, at + MS, "run", trace=n + 1, status=ERROR) for n, at in enumerate(times)))
    assert answer.incidents.sort("incident")["failed_count"].to_list() == [2, 1]
    assert answer.failed == answer.incidents["failed_count"].sum() == 3


def test_recovered_requests_are_counted_apart(ask: Any) -> None:
    """A repeated attempt, and an error that a fallback of another name made good."""
    answer = ask(
        root(30 * MS, 200),
        call(2, MS, 9 * MS, status=ERROR),
        call(3, 10 * MS, 29 * MS),
        root(30 * MS, 200, trace=2),
        call(2, MS, 9 * MS, trace=2),
        Seen(3, 10 * MS, 11 * MS, "cache.set", parent=1, trace=2, status=ERROR),
    )
    assert answer.failed == 0
    assert answer.recovered.select("how", "request_count").rows() == [("retried", 1), ("handled", 1)]


def test_broken_parents_and_cycles_do_not_hide_the_cause(ask: Any) -> None:
    """A span whose parent never arrived, and two that name each other."""
    answer = ask(
        root(30 * MS, 500),
        call(2, MS, 29 * MS),
        engine(3, 77, 2 * MS, 20 * MS, status=ERROR, exception=("Lost", "")),
        Seen(5, MS, 3 * MS, "a", parent=6),
        Seen(6, MS, 3 * MS, "b", parent=5),
    )
    assert causes(answer, "error_type") == [("Lost",)]


def test_an_empty_store_has_no_failures(database: Database) -> None:
    """And says so."""
    answer = request_failures(database)
    assert (answer.verdict, answer.summary) == ("no_requests", "There are no requests to judge.")
    assert answer.as_dict()["incidents"] == []


def test_the_json_has_the_documented_shape(ask: Any) -> None:
    """One object an incident, the cause inside, the traces of its victims."""
    answer = ask(root(30 * MS, 500), call(2, MS, 29 * MS, status=ERROR))
    (incident,) = answer.as_dict()["incidents"]
    assert {"id", "unit", "kind", "time_ns", "first_cause", "victims", "lost_ns"} <= incident.keys()
    assert {"stage", "rank", "host", "service", "span_id", "rule", "message"} <= incident["first_cause"].keys()
    assert incident["victims"] == [f"{1:032x}"]
    assert isinstance(answer.requests, pl.DataFrame)


def test_an_error_that_every_wrapper_calls_well_is_still_the_cause(ask: Any) -> None:
    """An agent framework ends its own spans well whatever happens: the request failed, and one error lies in it."""
    answer = ask(
        Seen(1, 0, 100 * MS, "workflow", status=OK),
        Seen(2, MS, 99 * MS, "helper", parent=1, status=ERROR, message="agent run: Error code: 500"),
        Seen(3, 2 * MS, 98 * MS, "turn", parent=2, status=OK),
        call(4, 3 * MS, 97 * MS, parent=3, status=ERROR, message="Error code: 500"),
    )
    assert causes(answer, "operation", "message") == [("chat m", "Error code: 500")]


def test_a_call_tells_by_its_address_whom_it_reached(ask: Any) -> None:
    """Without a name of the service; what somebody put in front of the host stays out."""
    attributes = {"http.method": "POST", "http.url": "http://user:secret@model-7:8000/v1/chat", "http.status_code": 500}
    answer = ask(root(10 * MS, 500), Seen(2, MS, 9 * MS, "POST", parent=1, kind=CLIENT, attributes=attributes))
    assert causes(answer, "rule", "service") == [("unseen", "model-7:8000")]
    assert "secret" not in answer.summary
