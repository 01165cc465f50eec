"""SGLang's trees: roots, threads and slices; what slices say is the time of the request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.unit.stages.stored import CLIENT, ERROR, Span, by_stage, request, store, times
from tracekit.store import Database

MS = 1_000_000


def span(number: int, start_ms: float, end_ms: float, name: str, parent: int = 0, **more: Any) -> Span:
    """A span of the engine; times in milliseconds."""
    start, end = round(start_ms * MS), round(end_ms * MS)
    return Span(number, start, end, name, parent=parent, **({"service": "sglang"} | more))


ROOT = span(
    1, 0, 100, " Req 1a2b3c4d",
    attributes={
        "module": "sglang::request",
        "rid": "r-1",
        "gen_ai.latency.time_to_first_token": 0.041,
        "gen_ai.latency.e2e": 0.099,
        "gen_ai.usage.prompt_tokens": 70,
        "gen_ai.usage.completion_tokens": 20,
        "gen_ai.response.finish_reasons": '["stop"]',
        "gen_ai.latency.time_in_model_prefill": 0.036,
        "gen_ai.latency.time_in_model_decode": 0.058,
    },
)  # fmt: skip
TOKENIZER = span(2, 0, 100, "Tokenizer (host:a0000000 | pid:7)", 1, attributes={"thread_label": "Tokenizer"})
SCHEDULER = span(3, 6, 100, "Scheduler [TP 0] (host:a0000000 | pid:8)", 1, attributes={"thread_label": "Scheduler"})
SLICES = [
    span(11, 0, 4, "tokenize", 2),
    span(12, 4, 5, "api_server_dispatch", 2),
    span(13, 6, 20, "prefill_waiting", 3),
    span(14, 20, 40, "prefill_forward", 3),
    span(15, 40, 97, "decode_forward", 3),
]
WHOLE = [ROOT, TOKENIZER, SCHEDULER, *SLICES]


def test_slices_tell_the_time_of_the_request_whatever_thread_holds_it(database: Database) -> None:
    """Tokeniser and scheduler end together; between dispatch and the queue nothing is known."""
    store(database, WHOLE)
    found = times(database)
    assert by_stage(found, "ttft") == {
        "fe.preprocess": 4 * MS,
        "fe.dispatch": 1 * MS,
        "unattributed": 1 * MS,
        "eng.queue": 14 * MS,
        "eng.prefill": 20 * MS,
        # Decoded already, but the API server had no token yet.
        "out.stream": 1 * MS,
    }
    assert by_stage(found, "decode") == {"eng.decode": 56 * MS, "unsplit(out.detok|out.stream)": 2 * MS}
    assert by_stage(found, "after") == {"unsplit(out.detok|out.stream)": 1 * MS}


def test_the_root_tells_tokens_times_and_outcome(database: Database) -> None:
    """First and last token are those of the API server; finish reasons are JSON in a string."""
    store(database, WHOLE)
    unit = request(database)
    assert (unit["ttft_ns"], unit["last_token_ns"], unit["vantage"]) == (41 * MS, 99 * MS, "engine")
    assert (unit["input_tokens"], unit["output_tokens"], unit["outcome"]) == (70, 20, "ok")


def test_a_retraction_waits_for_the_next_prefill_which_is_a_repetition(database: Database) -> None:
    """`decode_forward` stays open; decoding goes on after the prefill that repeats."""
    decode = replace(SLICES[4], events=(("retract", 50 * MS),))
    again = span(16, 62, 70, "prefill_forward", 3)
    store(database, [*WHOLE[:-1], decode, again])
    found = by_stage(times(database), "decode")
    assert found == {
        "eng.decode": (9 + 27) * MS,
        "eng.preempt_wait": 12 * MS,
        "eng.recompute": 8 * MS,
        "unsplit(out.detok|out.stream)": 2 * MS,
    }


def test_a_retraction_never_resumed_waits_until_the_end(database: Database) -> None:
    """No later prefill: the rest of `decode_forward` is waiting."""
    store(database, [*WHOLE[:-1], replace(SLICES[4], events=(("retract", 90 * MS),))])
    assert by_stage(times(database), "decode")["eng.preempt_wait"] == 7 * MS


def test_ranks_that_compute_together_count_once(database: Database) -> None:
    """Each tensor-parallel rank sends its own scheduler; the one that ends last tells the stages."""
    other = span(4, 6, 99, "Scheduler [TP 1] (host:a0000000 | pid:9)", 1, attributes={"thread_label": "Scheduler"})
    copies = [replace(one, id=one.id + 100, parent=4, end=one.end - MS) for one in SLICES[2:]]
    store(database, [*WHOLE, other, *copies])
    found = times(database)
    assert by_stage(found, "ttft")["eng.queue"] == 14 * MS
    assert by_stage(found, "decode")["eng.decode"] == 56 * MS


def test_decode_loops_are_decoding(database: Database) -> None:
    """At level 3 every decode step is a slice inside `decode_forward` or beside it."""
    steps = [span(20, 41, 60, "decode_loop", 15), span(21, 60, 90, "decode_loop", 3)]
    store(database, [*WHOLE, *steps])
    assert by_stage(times(database), "decode")["eng.decode"] == 56 * MS


def test_without_slices_the_attributes_of_the_root_are_used(database: Database) -> None:
    """Time in prefill has the queue in it, so it stays unsplit; decode is told as it is."""
    store(database, [ROOT])
    found = times(database)
    assert by_stage(found, "ttft") == {"unattributed": 5 * MS, "unsplit(eng.prefill|eng.queue)": 36 * MS}
    assert by_stage(found, "decode") == {"eng.decode": 58 * MS}


def test_an_impossible_time_to_the_first_token_is_a_conflict(database: Database) -> None:
    """The start of decoding stands for it."""
    attributes = ROOT.attributes | {"gen_ai.latency.time_to_first_token": -3.0}
    store(database, [replace(ROOT, attributes=attributes), *WHOLE[1:]])
    unit = request(database)
    assert (unit["ttft_ns"], unit["flags"]) == (40 * MS, "conflict:ttft")


def test_an_aborted_request_is_one_by_its_thread(database: Database) -> None:
    """No usage and no finish reason: the thread's status says why, a server error is a failure."""
    aborted = replace(
        SCHEDULER,
        status=ERROR,
        attributes={"thread_label": "Scheduler", "type": "abort", "message": "Aborted in queue"},
    )
    root = replace(ROOT, attributes={"module": "sglang::request", "rid": "r-1"})
    store(database, [root, TOKENIZER, aborted, *SLICES[:3]])
    assert request(database)["outcome"] == "aborted"
    failed = replace(aborted, attributes=aborted.attributes | {"status_code": 500})
    moved = [replace(one, trace=2) for one in [root, TOKENIZER, failed, *SLICES[:3]]]
    store(database, moved)
    assert request(database, trace=2)["outcome"] == "failed"


CALL = Span(
    50, 0, 120 * MS, "chat llama", kind=CLIENT, service="gateway",
    attributes={"gen_ai.operation.name": "chat"}, events=(("first_token", 80 * MS),),
)  # fmt: skip
PREFILL_SIDE = [
    span(1, 2, 60, "prefill Req 00000001", 50, attributes={"module": "sglang::request", "rid": "r-1"}),
    span(2, 3, 60, "Prefill Scheduler [TP 0] (host:a | pid:1)", 1, host="a"),
    span(3, 3, 10, "prefill_waiting", 2),
    span(4, 10, 40, "prefill_forward", 2),
    span(5, 40, 42, "prefill_bootstrap", 2),
    span(6, 42, 60, "prefill_transfer_kv_cache", 2),
]
DECODE_SIDE = [
    span(11, 2, 110, "decode Req 00000001", 50, attributes={"module": "sglang::request", "rid": "r-2"}),
    span(12, 2, 110, "Decode Scheduler [TP 0] (host:b | pid:1)", 11),
    span(13, 2, 61, "decode_transferred", 12),
    span(14, 61, 65, "decode_waiting", 12),
    span(15, 65, 108, "decode_forward", 12),
]


def test_the_decode_side_waits_for_what_the_prefill_side_does(database: Database) -> None:
    """Its wait for the blocks covers queue, prefill and transfer of the other side."""
    store(database, [CALL, *PREFILL_SIDE, *DECODE_SIDE])
    found = times(database)
    assert by_stage(found, "ttft") == {
        "net.dispatch": 2 * MS,
        "eng.queue": 7 * MS,
        "eng.prefill": 30 * MS,
        "kv.bootstrap": 2 * MS,
        "kv.transfer": (1 + 18 + 1) * MS,
        "eng.decode_wait": 4 * MS,
        "out.stream": 15 * MS,
    }
    unit = request(database)
    assert (unit["ttft_ns"], unit["flags"]) == (80 * MS, None)


def test_alone_the_decode_side_cannot_split_its_wait(database: Database) -> None:
    """Without spans of the prefill side the wait is any of the three."""
    store(database, [CALL, *DECODE_SIDE])
    found = by_stage(times(database), "ttft")
    assert found["unsplit(eng.prefill|eng.queue|kv.transfer)"] == 59 * MS


def test_other_spans_whose_names_begin_like_a_request_are_left_alone(database: Database) -> None:
    """`Req` and eight hex digits, nothing else."""
    store(database, [span(1, 0, 10, "Req handler", service="shop")])
    assert set(by_stage(times(database), "e2e")) == {"shop:Req handler"}
