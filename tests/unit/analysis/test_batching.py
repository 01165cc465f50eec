"""Replay of continuous batching: engines whose answer is plain, and what every replay keeps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.analysis.batching import ServingChange
from tracekit.analysis.batching import kernel as batches
from tracekit.analysis.batching.engine_times import EngineTimes
from tracekit.analysis.batching.limits import UNLIMITED, observed_limits
from tracekit.analysis.batching.normal import excess_ns
from tracekit.analysis.batching.step_times import step_times
from tracekit.errors import UsageError
from tracekit.partition import Array

MS = 1_000_000
NO_LIMIT = 2**60


def replayed(
    arrivals_ms: list[int],
    outputs: list[int],
    *,
    prompts: list[int] | None = None,
    engines: int = 1,
    observed: list[int] | None = None,
    seats: int = NO_LIMIT,
    kv_tokens: int = NO_LIMIT,
    budget: int = NO_LIMIT,
    router: int = batches.AS_OBSERVED,
    is_apart: bool = False,
    step_ms: tuple[float, float] = (10.0, 0.0),
    work_ms: float = 0.0,
) -> Array:
    """Requests on engines whose steps take `step_ms` (base, by sequence); a prompt token takes `work_ms`."""
    count = len(arrivals_ms)
    arrival_ns = np.array(arrivals_ms, np.int64) * MS
    found = np.full((count, 4), batches.NONE, np.int64)
    order = np.argsort(arrival_ns, kind="stable")
    batches.replay_batches(
        arrival_ns, arrival_ns, order, order, np.array(observed or [0] * count, np.int64),
        np.array(prompts or [1] * count, np.int64), np.array(outputs, np.int64), np.full(count, work_ms * MS),
        np.array([step_ms[0] * MS, step_ms[1] * MS, 0.0]), np.ones((engines, 1)),
        np.full((engines, 1), seats, np.int64), np.full((engines, 1), kv_tokens, np.int64), 0, 1, budget, router, 0,
        is_apart, found,
    )  # fmt: skip
    return found


def times_ms(found: Array, column: int) -> list[float]:
    return (found[:, column] / MS).tolist()


def test_each_step_gives_a_token() -> None:
    """Prefill is the first step of 10 ms; three tokens end with the third."""
    found = replayed([0], [3])
    assert (times_ms(found, batches.FIRST), times_ms(found, batches.LAST)) == ([10], [30])


def test_who_comes_within_a_step_waits_for_the_next() -> None:
    found = replayed([0, 3], [3, 1])
    assert times_ms(found, batches.SCHEDULED) == [0, 10]
    assert times_ms(found, batches.FIRST) == [10, 20]


def test_a_prompt_holds_up_those_that_decode() -> None:
    """The second prompt takes 50 ms of work in the step that gives the first request its second token."""
    found = replayed([0, 5], [3, 1], prompts=[1, 50], work_ms=1.0)
    assert times_ms(found, batches.FIRST) == [11, 11 + 60]
    assert times_ms(found, batches.LAST)[0] == 11 + 60 + 10


def test_prefilled_apart_it_holds_nobody_up() -> None:
    found = replayed([0, 5], [3, 1], prompts=[1, 50], work_ms=1.0, is_apart=True)
    assert times_ms(found, batches.LAST)[0] == 31
    assert times_ms(found, batches.FIRST)[1] == 11 + 60


def test_seats_keep_the_others_waiting_in_order() -> None:
    found = replayed([0, 0, 0], [2, 2, 2], seats=1)
    assert times_ms(found, batches.SCHEDULED) == [0, 20, 40]


def test_a_budget_cuts_a_prompt_into_chunks() -> None:
    found = replayed([0], [1], prompts=[30], budget=10)
    assert times_ms(found, batches.FIRST) == [30]


def test_the_youngest_gives_way_where_the_cache_is_full() -> None:
    """Two prompts of 10 fit 23 tokens until each has two more; the younger is computed again after the older."""
    found = replayed([0, 0], [4, 4], prompts=[10, 10], kv_tokens=23)
    assert times_ms(found, batches.LAST) == [40, 60]


def test_each_request_goes_to_the_engine_with_fewest() -> None:
    found = replayed([0, 1, 2, 3], [5, 5, 5, 5], engines=2, router=batches.LEAST_REQUESTS)
    assert found[:, batches.ENGINE].tolist() == [0, 1, 0, 1]


def test_new_engines_take_their_part_and_leave_the_rest_where_it_was() -> None:
    count = 3000
    observed = [0, 1] * (count // 2)
    found = replayed(
        list(range(count)), [1] * count, engines=3, observed=observed, router=batches.SHARED
    )[:, batches.ENGINE]  # fmt: skip
    assert np.mean(found == 2) == pytest.approx(1 / 3, abs=0.01)
    assert (found[found != 2] == np.array(observed)[found != 2]).all()


@settings(max_examples=60, deadline=None)
@given(
    requests=st.lists(st.tuples(st.integers(0, 500), st.integers(1, 40), st.integers(1, 12)), min_size=1, max_size=30),
    engines=st.integers(1, 3),
    seats=st.integers(1, 5),
    kv_tokens=st.integers(60, 200),
    budget=st.integers(4, 64),
    is_apart=st.booleans(),
)
def test_every_request_ends_in_order(
    requests: list[tuple[int, int, int]], engines: int, seats: int, kv_tokens: int, budget: int, is_apart: bool
) -> None:
    """Whatever the limits are: queued, scheduled, first token, last token; never two at once beyond the seats."""
    arrivals, prompts, outputs = (list(part) for part in zip(*sorted(requests), strict=True))
    found = replayed(
        arrivals, outputs, prompts=prompts, engines=engines, seats=seats, kv_tokens=kv_tokens, budget=budget,
        router=batches.LEAST_REQUESTS, is_apart=is_apart, step_ms=(5.0, 1.0), work_ms=0.2,
    )  # fmt: skip
    assert (found >= 0).all()
    assert (np.array(arrivals) * MS <= found[:, batches.SCHEDULED]).all()
    assert (found[:, batches.SCHEDULED] < found[:, batches.FIRST]).all()
    assert (found[:, batches.FIRST] <= found[:, batches.LAST]).all()
    least_ns = 5 * MS * (np.array(outputs) - 1)
    assert (found[:, batches.LAST] - found[:, batches.FIRST] >= least_ns).all()


def test_changes_are_read_together() -> None:
    change = ServingChange.parsed(["replicas=+2", "batch=64", "normal=gw.auth"])
    assert (change.added, change.seats, change.stage) == (2, 64, "gw.auth")
    assert change.text == "normal=gw.auth replicas=+2 batch=64"


@pytest.mark.parametrize(
    "text",
    [
        "replicas=2",
        "replicas=+0",
        "batch=0",
        "batch=-3",
        "batch=99999",
        "normal=",
        "without=stage",
        "",
        "replicas=+1e9",
    ],
)
def test_what_is_no_change_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="write"):
        ServingChange.parsed([text])


def test_a_change_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="second change"):
        ServingChange.parsed(["batch=8", "batch=16"])


def test_what_is_far_above_its_like_becomes_the_median() -> None:
    """Spread is natural and stays; sizes are compared with their like."""
    taken = np.array([10, 11, 9, 10, 12] * 10 + [100] * 4 + [1000] * 30, np.int64)
    tokens = np.array([100] * 54 + [5000] * 30, np.int64)
    excess = excess_ns(taken, tokens, None)
    assert excess[:50].tolist() == [0] * 50
    assert excess[50:54].tolist() == [90] * 4
    assert excess[54:].tolist() == [0] * 30


def test_with_a_baseline_times_become_those_at_the_same_place() -> None:
    taken = np.concatenate([np.arange(100), np.arange(100) + 1000])
    is_normal = np.arange(200) < 100
    excess = excess_ns(taken, np.full(200, 8), is_normal)
    assert sorted(taken - excess) == pytest.approx(np.repeat(np.arange(100), 2), abs=1)


@pytest.mark.parametrize(("seats", "learnt"), [(8, 8), (NO_LIMIT, UNLIMITED)])
def test_seats_are_known_where_prefill_takes_as_long_as_any_wait(seats: int, learnt: int) -> None:
    """A prompt takes 75 ms and a step 20, as on a small machine: every wait is as long as the prefill in it.

    Who is passed over although the tokens of a step are enough for all who wait shows that no seat was free.
    """
    rng = np.random.default_rng(3)
    count = 300
    arrivals = np.cumsum(rng.exponential(120, count)).astype(int).tolist()
    prompts, outputs = rng.integers(40, 90, count).tolist(), rng.integers(8, 20, count).tolist()
    found = replayed(
        arrivals, outputs, prompts=prompts, seats=seats, budget=8192, step_ms=(12.0, 1.0), work_ms=1.2
    )  # fmt: skip
    times = EngineTimes(
        np.arange(count), np.zeros(count, np.int64), *(np.array(arrivals, np.int64) * MS for _ in range(2)),
        *(found[:, column] for column in (batches.SCHEDULED, batches.FIRST, batches.LAST)),
        np.array(prompts, np.int64), np.array(outputs, np.int64), ["engine"],
    )  # fmt: skip
    limits = observed_limits(times, step_times(times, 8192), 8192)
    assert (limits.seats.max(), limits.kv_tokens.min()) == (learnt, UNLIMITED)
