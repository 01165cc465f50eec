"""Attempts that failed and were repeated."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.stages.stored import CLIENT, ERROR, SERVER, Span, store, times
from tracekit.store import Database

ROOT = Span(1, 0, 100, "job", service="shop")
FAILED = Span(2, 10, 30, "call", parent=1, kind=CLIENT, status=ERROR, service="shop")
AGAIN = Span(3, 40, 90, "call", parent=1, kind=CLIENT, service="shop")


def test_the_failed_attempt_and_the_time_to_the_next_are_retry(database: Database) -> None:
    """So is what ran below it; the attempt that succeeds keeps its stage."""
    below = Span(4, 12, 25, "serve", parent=2, kind=SERVER, service="cart")
    store(database, [ROOT, FAILED, below, AGAIN])
    assert times(database) == {
        ("e2e", "shop:job", "job"): 20,
        ("e2e", "retry", "call"): 7,
        ("e2e", "retry", "serve"): 13,
        ("e2e", "retry", "call/backoff"): 10,
        ("e2e", "shop:call", "call"): 50,
    }


def test_every_failed_attempt_but_the_last_is_retry(database: Database) -> None:
    """Whoever gives up ends with an attempt that was not repeated."""
    third = replace(AGAIN, id=4, start=92, end=95, status=ERROR)
    store(database, [ROOT, FAILED, replace(AGAIN, status=ERROR), third])
    assert times(database) == {
        ("e2e", "shop:job", "job"): 15,
        ("e2e", "retry", "call"): 70,
        ("e2e", "retry", "call/backoff"): 12,
        ("e2e", "shop:call", "call"): 3,
    }


@pytest.mark.parametrize(
    "other",
    [
        replace(AGAIN, name="other"),
        replace(AGAIN, kind=SERVER),
        replace(AGAIN, start=20),
        replace(AGAIN, parent=0),
    ],
)
def test_only_the_same_operation_after_it_repeats_an_attempt(database: Database, other: Span) -> None:
    """Not another name or kind, nothing that ran beside it, nothing elsewhere."""
    store(database, [ROOT, FAILED, other])
    assert not {stage for _, stage, _ in times(database)} & {"retry"}


def test_other_work_between_two_attempts_is_no_retry(database: Database) -> None:
    """Only the parent's own time there belongs to the repetition."""
    store(database, [ROOT, FAILED, Span(4, 32, 38, "log", parent=1, service="shop"), AGAIN])
    found = times(database)
    assert (found["e2e", "retry", "call/backoff"], found["e2e", "shop:log", "log"]) == (4, 6)


def test_what_ran_in_vain_is_retry_whatever_stage_it_names(database: Database) -> None:
    """Waiting in the queue of an engine for an attempt that is thrown away is no queueing of the one that served."""
    named = Span(4, 12, 25, "queue", parent=2, service="engine", attributes={"tracekit.stage": "eng.queue"})
    served = replace(named, id=5, start=42, end=50, parent=3)
    store(database, [ROOT, FAILED, named, AGAIN, served])
    found = times(database)
    assert found["e2e", "retry", "queue"] == 13
    assert found["e2e", "eng.queue", "queue"] == 8


def test_an_attempt_that_gave_a_first_token_is_not_thrown_away(database: Database) -> None:
    """Where a worker dies another goes on with the tokens it had: its decoding was not in vain."""
    decoding = Span(4, 12, 30, "decode", parent=2, service="engine", attributes={"tracekit.stage": "eng.decode"})
    store(database, [ROOT, replace(FAILED, events=(("gen_ai.first_token", 12),)), decoding, AGAIN])
    stages = {stage for _, stage, _ in times(database)}
    assert "retry" not in stages


def _asking(span: Span, **attributes: object) -> Span:
    named = {key.replace("__", "."): value for key, value in attributes.items()}
    return replace(span, attributes={**span.attributes, **named})


@pytest.mark.parametrize(
    ("key", "first", "second"),
    [
        ("url__full", "http://x/item/1", "http://x/item/2"),
        ("http__url", "http://x/item/1", "http://x/item/2"),
        ("url__path", "/item/1", "/item/2"),
        ("server__address", "a.example", "b.example"),
        ("server__port", 8001, 8002),
        ("rpc__method", "Get", "Put"),
        ("gen_ai__tool__name", "search", "fetch"),
    ],
)
def test_a_loop_over_targets_is_no_retry(database: Database, key: str, first: object, second: object) -> None:
    """The first fails and the others go on: each asked for something else."""
    store(database, [ROOT, _asking(FAILED, **{key: first}), _asking(AGAIN, **{key: second})])
    assert "retry" not in {stage for _, stage, _ in times(database)}


def test_the_same_target_is_a_retry(database: Database) -> None:
    """What only one of the two tells speaks for nothing."""
    again = _asking(AGAIN, url__full="http://x/1", server__port=80)
    store(database, [ROOT, _asking(FAILED, url__full="http://x/1"), again])
    assert times(database)["e2e", "retry", "call"] == 20


@pytest.mark.parametrize("key", ["http.request.resend_count", "http.resend_count"])
def test_who_says_that_it_is_a_repetition_is_one(database: Database, key: str) -> None:
    """Whatever its name, and however the first attempt ended."""
    again = replace(AGAIN, name="call /v2", attributes={key: 1})
    store(database, [ROOT, replace(FAILED, status=0), again])
    found = times(database)
    assert (found["e2e", "retry", "call"], found["e2e", "retry", "call/backoff"]) == (20, 10)
    assert found["e2e", "shop:call /v2", "call /v2"] == 50


def test_following_a_redirect_is_no_retry(database: Database) -> None:
    """HTTP clients count it as another attempt, but the first one was not in vain."""
    moved = replace(FAILED, status=0, attributes={"http.response.status_code": 302})
    store(database, [ROOT, moved, replace(AGAIN, attributes={"http.request.resend_count": 1})])
    assert "retry" not in {stage for _, stage, _ in times(database)}


@pytest.mark.parametrize("told", [{"http.response.status_code": 503}, {"http.status_code": "429"}])
def test_a_refusal_without_the_status_error_was_an_attempt(database: Database, told: dict[str, object]) -> None:
    """Some clients leave the status of the span alone, and some write numbers as text."""
    store(database, [ROOT, replace(FAILED, status=0, attributes=told), AGAIN])
    assert times(database)["e2e", "retry", "call"] == 20


@pytest.mark.parametrize("status", [200, 304, 404])
def test_an_answer_that_another_call_follows_was_no_attempt(database: Database, status: int) -> None:
    """Asking again after an answer is polling."""
    answered = replace(FAILED, status=0, attributes={"http.response.status_code": status})
    store(database, [ROOT, answered, AGAIN])
    assert "retry" not in {stage for _, stage, _ in times(database)}
