"""Growth of stages call by call: what swings from time to time is none, what few requests have is seen."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from tests.unit.analysis.rows import MS, Request, Step
from tracekit.analysis import TailAnswer, tail
from tracekit.analysis.tail.services import EDGE_SCHEMA, ranked_services
from tracekit.store import Database
from tracekit.wording import services_sentence

Write = Callable[[Sequence[Request | Step]], Database]
SECOND = 1_000_000_000
SERVICES = pl.DataFrame(
    {
        "service": ["svc"],
        "score_ns": [9],
        "own_sure_ns": [9],
        "edges_sure_ns": [0],
        "grown_edge_count": [0],
        "edge_count": [0],
    }
)


def _asked(store: Write, before: list[Request], after: list[Request]) -> TailAnswer:
    database = store([*before, *after])
    change = after[0].start_ns
    return tail(database, "e2e", quantile=0.0, where=f"start_ns >= {change}", baseline=f"start_ns < {change}")


def _request(number: int, stages: dict[str, float]) -> Request:
    parts = [("e2e", name, round(ms * MS)) for name, ms in stages.items()]
    return Request(parts, start_ns=number * SECOND)


def test_one_long_call_of_forty_requests_is_seen(store: Write) -> None:
    """A single call of 60 ms against eight of 7 to 9 ms: 7 times as long, and no other stage has grown."""
    draw = random.Random(1)

    def one(number: int, *, calls_ms: float | None) -> Request:
        stages = {"app": draw.uniform(150, 250), "db": draw.lognormvariate(3, 0.4)}
        return _request(number, stages | ({} if calls_ms is None else {"edge:shop->pay": calls_ms}))

    before = [one(n, calls_ms=draw.uniform(7, 9) if n % 30 == 0 else None) for n in range(240)]
    after = [one(240 + n, calls_ms=60.0 if n == 17 else None) for n in range(40)]
    answer = _asked(store, before, after)
    row = answer.growth.row(by_predicate=pl.col("stage") == "edge:shop->pay", named=True)
    # A single call may be long by itself, so nothing is said; where to look first it shows.
    assert (row["selection_units"], row["baseline_units"], row["has_grown"]) == (1, 8, False)
    assert row["adjusted_p"] < 1e-4
    assert 5 < row["factor_low"] < row["factor"] < 9
    assert row["excess_ns"] == pytest.approx((60 - 8) / 40 * MS, rel=0.1)
    assert answer.stages[0, "stage"] == "edge:shop->pay"
    assert not answer.growth["has_grown"].any()


def test_what_swings_from_block_to_block_has_not_grown(store: Write) -> None:
    """A stage that doubles and halves every 20 seconds, and is long in the last 20, has not grown."""
    random_numbers = np.random.default_rng(3)
    level = np.repeat(np.where(np.arange(13) % 2, 2.0, 1.0), 20)[:-20]
    before = [_request(n, {"queue": 20 * level[n] * random_numbers.lognormal(0, 0.1)}) for n in range(240)]
    after = [_request(240 + n, {"queue": 40 * random_numbers.lognormal(0, 0.1)}) for n in range(20)]
    swinging = _asked(store, before, after).growth.row(0, named=True)
    assert not swinging["has_grown"]
    assert swinging["factor_low"] < 1 < swinging["factor"]


def test_the_same_step_in_a_calm_stage_has_grown(store: Write) -> None:
    """Without the swing the same doubling is beyond doubt."""
    random_numbers = np.random.default_rng(3)
    before = [_request(n, {"queue": 28 * random_numbers.lognormal(0, 0.1)}) for n in range(240)]
    after = [_request(240 + n, {"queue": 40 * random_numbers.lognormal(0, 0.1)}) for n in range(20)]
    assert _asked(store, before, after).growth[0, "has_grown"]


def test_healthy_times_grow_in_few_of_many_draws(store: Write) -> None:
    """One hundred stages without a change, tested together: none grows at a family-wise chance of one in a hundred."""
    random_numbers = np.random.default_rng(8)

    def one(number: int) -> Request:
        return _request(number, {f"s{k}": float(random_numbers.lognormal(1, 0.5)) for k in range(100)})

    answer = _asked(store, [one(n) for n in range(120)], [one(120 + n) for n in range(20)])
    assert not answer.growth["has_grown"].any()
    assert (answer.growth["sure_ns"] > 0).mean() < 0.08


def test_a_service_all_of_whose_edges_have_grown_comes_before_its_neighbours() -> None:
    """`b` is slow to answer both its callers; each caller has one grown edge of two."""
    edges = pl.DataFrame(
        [
            {"service": "a", "callee": "b", "excess_ns": 50, "sure_ns": 40},
            {"service": "c", "callee": "b", "excess_ns": 40, "sure_ns": 30},
            {"service": "a", "callee": "d", "excess_ns": 1, "sure_ns": 0},
            {"service": "c", "callee": "d", "excess_ns": -1, "sure_ns": 0},
        ],
        schema={
            name: kind for name, kind in EDGE_SCHEMA.items() if name in ("service", "callee", "excess_ns", "sure_ns")
        },
    )
    own = pl.DataFrame({"service": ["a", "d"], "sure_ns": [10, 0], "excess_ns": [12, 3]})
    ranked = ranked_services(own, edges)
    assert ranked.select("service", "score_ns", "edge_count", "grown_edge_count").rows() == [
        ("b", 70, 2, 2),
        ("a", 30, 2, 1),
        ("c", 15, 2, 1),
        ("d", 0, 2, 0),
    ]


def test_how_many_were_compared_is_said(store: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not all of a side were looked at call by call, the sentence about services says so."""
    draw = random.Random(5)
    before = [_request(n, {"svc:app": draw.uniform(90, 110)}) for n in range(300)]
    after = [_request(n, {"svc:app": draw.uniform(180, 220)}) for n in range(300, 340)]
    answer = replace(_asked(store, before, after), services=SERVICES)
    assert "were compared" not in services_sentence(answer)
    monkeypatch.setattr("tracekit.wording.tail_growth.CALLS_UNIT_LIMIT", 100)
    assert "Call by call, about 100 of up to 300 requests a side were compared." in services_sentence(answer)
