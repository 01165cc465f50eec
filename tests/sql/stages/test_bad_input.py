"""What exporters send that cannot be: set aside, counted on the unit by name, and the rest of the request kept.

All cases lie in one store, each in a trace of its own, so that none disturbs another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.sql.stages import test_dynamo as dynamo
from tests.sql.stages import test_sglang as sglang
from tests.sql.stages import test_triton as triton
from tests.sql.stages.test_vllm import engine_span
from tests.unit.stages.stored import CLIENT, SERVER, Span, by_stage, in_trace, request, store, times
from tracekit.analysis import quality
from tracekit.stages import update_units
from tracekit.store import Database

MS = 1_000_000


def call(*events: tuple[str, int], scope: str = "test", **attributes: Any) -> list[Span]:
    """A call of a model of 100 ms; `output_tokens=3` stands for `gen_ai.usage.output_tokens`."""
    known = {"first_chunk": "gen_ai.response.time_to_first_chunk"}
    said = {known.get(key, f"gen_ai.usage.{key}"): value for key, value in attributes.items()}
    said |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    return [Span(1, 0, 100 * MS, "chat m", kind=CLIENT, scope=scope, events=events, attributes=said)]


def sglang_root(**latencies: Any) -> Span:
    said = {f"gen_ai.latency.{key}": value for key, value in latencies.items()}
    return replace(sglang.ROOT, attributes=sglang.ROOT.attributes | said)


def dynamo_with(**attributes: Any) -> list[Span]:
    return [replace(dynamo.ROOT, attributes=dynamo.ROOT.attributes | attributes), *dynamo.WHOLE[1:]]


def gateway_and_engine(ahead_ms: int) -> list[Span]:
    """An engine whose clock is this far ahead of the gateway's."""
    served = {"http.request.method": "POST", "url.path": "/v1/chat/completions"}
    engine = engine_span()
    moved = replace(engine, parent=51, host="b", start=ahead_ms * MS, end=ahead_ms * MS + engine.end)
    return [
        Span(50, 0, 1000 * MS, "POST /v1/chat/completions", kind=SERVER, service="gw", host="a", attributes=served),
        Span(51, 10 * MS, 990 * MS, "chat m", 50, kind=CLIENT, service="gw", host="a",
             attributes={"gen_ai.operation.name": "chat"}),
        moved,
    ]  # fmt: skip


REVERSED = triton.span(
    3, 14, 90, "compute", 2, COMPUTE_START=14, COMPUTE_INPUT_END=10, COMPUTE_OUTPUT_START=88, COMPUTE_END=200
)
SECOND_RANK = [
    replace(span, id=span.id + 100, parent=1 if span.id == 3 else 103)
    for span in [replace(sglang.SCHEDULER, name="Scheduler [TP 1] (host:a | pid:9)"), *sglang.SLICES[2:]]
]

CASES: dict[str, tuple[list[Span], str | None, dict[str, Any]]] = {
    "first chunk before the call": (call(first_chunk=-3.0), "first_token", {"ttft_ns": None}),
    "first chunk as large as an uptime": (call(first_chunk=1e6), "first_token", {"ttft_ns": None}),
    "first chunk beyond any time": (call(first_chunk=1e300), "first_token", {"ttft_ns": None}),
    "first chunk that is no number": (call(first_chunk="NaN"), "first_token", {"ttft_ns": None}),
    "first chunk in milliseconds": (call(first_chunk=30), "first_token", {"ttft_ns": None}),
    "late first token": (call(("first_token", 150 * MS)), "first_token", {"ttft_ns": None, "outcome": "ok"}),
    "first token before the call": (call(("first_token", -5 * MS)), "first_token", {"ttft_ns": None}),
    "first token that Envoy writes at the end": (
        call(("First Token Stream Event", 99 * MS), scope="envoyproxy/ai-gateway"), "first_token", {"ttft_ns": None},
    ),
    "the same event of others": (call(("First Token Stream Event", 99 * MS)), None, {"ttft_ns": 99 * MS}),
    "negative tokens": (
        call(input_tokens=-5, output_tokens=-1), "input_tokens output_tokens",
        {"input_tokens": None, "output_tokens": None},
    ),
    "more tokens than any context": (call(output_tokens=2**62), "output_tokens", {"output_tokens": None}),
    "tokens that are no number": (call(input_tokens="12", output_tokens="many"), "output_tokens", {"input_tokens": 12}),
    "zero output tokens": (call(("first_token", 50 * MS), output_tokens=0), None, {"output_tokens": 0}),
    "vllm: negative tokens": ([engine_span(completion_tokens=-1)], "output_tokens", {"outcome": "unknown"}),
    "vllm: a queue that is no number": ([engine_span(time_in_queue="long")], "queue", {"ttft_ns": 500 * MS}),
    "vllm: an end before the start": (
        [replace(engine_span(), end=-5 * MS)], "ttft e2e queue prefill decode", {"e2e_ns": 0, "ttft_ns": None},
    ),
    "vllm: the gateway's span is lost": ([replace(engine_span(), parent=99)], None, {"ttft_ns": 500 * MS}),
    "sglang: an e2e as large as an uptime": (
        [sglang_root(e2e=1e6), *sglang.WHOLE[1:]], "e2e", {"ttft_ns": 41 * MS, "last_token_ns": None},
    ),
    "sglang: late first token": (
        [sglang_root(time_to_first_token=0.5), *sglang.WHOLE[1:]], "ttft", {"ttft_ns": 40 * MS},
    ),
    "sglang: no slices and impossible values": (
        [sglang_root(time_in_model_prefill=-1.0, time_in_model_decode=1e6)], "prefill decode", {"ttft_ns": 41 * MS},
    ),
    "sglang: scheduler lost": ([sglang.ROOT, sglang.TOKENIZER, *sglang.SLICES[:2]], None, {"ttft_ns": 41 * MS}),
    "sglang: root lost": (sglang.WHOLE[1:], None, {"vantage": "engine", "outcome": "unknown"}),
    "dynamo: a gap before the token": (dynamo_with(avg_itl_ms=-4.5), "itl", {"ttft_ns": 50 * MS}),
    "dynamo: a gap as large as an uptime": (dynamo_with(avg_itl_ms=1e9), "itl", {"output_tokens": 11}),
    "dynamo: numbers as text": (dynamo_with(ttft_ms="50.0", output_tokens="11"), None, {"ttft_ns": 50 * MS}),
    "dynamo: tokens beyond 63 bits": (dynamo_with(input_tokens=str(2**64 - 1)), "input_tokens", {"output_tokens": 11}),
    "triton: wrong order of events": ([triton.ROOT, triton.MODEL, REVERSED], "input infer output", {"outcome": "ok"}),
    "triton: a queue since the start of the server": (
        [
            triton.ROOT, triton.COMPUTE,
            triton.span(2, 3, 90, "llama", 1, REQUEST_START=3, QUEUE_START=-4_000_000, REQUEST_END=90),
        ],
        "queue", {"outcome": "ok"},
    ),
}  # fmt: skip
"""Spans of one request, the names of the values that are set aside, and what is known of it all the same."""

SAME_TIMES = {
    "ranks that compute together": ([*sglang.WHOLE, *SECOND_RANK], sglang.WHOLE),
    "threads lost": ([sglang.ROOT, *sglang.SLICES], sglang.WHOLE),
    "trace ids of 64 bits": (in_trace(sglang.WHOLE, 0x1234_5678_9ABC_DEF0), sglang.WHOLE),
    "an engine 3 s behind": (gateway_and_engine(-3000), gateway_and_engine(10)),
    "an engine 3 s ahead": (gateway_and_engine(3000), gateway_and_engine(89)),
}
"""Spans, and others that tell the same times of stages."""


@pytest.fixture(scope="module")
def stored() -> Iterator[Database]:
    with Database.open(None) as database:
        for number, (spans, _, _) in enumerate(CASES.values(), start=1):
            store(database, in_trace(spans, number))
        update_units(database)
        yield database


@pytest.mark.parametrize("name", CASES)
def test_a_value_that_cannot_be_is_counted_by_name(stored: Database, name: str) -> None:
    """And what the other values tell stays."""
    _, conflicts, expected = CASES[name]
    unit = request(stored, trace=list(CASES).index(name) + 1)
    named = [
        flag.removeprefix("conflict:") for flag in (unit["flags"] or "").split(",") if flag.startswith("conflict:")
    ]
    assert (named, unit["conflict_count"]) == ((conflicts or "").split(), len((conflicts or "").split()))
    assert {key: unit[key] for key in expected} == expected


def test_the_parts_are_the_whole_whatever_is_sent(stored: Database) -> None:
    """No stage is negative, and what is set aside is time that nobody explains."""
    wrong = stored.sql(
        "SELECT unit_id FROM units JOIN unit_stages USING (unit_id) GROUP BY unit_id "
        "HAVING sum(self_ns) != any_value(e2e_ns) OR min(self_ns) < 0"
    )
    assert wrong.is_empty()


def test_quality_shows_how_many(stored: Database) -> None:
    found = quality(stored).findings.filter(check="conflicting_units").select("count", "total")
    assert found.rows() == [(sum(one is not None for _, one, _ in CASES.values()), len(CASES))]


@pytest.mark.parametrize("name", SAME_TIMES)
def test_what_is_lost_doubled_or_moved_changes_no_stage(database: Database, name: str) -> None:
    spans, same = SAME_TIMES[name]
    store(database, spans)
    store(database, in_trace(same, 2))
    found, expected = times(database, trace=spans[0].trace), times(database, trace=2)
    for window in ("ttft", "decode", "after", "e2e"):
        assert by_stage(found, window) == by_stage(expected, window)
