"""Tokens: who counts them, whose clock they are on, and what several generations of one call mean."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import CLIENT, INTERNAL, SERVER, Span, request, store, times
from tracekit.store import Database

MS = 1_000_000
GENAI = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "large"}
CALL = Span(1, 0, 100 * MS, "chat large", kind=CLIENT, service="app", attributes=GENAI)
ENGINE = {
    "gen_ai.latency.time_to_first_token": 0.050,
    "gen_ai.latency.e2e": 0.080,
    "gen_ai.latency.time_in_model_prefill": 0.030,
    "gen_ai.latency.time_in_model_decode": 0.030,
    "gen_ai.usage.prompt_tokens": 7,
    "gen_ai.usage.completion_tokens": 4,
    "gen_ai.request.id": "cmpl-1",
}
SERVE = Span(4, 10 * MS, 92 * MS, "llm_request", parent=1, kind=SERVER, service="vllm", attributes=ENGINE)
SEEN = (("first_token", 63 * MS),)


@pytest.mark.parametrize(
    ("attributes", "counts"),
    [
        ({}, (None, None)),
        ({"gen_ai.usage.output_tokens": 5}, (None, 5)),
        ({"gen_ai.usage.input_tokens": 77}, (77, None)),
        ({"gen_ai.usage.input_tokens": 0, "gen_ai.usage.output_tokens": 0}, (0, 0)),
    ],
)
def test_tokens_that_nobody_counted_are_null(
    database: Database, attributes: dict[str, Any], counts: tuple[int | None, int | None]
) -> None:
    """An embedding has only input tokens, a streaming client often counts neither."""
    store(database, [replace(CALL, attributes=GENAI | attributes)])
    unit = request(database)
    assert (unit["input_tokens"], unit["output_tokens"]) == counts


def test_an_openinference_stream_without_prompt_count_has_none(database: Database) -> None:
    """As a streaming gateway sends it."""
    attributes = {"openinference.span.kind": "LLM", "llm.token_count.completion": 5}
    store(database, [replace(CALL, kind=INTERNAL, attributes=attributes, events=SEEN)])
    unit = request(database)
    assert (unit["input_tokens"], unit["output_tokens"], unit["tpot_ns"]) == (None, 5, 37 * MS // 4)


@pytest.mark.parametrize(
    "seen",
    [{"events": SEEN}, {"attributes": CALL.attributes | {"gen_ai.response.time_to_first_chunk": 0.063}}],
)
def test_a_stream_ends_with_its_span_however_its_first_token_is_told(database: Database, seen: dict[str, Any]) -> None:
    """Event or attribute: last token and time per output token follow alike."""
    call = replace(CALL, **seen)
    counted = replace(call, attributes=call.attributes | {"gen_ai.usage.output_tokens": 5})
    store(database, [counted])
    unit = request(database)
    assert (unit["first_token_ns"], unit["last_token_ns"]) == (63 * MS, 100 * MS)
    assert unit["tpot_ns"] == 37 * MS // 4


def test_parallel_generations_have_no_time_per_token_and_one_prompt(database: Database) -> None:
    """n > 1: an engine request for each choice, of one id; tokens add up, the prompt does not."""
    choices = [replace(SERVE, id=4 + at, end=(92 + at) * MS) for at in range(3)]
    store(database, [replace(CALL, events=SEEN), *choices])
    unit = request(database)
    assert (unit["input_tokens"], unit["output_tokens"]) == (7, 12)
    assert (unit["first_token_ns"], unit["last_token_ns"], unit["tpot_ns"]) == (63 * MS, None, None)


def test_choices_that_a_client_asked_for_have_no_time_per_token(database: Database) -> None:
    """Without engine spans the call says how many there are."""
    attributes = GENAI | {"gen_ai.usage.output_tokens": 12, "gen_ai.request.choice.count": 3}
    store(database, [replace(CALL, attributes=attributes, events=SEEN)])
    assert request(database)["tpot_ns"] is None


def test_an_attempt_without_tokens_does_not_hide_the_last_token(database: Database) -> None:
    """Of two engine requests one generated: its last token is that of the request."""
    nothing = replace(SERVE, id=3, start=2 * MS, end=8 * MS, attributes={"gen_ai.usage.completion_tokens": 0})
    store(database, [replace(CALL, events=SEEN), nothing, SERVE])
    assert request(database)["last_token_ns"] == 90 * MS


def test_facts_are_read_from_spans_that_name_their_own_stage(database: Database) -> None:
    """The convention names the stage; tokens, model and outcome come from what else the span tells."""
    told = GENAI | {
        "tracekit.stage": "upstream",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 4,
    }
    root = Span(1, 0, 110 * MS, "request", kind=SERVER, attributes={"tracekit.stage": "gw.ingress"})
    store(database, [root, replace(CALL, id=2, parent=1, attributes=told, events=SEEN)])
    unit = request(database)
    assert (unit["ttft_ns"], unit["last_token_ns"], unit["model"]) == (63 * MS, 100 * MS, "large")
    assert (unit["input_tokens"], unit["output_tokens"], unit["outcome"]) == (7, 4, "ok")
    assert times(database) == {
        ("ttft", "upstream", "chat large"): 63 * MS,
        ("decode", "upstream", "chat large"): 37 * MS,
        ("after", "unattributed", "request"): 10 * MS,
    }
