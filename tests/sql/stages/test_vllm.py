"""vLLM's request span: stages laid out from attributes, impossible values set aside and counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import SERVER, Span, by_stage, request, store, times
from tracekit.stages import operations, update_units
from tracekit.store import Database

MS = 1_000_000
NORMAL = {
    "gen_ai.latency.time_to_first_token": 0.500,
    "gen_ai.latency.e2e": 0.900,
    "gen_ai.latency.time_in_queue": 0.290,
    "gen_ai.latency.time_in_model_prefill": 0.200,
    "gen_ai.latency.time_in_model_decode": 0.380,
    "gen_ai.usage.prompt_tokens": 70,
    "gen_ai.usage.completion_tokens": 20,
}


def engine_span(end_ms: int = 901, name: str = "llm_request", **attributes: Any) -> Span:
    """A request of 901 ms whose attributes are `NORMAL` with some replaced (None: left out)."""
    short = {key.rpartition(".")[2]: key for key in NORMAL}
    replaced = NORMAL | {short.get(key, key): value for key, value in attributes.items()}
    known = {key: value for key, value in replaced.items() if value is not None}
    return Span(1, 0, end_ms * MS, name, kind=SERVER, service="vllm", scope="vllm.tracing.otel", attributes=known)


def test_stages_are_laid_out_backwards_from_the_first_token(database: Database) -> None:
    """Prefill ends at the first token, the queue before it; what is left before the queue is unexplained."""
    store(database, [engine_span()])
    assert times(database) == {
        ("ttft", "unattributed", "llm_request"): 10 * MS,
        ("ttft", "eng.queue", "llm_request/queue"): 290 * MS,
        ("ttft", "eng.prefill", "llm_request/prefill"): 200 * MS,
        ("decode", "eng.decode", "llm_request/decode"): 380 * MS,
        ("decode", "out.detok", "llm_request/detokenise"): 20 * MS,
        ("after", "out.detok", "llm_request/detokenise"): 1 * MS,
    }


def test_a_request_span_tells_tokens_times_and_vantage(database: Database) -> None:
    """Arrival is the start of the span; first and last token follow from TTFT and e2e."""
    store(database, [engine_span()])
    unit = request(database)
    assert (unit["ttft_ns"], unit["last_token_ns"], unit["e2e_ns"]) == (500 * MS, 900 * MS, 901 * MS)
    assert (unit["input_tokens"], unit["output_tokens"], unit["tpot_ns"]) == (70, 20, 400 * MS // 19)
    assert (unit["vantage"], unit["outcome"], unit["conflict_count"], unit["flags"]) == (
        "engine",
        "ok",
        0,
        None,
    )


def test_seconds_become_nanoseconds_by_one_rounding(database: Database) -> None:
    """0.1042783260345459 s is 104278326 ns."""
    store(
        database,
        [engine_span(time_to_first_token=0.1042783260345459, time_in_queue=0.0, time_in_model_prefill=0.1)],
    )
    assert request(database)["ttft_ns"] == 104_278_326


@pytest.mark.parametrize("queue_s", [-47.7, 1e6, float("inf"), 1e300])
def test_an_impossible_queue_is_a_conflict_and_its_time_unexplained(database: Database, queue_s: float) -> None:
    """A negative or uptime-sized value is not used and counted; the other values stay."""
    span = engine_span(time_in_queue="Infinity" if queue_s == float("inf") else queue_s)
    store(database, [span])
    ttft = by_stage(times(database), "ttft")
    assert ttft == {"unattributed": 300 * MS, "eng.prefill": 200 * MS}
    unit = request(database)
    assert (unit["conflict_count"], unit["flags"]) == (1, "conflict:queue")


def test_a_request_that_failed_before_it_was_scheduled_has_no_first_token(database: Database) -> None:
    """Unset engine times give -uptime and +uptime; without output tokens the TTFT is false too."""
    store(
        database,
        [
            engine_span(
                end_ms=503,
                time_to_first_token=0.502,
                e2e=0.502,
                time_in_queue=-1000.0,
                time_in_model_prefill=1000.5,
                time_in_model_decode=0.0,
                completion_tokens=0,
            )
        ],
    )
    unit = request(database)
    assert (unit["first_token_ns"], unit["outcome"]) == (None, "unknown")
    assert (unit["conflict_count"], unit["flags"]) == (2, "conflict:queue,conflict:prefill")
    assert by_stage(times(database), "e2e") == {"unattributed": 502 * MS, "out.detok": 1 * MS}


@pytest.mark.parametrize(("decode_s", "conflicts"), [(0.4049, 0), (0.4051, 1)])
def test_a_residual_is_tolerated_up_to_one_ms_and_one_per_cent(
    database: Database, decode_s: float, conflicts: int
) -> None:
    """Two clocks differ a little: 400 ms of decoding may be told as up to 405 ms, more is a conflict."""
    store(database, [engine_span(time_in_model_decode=decode_s)])
    assert request(database)["conflict_count"] == conflicts
    expected = {"unattributed": 400 * MS} if conflicts else {"eng.decode": 400 * MS}
    assert by_stage(times(database), "decode") == expected


def test_queue_and_prefill_that_do_not_fit_together_are_both_conflicts(database: Database) -> None:
    """Each fits alone, but which of the two is wrong cannot be told."""
    store(database, [engine_span(time_in_queue=0.4, time_in_model_prefill=0.4)])
    assert request(database)["flags"] == "conflict:queue,conflict:prefill"
    assert by_stage(times(database), "ttft") == {"unattributed": 500 * MS}


def test_one_output_token_leaves_no_decode_window(database: Database) -> None:
    """First and last token are the same; the export of the result follows."""
    store(database, [engine_span(end_ms=501, e2e=0.5, time_in_model_decode=0.0, completion_tokens=1)])
    unit = request(database)
    assert (unit["first_token_ns"], unit["tpot_ns"]) == (unit["last_token_ns"], None)
    assert by_stage(times(database), "decode") == {}
    assert by_stage(times(database), "after") == {"out.detok": 1 * MS}


def test_an_impossible_e2e_leaves_the_last_token_unknown(database: Database) -> None:
    """The request then has its first token and decodes, as far as anybody can tell, until it ends."""
    store(database, [engine_span(e2e=48.5)])
    unit = request(database)
    assert (unit["first_token_ns"], unit["last_token_ns"], unit["flags"]) == (500 * MS, None, "conflict:e2e")
    assert by_stage(times(database), "decode") == {"eng.decode": 380 * MS, "unattributed": 21 * MS}


@pytest.mark.parametrize("sign", [{"disagg_role": "decode"}, {"gen_ai.latency.kv_cache_transfer_time": 0.1}])
def test_a_queue_that_hides_kv_load_is_not_split(database: Database, sign: dict[str, Any]) -> None:
    """On the decode side of a split engine the queue contains the transfer; nobody can tell how much."""
    store(database, [engine_span(**sign)])
    assert times(database)["ttft", "unsplit(eng.queue|kv.load)", "llm_request/queue"] == 290 * MS
    shown = operations(database, trace_id=f"{1:032x}").filter(operation="llm_request/queue")
    assert shown["quality"].to_list() == ["unsplit"]


def test_a_span_of_another_name_is_recognised_by_its_attributes(database: Database) -> None:
    """Older versions name the span otherwise; the scope name differs as well."""
    store(database, [engine_span(name="generate")])
    assert times(database)["decode", "eng.decode", "generate/decode"] == 380 * MS


@pytest.mark.parametrize("name", [" Req 1a2b3c4d", "decode Req 1a2b3c4d"])
def test_sglang_uses_the_same_keys_for_other_durations(database: Database, name: str) -> None:
    """Its spans are not read as vLLM's: what it calls prefill has the queue in it."""
    store(database, [engine_span(name=name)])
    assert by_stage(times(database), "ttft") == {
        "unattributed": 300 * MS,
        "unsplit(eng.prefill|eng.queue)": 200 * MS,
    }


def test_engine_start_up_is_no_request(database: Database) -> None:
    """Start-up spans have a stage of their own and make no unit."""
    spans = [
        Span(1, 0, 100, "Overall Loading", scope="vllm.v1.engine.core_client"),
        Span(2, 10, 90, "Load model", parent=1, scope="vllm.model_executor.model_loader.base_loader"),
    ]
    store(database, spans)
    assert update_units(database).requests == 0
    assert set(operations(database, trace_id=f"{1:032x}")["stage"]) == {"lifecycle.startup"}


def test_a_span_that_only_shares_a_name_with_start_up_is_a_request(database: Database) -> None:
    """Other software loads models too."""
    store(database, [Span(1, 0, 100, "Load model", scope="app")])
    assert times(database) == {("e2e", "service:Load model", "Load model"): 100}


def test_real_children_take_precedence_over_what_attributes_say(database: Database) -> None:
    """A part has only the time of its span that no span below owns."""
    inside = Span(2, 400 * MS, 450 * MS, "tokenise", parent=1, service="vllm")
    store(database, [engine_span(), inside])
    found = times(database)
    assert found["ttft", "vllm:tokenise", "tokenise"] == 50 * MS
    assert found["ttft", "eng.prefill", "llm_request/prefill"] == 150 * MS
    assert sum(by_stage(found, "ttft").values()) == 500 * MS


def _half(identity: int, start_ms: int, end_ms: int, service: str, **attributes: Any) -> Span:
    half = engine_span(end_ms=0, **{"gen_ai.request.id": "cmpl-1"}, **attributes)
    return replace(half, id=identity, parent=1, start=start_ms * MS, end=end_ms * MS, service=service)


def test_two_requests_that_a_router_made_of_one_count_as_one(database: Database) -> None:
    """Prefill makes one token on another instance; the queue of the decode side may hide the KV transfer."""
    prefill = _half(
        2, 10, 511, "prefill", e2e=0.5, time_in_model_decode=0.0, time_to_first_token=0.5, completion_tokens=1
    )
    decode = _half(
        3, 520, 1000, "decode",
        e2e=0.47, time_in_model_decode=0.4, time_to_first_token=0.07, time_in_model_prefill=0.02, time_in_queue=0.05,
    )  # fmt: skip
    store(database, [Span(1, 0, 1010 * MS, "route"), prefill, decode])
    unit = request(database)
    assert (unit["ttft_ns"], unit["output_tokens"], unit["input_tokens"], unit["flags"]) == (590 * MS, 20, 70, None)
    assert by_stage(times(database), "ttft")["unsplit(eng.queue|kv.load)"] == 50 * MS
    assert by_stage(times(database), "ttft")["eng.prefill"] == 220 * MS


@pytest.mark.parametrize("change", [{"service": "decode"}, {"attributes": NORMAL | {"gen_ai.request.id": "cmpl-1"}}])
def test_two_generations_of_one_prompt_are_no_halves(database: Database, change: dict[str, Any]) -> None:
    """Those of one instance, or with more tokens than one on each side, are several calls."""
    first = replace(_half(2, 10, 911, "prefill", completion_tokens=1), **change)
    store(database, [Span(1, 0, 1010 * MS, "route"), first, _half(3, 20, 921, "decode")])
    assert "several_calls" in request(database)["flags"]
