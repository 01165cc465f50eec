"""What was searched for needs more evidence than what was asked about; each stage is asked of its own time before."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
import pytest

from tests.unit.analysis.rows import MS, Request, Step
from tracekit.analysis import clear_whose, tail
from tracekit.analysis.statistics.significance import BeforeSide, SlicedSide, from_slices, from_windows, shrinking
from tracekit.analysis.tail.whose import WHOSE_SCHEMA
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]
S = 1_000_000_000


def noise(seed: int, columns: int = 1) -> np.ndarray:
    """1024 slices of independent contributions with mean zero."""
    drawn = np.random.default_rng(seed).standard_normal((1024, columns))
    return drawn - drawn.mean(axis=0)


def test_the_window_that_stands_out_most_of_thirty_is_no_finding() -> None:
    """A window 2.5 deviations out is beyond chance where it was asked about, and not where it was searched for."""
    means = np.random.default_rng(2).standard_normal((30, 1))
    excess = np.array([2.5 * means.std(ddof=1)] * 2)
    with_sum = np.repeat(means, 2, axis=1)
    assert from_windows(with_sum).exceeds(excess).all()
    assert not from_windows(with_sum, places=30).exceeds(excess).any()
    assert from_windows(with_sum, places=30).exceeds(2 * excess).all()


def test_a_calm_stage_is_judged_by_the_time_before_though_a_queue_swings() -> None:
    """The first estimate grows slowly in the incident and was calm before; the second swings on both sides."""
    ramp = np.linspace(-1, 1, 1024)
    after = np.stack([ramp / 100, ramp], axis=1)
    before = np.stack([noise(1)[:, 0] / 100, np.sin(np.linspace(0, 6.3, 1024))], axis=1)
    counts = np.ones(1024, dtype=np.int64)
    sides = [
        SlicedSide(after, counts, np.array([1.0, 1.0])),
        SlicedSide(before - before.mean(axis=0), counts, np.array([64.0, 2.0])),
    ]
    estimates = np.array([2.0, 2.0])
    assert from_slices(sides).exceeds(estimates).tolist() == [False, False]
    judged = from_slices(sides, BeforeSide(number=1, length_ratio=1.0, scale=np.ones(2)))
    assert judged.exceeds(estimates).tolist() == [True, False]


def test_how_a_fault_swings_by_itself_does_not_widen_the_interval_of_what_it_did() -> None:
    """A stage of 1 takes 20, spread as much: what it would have taken without the fault spread as before."""
    before, after = noise(2)[:, :1], noise(3)[:, :1]
    counts = np.ones(1024, dtype=np.int64)

    def interval(factor: float) -> tuple[float, float]:
        sides = [SlicedSide(part, counts, np.array([64.0])) for part in (factor * after, before)]
        judged = from_slices(sides, BeforeSide(1, 1.0, shrinking(np.array([1.0]), np.array([factor]))))
        assert judged.exceeds(np.array([1e6])).all()
        low, high = judged.intervals(np.array([factor - 1]))
        return float(low[0]), float(high[0])

    (low, high), (usual_low, usual_high) = interval(20.0), interval(1.0)
    assert high - low == pytest.approx(usual_high - usual_low)
    assert low < 19 < high


@pytest.mark.parametrize(("unit_share", "own_ns", "other_ns", "named"), [
    (0.3, 90, 30, True), (0.75, 90, 1, True), (0.75, 90, 30, False),
])  # fmt: skip
def test_a_value_of_most_units_is_named_where_the_others_have_nothing(
    unit_share: float, own_ns: int, other_ns: int, named: bool
) -> None:
    """Three quarters of the requests cannot have one and a half times their share of an excess."""
    carried = unit_share * own_ns / (unit_share * own_ns + (1 - unit_share) * other_ns)
    row = {"stage": "s", "dimension": "model", "value": "m", "selection_units": 90, "unit_share": unit_share,
           "selection_mean_ns": 100 + own_ns, "baseline_mean_ns": 100, "excess_ns": own_ns,
           "other_excess_ns": other_ns, "carried_share": carried, "adjusted_p": 1e-6}  # fmt: skip
    assert len(clear_whose(pl.DataFrame([row], schema=WHOSE_SCHEMA))) == int(named)


def requests(count: int, slow: range, *, call_ms: float, slow_ms: float, share: float = 1.0) -> list[Request]:
    """Requests of about a second, some of which make a call that takes longer in a part of the time."""
    draw = random.Random(count)
    found = []
    for number in range(count):
        stages = [("e2e", "app", round(draw.uniform(900, 1100) * MS))]
        if draw.random() < share:
            ms = slow_ms if number in slow else call_ms
            stages.append(("e2e", "call", round(ms * draw.lognormvariate(0, 0.3) * MS)))
        found.append(Request(stages, start_ns=number * S))
    return found


def test_an_incident_near_the_beginning_is_compared_with_the_time_after_it(store: Write) -> None:
    """Forty requests before it are less than it lasts, and than the six hundred after it."""
    answer = tail(store(requests(800, range(40, 200), call_ms=50, slow_ms=400)), "e2e")
    assert answer.change_is_first
    assert answer.stages[0, "stage"] == "call"
    assert "compared with the time after it" in answer.summary


def test_a_small_call_that_surely_takes_twice_as_long_is_told(store: Write) -> None:
    """Two milliseconds of a second more: a trifle of the whole, and not of the call."""
    units = requests(600, range(400, 600), call_ms=2, slow_ms=4, share=0.5)
    answer = tail(store(units), "e2e", quantile=0.0, where=f"start_ns >= {400 * S}", baseline=f"start_ns < {400 * S}")
    assert answer.verdict == "stage_slower"
    assert "call takes" in answer.summary
