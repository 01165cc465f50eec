"""When a store changed, and what differs: statistics on series and counts whose answer is known."""

from __future__ import annotations

from math import comb
from pathlib import Path

import numpy as np
import pytest

import tracekit as tk
from tracekit.analysis.tail.change import episode
from tracekit.analysis.tail.differences import exact_chance


def noise(seed: int, count: int = 128, memory: float = 0.0) -> np.ndarray:
    random = np.random.default_rng(seed)
    series = random.standard_normal(count)
    for position in range(1, count):
        series[position] = memory * series[position - 1] + np.sqrt(1 - memory**2) * series[position]
    return series


@pytest.mark.parametrize(("first", "last"), [(120, 128), (40, 46), (64, 128), (0, 20)])
def test_an_episode_is_found_where_it_is(first: int, last: int) -> None:
    course = noise(1)
    course[first:last] += 5.0
    found = episode(course, 0.01)
    assert found.ratio > 1
    assert abs(found.first - first) <= 1
    assert abs(found.last - last) <= 1


@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_noise_is_no_episode_more_often_than_promised(memory: float) -> None:
    alarms = sum(episode(noise(seed, memory=memory), 0.05).ratio > 1 for seed in range(200))
    assert alarms <= 18


def test_one_slice_far_out_is_no_episode() -> None:
    course = noise(3)
    course[60] += 1000.0
    assert episode(course, 0.01).ratio < 1


def test_a_course_without_any_difference_has_no_episode() -> None:
    assert episode(np.ones(64), 0.01).ratio == 0


@pytest.mark.parametrize(("tail", "rest"), [(5, 0), (3, 2), (0, 5), (2, 1)])
def test_the_exact_chance_is_fishers(tail: int, rest: int) -> None:
    found = tail + rest
    chances = [comb(6, k) * comb(9, found - k) / comb(15, found) for k in range(max(0, found - 9), min(found, 6) + 1)]
    own = comb(6, tail) * comb(9, rest) / comb(15, found)
    assert exact_chance(tail, 6, rest, 9) == pytest.approx(
        sum(chance for chance in chances if chance <= own * 1.0000001)
    )


def test_perfect_separation_is_the_strongest_evidence() -> None:
    assert exact_chance(30, 30, 0, 300) < 1e-40
    assert exact_chance(30, 30, 0, 300) < exact_chance(29, 30, 0, 300)


@pytest.mark.parametrize(
    "conditions",
    [{}, {"where": "attributes['phase'] = 'mixed'", "baseline": "attributes['phase'] = 'steady'"}],
    ids=["plain", "baseline"],
)
def test_more_requests_of_a_slow_model_are_mix(conditions: dict[str, str], shared_data: Path) -> None:
    with tk.Store.open(None) as store:
        store.ingest(shared_data / "reported" / "mix_of_two_models.jsonl.gz")
        answer = store.tail("e2e", **conditions)
    assert answer.verdict == "mix_not_slowness"
    assert "It is mix, not slowness" in answer.summary
    assert "upstream" not in answer.summary
    assert answer.stages["excess_ns"].sum() == answer.excess_ns
    assert (answer.stages["mix_ns"] + answer.stages["rate_ns"] == answer.stages["excess_ns"]).all()
    assert answer.classes["mix_ns"].sum() + answer.classes["rate_ns"].sum() == answer.excess_ns
