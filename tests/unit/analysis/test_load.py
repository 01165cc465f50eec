"""More work at once is told apart from slowness, and a slower stage from a whole that could be chance."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl
import pytest

from tests.unit.analysis.rows import Request, Step
from tracekit.analysis import TailAnswer, load_bounds_ns, tail
from tracekit.analysis.tail.load import HIGHER_FACTOR
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]
MS, S = 1_000_000, 1_000_000_000
CHANGE_NS = 1000 * S


def _requests(
    *, every_ms: int, count: int, start_ns: int, decode_ms: int, stage: str = "eng.queue", tokens: int = 100
) -> list[Request]:
    """Requests at an even pace that spend so long in a stage, and a little in another."""
    draw = random.Random(start_ns)
    return [
        Request(
            [("ttft", stage, decode_ms * MS + draw.randrange(MS)), ("ttft", "gw.route", draw.randrange(MS))],
            input_tokens=tokens,
            start_ns=start_ns + number * every_ms * MS + draw.randrange(1000),
        )
        for number in range(count)
    ]


def _after_before(database: Database) -> TailAnswer:
    return tail(database, "ttft", quantile=0, where=f"start_ns >= {CHANGE_NS}", baseline=f"start_ns < {CHANGE_NS}")


BEFORE = _requests(every_ms=1000, count=1000, start_ns=0, decode_ms=100)


def test_twice_the_requests_are_load_or_slowness(store: Write) -> None:
    """They wait for each other in the engine; whether anything is broken as well cannot be known."""
    after = _requests(every_ms=500, count=1000, start_ns=CHANGE_NS, decode_ms=200)
    answer = _after_before(store(BEFORE + after))
    assert answer.verdict == "load_or_slowness"
    assert "2.0 times as many" in answer.summary
    assert answer.load["work"].to_list() == ["input_tokens", "output_tokens", "requests"]
    assert answer.load["is_higher"].all()
    assert answer.load["factor"].to_list() == pytest.approx([2.0] * 3, rel=0.01)


def test_what_lies_outside_of_shared_machines_is_slowness_at_any_load(store: Write) -> None:
    """Twice the requests, 100 ms more in the queue, and a route that is 30 ms slower: both parts are bounded."""
    after = [
        replace(unit, stages=[unit.stages[0], ("ttft", "gw.route", unit.stages[1][2] + 30 * MS)])
        for unit in _requests(every_ms=500, count=1000, start_ns=CHANGE_NS, decode_ms=200)
    ]
    answer = _after_before(store(BEFORE + after))
    assert answer.verdict == "load_or_slowness"
    most_load_ns, least_slowness_ns = load_bounds_ns(answer)
    assert most_load_ns == answer.stages.filter(stage="eng.queue")["excess_ns"].item()
    assert least_slowness_ns == pytest.approx(30 * MS, rel=0.05)
    assert least_slowness_ns <= 30 * MS
    assert re.search(r"Load explains at most \S+ ms of the 130 ms, and at least 29\S* ms is slowness", answer.summary)


def test_load_is_told_where_nothing_follows_for_others(store: Write) -> None:
    """Too few requests for a verdict, and twenty times as many at once."""
    after = _requests(every_ms=50, count=9, start_ns=CHANGE_NS, decode_ms=200)
    answer = _after_before(store(BEFORE + after))
    assert answer.verdict == "too_few_units"
    assert "times as many" in answer.summary


def test_twice_the_tokens_are_load_too(store: Write) -> None:
    """Longer prompts keep the engine busy for those that are as long as ever."""
    longer = _requests(every_ms=2000, count=250, start_ns=CHANGE_NS, decode_ms=200, tokens=300)
    usual = _requests(every_ms=2000, count=250, start_ns=CHANGE_NS + 1000 * MS, decode_ms=200)
    answer = _after_before(store(BEFORE + longer + usual))
    assert answer.verdict == "load_or_slowness"
    assert "2.0 times as many input tokens" in answer.summary


def test_slowness_at_the_usual_load_is_slowness(store: Write) -> None:
    """A little more work than before explains nothing."""
    pace_ms = round(1000 / HIGHER_FACTOR) + 50
    after = _requests(every_ms=pace_ms, count=1000, start_ns=CHANGE_NS, decode_ms=200)
    answer = _after_before(store(BEFORE + after))
    assert answer.verdict == "excess_explained"
    assert not answer.load["is_higher"].any()


def test_load_does_not_excuse_a_stage_in_which_nobody_waits_for_others(store: Write) -> None:
    """The way through the network is no longer because more requests take it."""
    before = _requests(every_ms=1000, count=1000, start_ns=0, decode_ms=100, stage="net.dispatch")
    after = _requests(every_ms=500, count=1000, start_ns=CHANGE_NS, decode_ms=200, stage="net.dispatch")
    assert _after_before(store(before + after)).verdict == "excess_explained"


def test_a_handful_of_requests_shows_no_load(store: Write) -> None:
    """Twice as many in a moment is chance where there are few."""
    after = _requests(every_ms=500, count=12, start_ns=CHANGE_NS, decode_ms=200)
    assert not _after_before(store(BEFORE + after)).load["is_higher"].any()


def test_requests_that_were_not_selected_are_load_as_well(store: Write) -> None:
    """A tenant waits for the requests of all others."""
    own = _requests(every_ms=1000, count=500, start_ns=CHANGE_NS, decode_ms=200)
    others = _requests(every_ms=500, count=1000, start_ns=CHANGE_NS, decode_ms=200, tokens=1)
    database = store(BEFORE + own + others)
    answer = tail(
        database,
        "ttft",
        quantile=0,
        where=f"start_ns >= {CHANGE_NS} AND input_tokens = 100",
        baseline=f"start_ns < {CHANGE_NS}",
    )
    assert answer.load.filter(work="requests")["factor"].item() == pytest.approx(3.0, rel=0.01)


def _noisy(count: int, *, start_ns: int, auth_ms: int) -> list[Request]:
    """Requests whose decoding varies so much that the whole hides a slower authentication."""
    draw = random.Random(start_ns)
    return [
        Request(
            [
                ("ttft", "gw.auth", auth_ms * MS + draw.randrange(MS)),
                ("ttft", "eng.prefill", round(draw.lognormvariate(0, 1.5) * 100 * MS)),
            ],
            start_ns=start_ns + number * S + draw.randrange(1000),
        )
        for number in range(count)
    ]


def test_a_slower_stage_is_named_where_the_whole_could_be_chance(store: Write) -> None:
    """Stages are tested together with their sum: what varies much does not hide what hardly varies."""
    units = _noisy(1000, start_ns=0, auth_ms=2) + _noisy(500, start_ns=CHANGE_NS, auth_ms=32)
    answer = _after_before(store(units))
    assert (answer.significant, answer.verdict) == (False, "stage_slower")
    assert re.match(r"gw.auth takes 32\.\d+ ms where it took 2\.\d+ ms, which is more than chance", answer.summary)


@pytest.mark.parametrize(("auth_ms", "verdict"), [(3, "no_excess"), (8, "stage_slower")])
def test_a_certain_trifle_is_no_slower_stage(store: Write, auth_ms: int, verdict: str) -> None:
    """A millisecond of three hundred is certain, and nothing to look for; what takes three times as long is told."""
    units = _noisy(1000, start_ns=0, auth_ms=2) + _noisy(500, start_ns=CHANGE_NS, auth_ms=auth_ms)
    answer = _after_before(store(units))
    assert (answer.verdict, answer.stages.filter(stage="gw.auth")["significant"].item()) == (verdict, True)


def test_steps_have_no_load(store: Write) -> None:
    """Training asks no more of its ranks at one time than at another."""
    steps = [Step(step, 0, [("step.compute", MS + step)], start_ns=step * S) for step in range(30)]
    database = store(steps)
    answer = tail(database, "step", quantile=0, where="step >= 15", baseline="step < 15")
    assert answer.load.is_empty()


def _of_two_models(*, large_share: float, wait_ms: int, start_ns: int) -> list[Request]:
    """A request a second; the larger model takes 300 ms where the smaller takes 20, and all wait for each other."""
    draw = random.Random(start_ns)
    return [
        Request(
            [
                ("ttft", "eng.queue", wait_ms * MS + draw.randrange(wait_ms * MS)),
                ("ttft", "eng.prefill", (300 if is_large else 20) * MS + draw.randrange(MS)),
            ],
            model="large" if is_large else "small",
            start_ns=start_ns + number * S,
        )
        for number, is_large in enumerate(draw.random() < large_share for _ in range(600))
    ]


def test_as_many_requests_of_a_larger_model_are_more_work(store: Write) -> None:
    """At the same rate nine of ten of the larger model instead of one, and longer waiting: no stage is blamed."""
    before = _of_two_models(large_share=0.1, wait_ms=10, start_ns=0)
    after = _of_two_models(large_share=0.9, wait_ms=400, start_ns=CHANGE_NS)
    answer = _after_before(store(before + after))
    work = answer.load.row(by_predicate=pl.col("work") == "work", named=True)
    assert work["is_higher"]
    assert work["factor"] > 4
    assert not answer.load.filter(pl.col("work") != "work")["is_higher"].any()
    assert answer.verdict == "load_or_slowness"
    assert "times as much work" in answer.summary


def _bursts(*, start_ns: int, minutes: int, busy: Callable[[int], bool], wait_ms: int) -> list[Request]:
    """Requests that come every second, and three times as many in a busy minute."""
    found = []
    for minute in range(minutes):
        pace = {"every_ms": 333, "count": 180} if busy(minute) else {"every_ms": 1000, "count": 60}
        found += _requests(**pace, start_ns=start_ns + minute * 60 * S, decode_ms=wait_ms)
    return found


def test_a_burst_like_those_before_is_no_more_load(store: Write) -> None:
    """Every third minute is busy and nobody waits longer then; the last one is busy and the engine is slow."""
    before = _bursts(start_ns=0, minutes=15, busy=lambda minute: minute % 3 == 0, wait_ms=100)
    after = _bursts(start_ns=CHANGE_NS, minutes=1, busy=lambda _: True, wait_ms=160)
    answer = _after_before(store(before + after))
    assert answer.load["factor"].min() > HIGHER_FACTOR
    assert (answer.load["is_higher"].any(), answer.verdict) == (False, "excess_explained")


def test_a_burst_that_never_was_is_more_load(store: Write) -> None:
    """The same busy minute after fifteen quiet ones."""
    before = _bursts(start_ns=0, minutes=15, busy=lambda _: False, wait_ms=100)
    after = _bursts(start_ns=CHANGE_NS, minutes=1, busy=lambda _: True, wait_ms=160)
    assert _after_before(store(before + after)).verdict == "load_or_slowness"
