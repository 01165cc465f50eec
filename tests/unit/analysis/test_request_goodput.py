"""Goodput of requests: every request in one bucket, every miss shared to stages, nothing guessed."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.analysis.requests_received import MS, S, Seen, call, receive, root
from tests.unit.analysis.rows import Request, Step
from tracekit.analysis import request_goodput
from tracekit.analysis.requests.goodput_answer import BUCKETS
from tracekit.analysis.requests.missed_stages import largest_remainders
from tracekit.analysis.requests.slo import slo_set
from tracekit.errors import QueryError, UsageError
from tracekit.store import Database
from tracekit.wording import goodput_notes

Write = Callable[[Sequence[Request | Step]], Database]

GOOD = Request([("ttft", "eng.queue", 10), ("ttft", "eng.prefill", 90), ("decode", "eng.decode", 400)])
SLO = "ttft=200ns,tpot=150ns,e2e=1us"


def found(answer: object) -> dict[str, int]:
    """Buckets with requests in them."""
    return {name: count for name, count in answer.buckets.items() if count}  # type: ignore[attr-defined]


def late(queue_ns: int, **more: int) -> Request:
    return replace(GOOD, stages=[("ttft", "eng.queue", queue_ns), *GOOD.stages[1:]], **more)


def test_a_term_holds_up_to_and_including_its_limit(store: Write) -> None:
    """Equality passes; the time of a token is not rounded down to the limit."""
    slow = [("ttft", "eng.queue", 110), ("ttft", "eng.prefill", 90)]
    units = [
        replace(GOOD, stages=[*slow, ("decode", "eng.decode", 600)]),
        replace(GOOD, stages=[*slow, ("decode", "eng.decode", 601)]),
        replace(GOOD, stages=[*slow, ("ttft", "eng.queue", 1), ("decode", "eng.decode", 600)]),
        replace(GOOD, stages=[*slow, ("decode", "eng.decode", 600), ("after", "out.stream", 201)]),
    ]
    answer = request_goodput(store(units), SLO)
    assert (answer.good, found(answer)) == (1, {"late_ttft": 1, "late_tpot": 1, "late_e2e": 1})


def test_a_request_is_charged_to_the_first_term_that_it_misses(store: Write) -> None:
    """In the order ttft, tpot, e2e."""
    answer = request_goodput(store([late(1000)]), "ttft=200ns,tpot=1ns,e2e=1ns")
    assert found(answer) == {"late_ttft": 1}


def test_every_outcome_has_its_bucket_and_all_sum_to_what_was_attempted(store: Write) -> None:
    """What the outcome of a unit alone tells."""
    outcomes = ["ok", "failed", "rejected", "invalid", "aborted", "unknown"]
    answer = request_goodput(store([replace(GOOD, outcome=outcome) for outcome in outcomes]), SLO)
    assert found(answer) == {"failed": 1, "rejected": 1, "invalid": 1, "aborted_after": 1, "unknown": 1}
    assert answer.attempted == answer.good + sum(answer.buckets.values()) == 6
    assert answer.denominator == 5


@pytest.mark.parametrize(
    ("http", "first_token", "bucket"),
    [
        (429, None, "rejected"), (503, None, "shed"), (400, None, "invalid"), (404, None, "invalid"),
        (500, None, "failed"), (502, None, "failed"), (504, None, "timed_out"), (408, None, "timed_out"),
        (499, None, "aborted_before"),
        (499, 5 * MS, "aborted_after"),
    ],
)  # fmt: skip
def test_the_status_that_the_client_got_decides(
    database: Database, tmp_path: Path, http: int, first_token: int | None, bucket: str
) -> None:
    """Whatever went on inside."""
    inner = call(2, MS, 9 * MS, first_token=first_token, exception=("TimeoutError", "inside"))
    answer = request_goodput(receive(database, tmp_path, [root(10 * MS, http), inner]), "e2e=1s")
    assert found(answer) == {bucket: 1}


@pytest.mark.parametrize(
    ("kind", "message", "bucket"),
    [
        ("httpx.ReadTimeout", "", "timed_out"), ("asyncio.TimeoutError", "", "timed_out"),
        ("DEADLINE_EXCEEDED", "", "timed_out"), ("ValueError", "tool broke", "failed"),
        ("APIError", "Request timed out.", "timed_out"), ("openai.RateLimitError", "", "rejected"),
        ("ValueError", "tool broke\n" + "x" * 300 + " timeout=3", "failed"),
    ],
)  # fmt: skip
def test_without_a_status_the_type_of_the_error_decides(
    database: Database, tmp_path: Path, kind: str, message: str, bucket: str
) -> None:
    """A stack trace that mentions a time-out is none."""
    whole = Seen(1, 0, 10 * MS, "run", status=2, message=message, exception=(kind, message))
    inner = call(2, MS, 9 * MS, status=2, exception=(kind, message))
    answer = request_goodput(receive(database, tmp_path, [whole, inner]), "e2e=1s")
    assert found(answer) == {bucket: 1}


@pytest.mark.parametrize(
    ("status", "bucket"),
    [
        ("DEADLINE_EXCEEDED", "timed_out"), ("DeadlineExceeded", "timed_out"), ("4", "timed_out"),
        ("UNAVAILABLE", "shed"), ("Unavailable", "shed"), ("RESOURCE_EXHAUSTED", "rejected"),
        ("ResourceExhausted", "rejected"), ("InvalidArgument", "invalid"), ("Internal", "failed"),
    ],
)  # fmt: skip
def test_a_status_of_grpc_is_the_same_however_a_language_writes_it(
    database: Database, tmp_path: Path, status: str, bucket: str
) -> None:
    """Its number, or its name in capitals or as Go writes it."""
    attributes = {"rpc.system.name": "grpc", "rpc.response.status_code": status}
    whole = Seen(1, 0, 10 * MS, "inference/Generate", kind=2, status=2, attributes=attributes)
    answer = request_goodput(receive(database, tmp_path, [whole, call(2, MS, 9 * MS)]), "e2e=1s")
    assert found(answer) == {bucket: 1}


def test_health_checks_are_no_requests_where_anything_calls_a_model(database: Database, tmp_path: Path) -> None:
    """They are counted and told."""
    health = Seen(1, 0, MS, "GET /health", trace=2, kind=2)
    answer = request_goodput(receive(database, tmp_path, [root(S, 200), call(2, 0, S), health]), "e2e=1s")
    assert (answer.attempted, answer.good, answer.not_model_calls) == (1, 1, 1)
    assert "1 request that calls no model was left out" in goodput_notes(answer)


def test_a_request_that_failed_before_its_call_is_one_where_others_of_its_kind_call(
    database: Database, tmp_path: Path
) -> None:
    """That of another operation is not, and one that ended well without a call answered something else."""
    asking = Seen(1, 0, 2 * S, "POST /ask", kind=2)
    failed, well = replace(asking, end=MS, trace=2, status=2), replace(asking, end=MS, trace=3)
    other = replace(failed, trace=4, name="POST /login")
    answer = request_goodput(receive(database, tmp_path, [asking, call(2, 0, S), failed, well, other]), "e2e=2s")
    assert (answer.attempted, found(answer), answer.not_model_calls) == (2, {"failed": 1}, 2)


def test_what_cannot_be_measured_is_unknown_and_said(store: Write) -> None:
    """A response without a known first token has no ttft; nothing is assumed of it."""
    plain = replace(GOOD, stages=[("e2e", "upstream", 500)])
    answer = request_goodput(store([plain, GOOD]), "ttft=200ns")
    assert (answer.good, found(answer), answer.unjudged["ttft"]) == (1, {"unknown": 1}, 1)
    assert any("cannot be judged by ttft" in note for note in goodput_notes(answer))
    nobody = request_goodput(store([]), "ttft=200ns", where="first_token_ns IS NULL")
    assert (nobody.verdict, "No served request can be judged" in nobody.summary) == ("unjudged", True)


def test_an_objective_that_nobody_meets_is_said(store: Write) -> None:
    """Without good requests nothing is normal, so the misses are nobody's."""
    answer = request_goodput(store([GOOD] * 5), "ttft=1ns")
    assert any("no request meets ttft" in note for note in goodput_notes(answer))
    assert answer.lost_by_stage.select("stage", "misses", "would_be_good").rows() == [("intrinsic", 5, 0)]


@pytest.mark.parametrize(
    ("tokens", "mode", "good"),
    [
        (1, "tracekit", 1), (1, "vllm", 1), (1, "aiperf", 0), (None, "vllm", 0), (2, "aiperf", 1),
        (0, "tracekit", 1), (0, "vllm", 1), (0, "aiperf", 0), (None, "tracekit", 0), (None, "aiperf", 0),
    ],
)  # fmt: skip
def test_a_single_token_has_no_time_per_token(store: Write, tokens: int | None, mode: str, good: int) -> None:
    """vLLM lets it pass, AIPerf has no value for it; an unknown count is unknown to all."""
    units = [replace(GOOD, output_tokens=tokens)]
    assert request_goodput(store(units), "tpot=1s", mode=mode).good == good  # type: ignore[arg-type]


def test_modes_differ_in_what_they_divide_by(store: Write) -> None:
    """vLLM drops what did not complete; AIPerf counts errors; we count all but invalid ones."""
    units = [GOOD, *(replace(GOOD, outcome=outcome) for outcome in ("failed", "invalid", "aborted"))]
    database = store(units)
    answers = {mode: request_goodput(database, SLO, mode=mode) for mode in ("tracekit", "vllm", "aiperf")}
    assert {mode: answer.denominator for mode, answer in answers.items()} == {"tracekit": 3, "vllm": 1, "aiperf": 4}


def vllm_good(rows: list[tuple[float, float, int]], ttft_ms: float, tpot_ms: float, e2el_ms: float) -> int:
    """Good requests as `vllm bench serve` counts them: (ttft, latency, output tokens) of completed requests."""
    good = 0
    for ttft, latency, tokens in rows:
        tpot = (latency - ttft) / (tokens - 1) if tokens > 1 else 0
        good += all(
            limit >= value for limit, value in ((ttft_ms / 1e3, ttft), (tpot_ms / 1e3, tpot), (e2el_ms / 1e3, latency))
        )
    return good


def test_vllm_mode_gives_vllms_number(store: Write) -> None:
    """On the same rows as its own arithmetic in seconds; what the server does after the last token is not seen."""
    draw = random.Random(3)
    units = [
        Request(
            [
                ("ttft", "eng.prefill", draw.randrange(50, 400) * MS),
                ("decode", "eng.decode", draw.randrange(4000) * MS),
                ("after", "out.detok", 10 * S),
            ],
            output_tokens=draw.randrange(1, 80),
            start_ns=number * S,
        )
        for number in range(300)
    ]
    rows = [
        (
            unit.window_ns("ttft") / 1e9,
            (unit.window_ns("ttft") + unit.window_ns("decode")) / 1e9,
            unit.output_tokens or 0,
        )
        for unit in units
    ]
    answer = request_goodput(store(units), "ttft=250ms,tpot=51ms,e2e=3s", mode="vllm")
    assert answer.good == vllm_good(rows, 250, 51, 3000)
    assert 20 < answer.good < 280


def test_misses_are_shared_by_what_is_above_normal(store: Write) -> None:
    """A stage at its normal has no part; the shares of each miss are those of its excess."""
    units = [GOOD] * 9 + [
        replace(GOOD, stages=[("ttft", "eng.queue", 310), ("ttft", "eng.prefill", 190), *GOOD.stages[2:]])
    ] * 4
    answer = request_goodput(store(units), "ttft=200ns")
    lost = answer.lost_by_stage.select("stage", "misses", "exact_misses", "would_be_good").rows()
    assert lost == [("eng.queue", 3, 3.0, 4), ("eng.prefill", 1, 1.0, 0)]
    assert answer.summary.count("Without eng.queue above its normal, 4 of 4 late ones would have met it.") == 1


def test_a_counterfactual_must_meet_every_term(store: Write) -> None:
    """Without the queue the first token would be in time, and the tokens after it still too slow."""
    both = replace(GOOD, stages=[("ttft", "eng.queue", 310), *GOOD.stages[1:2], ("decode", "eng.decode", 4000)])
    answer = request_goodput(store([GOOD] * 9 + [both]), "ttft=200ns,tpot=150ns")
    assert answer.lost_by_stage.select("stage", "misses", "would_be_good").rows() == [("eng.queue", 1, 0)]


def test_normal_is_taken_from_requests_of_the_same_size(store: Write) -> None:
    """A long prompt that takes its time is not above normal where long prompts take it."""
    long = replace(GOOD, stages=[("ttft", "eng.prefill", 900), *GOOD.stages[2:]], input_tokens=1000)
    queued = replace(long, stages=[("ttft", "eng.queue", 300), *long.stages])
    answer = request_goodput(store([GOOD] * 9 + [long] * 9 + [queued]), "ttft=1us")
    assert answer.lost_by_stage.select("stage", "misses").rows() == [("eng.queue", 1)]


@given(st.lists(st.floats(0, 50), min_size=1, max_size=20))
def test_whole_misses_sum_to_the_misses(shares: list[float]) -> None:
    """No share is further than one from its whole number."""
    scaled = np.array(shares) * (round(sum(shares)) / sum(shares)) if sum(shares) > 0 else np.zeros(len(shares))
    whole = largest_remainders(scaled)
    assert whole.sum() == round(scaled.sum())
    assert np.abs(whole - scaled).max() <= 1 + 1e-6


def test_waste_is_what_not_good_requests_consumed(store: Write) -> None:
    """Tokens that are told, engine time, and attempts thrown away in good requests too."""
    retried = replace(GOOD, stages=[("ttft", "retry", 50), *GOOD.stages])
    failed = replace(GOOD, outcome="failed", output_tokens=None, input_tokens=None)
    answer = request_goodput(store([retried, late(1000), failed]), SLO)
    assert (answer.wasted_tokens, answer.wasted_engine_ns) == (15, 1490 + 500 + 50)
    assert any("tell no tokens" in note for note in goodput_notes(answer))


def test_dimensions_sum_to_what_was_attempted(store: Write) -> None:
    """By tenant and model; a request without a tenant is a row of its own."""
    units = [replace(GOOD, attributes={"tenant.id": "a"}), replace(late(1000), model="n"), GOOD]
    database = store(units)
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO base.span_attribute_keys VALUES (1, 'tenant.id')")
    by = request_goodput(database, SLO).by
    assert by.select("dimension", "value", "attempted", "good").rows() == [
        ("model", "m", 2, 2), ("model", "n", 1, 0), ("tenant", None, 2, 1), ("tenant", "a", 1, 1),
    ]  # fmt: skip


def test_the_budget_burns_over_time(store: Write) -> None:
    """Burn rate 1 spends exactly the budget."""
    units = [replace(GOOD, start_ns=second * S) for second in range(10)] + [late(1000, start_ns=20 * S)]
    answer = request_goodput(store(units), SLO, objective=0.5)
    assert answer.over_time["attempted"].sum() == 11
    last = answer.over_time.row(-1, named=True)
    assert (last["burn_rate"], round(last["budget_spent"], 6)) == (2.0, round(1 / 5.5, 6))


def test_classes_are_judged_by_their_own_limits(store: Write) -> None:
    """The first class that fits counts; who is in none is left out and told."""
    goal = slo_set(
        {"class": [{"slo": "ttft=1ns", "match": {"model": "n"}}, {"slo": "ttft=1us", "where": "model = 'm'"}]}
    )
    answer = request_goodput(store([GOOD, replace(GOOD, model="n"), replace(GOOD, model="o")]), goal)
    assert answer.classes.select("class", "attempted", "good", "late_ttft").rows() == [
        ("class 1", 1, 0, 1),
        ("class 2", 1, 1, 0),
    ]
    assert (answer.attempted, answer.unclassed) == (2, 1)


def test_an_empty_selection_is_an_answer(database: Database) -> None:
    """Nothing to judge, no division by zero."""
    answer = request_goodput(database, SLO)
    assert (answer.verdict, answer.attainment, answer.attempted) == ("no_requests", None, 0)
    assert set(answer.buckets) == set(BUCKETS)
    assert isinstance(answer.as_dict()["lost_by_stage"], list)


def test_bad_questions_are_refused(database: Database) -> None:
    """Before anything is computed."""
    with pytest.raises(UsageError, match="mode"):
        request_goodput(database, SLO, mode="other")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="objective"):
        request_goodput(database, SLO, objective=1.0)
    with pytest.raises(QueryError):
        request_goodput(database, SLO, where="nothing = 1")
    with pytest.raises(UsageError, match="subquery"):
        request_goodput(database, slo_set({"class": [{"slo": "e2e=1s", "where": "1 = (SELECT 1)"}]}))


def test_steps_are_no_requests(store: Write) -> None:
    """Training has its own goodput."""
    answer = request_goodput(store([Step(1, 0, [("step.compute", 5)]), GOOD]), SLO)
    assert answer.attempted == 1
    assert answer.over_time.filter(pl.col("attempted") > 0).height == 1
