"""A stage that few requests call, and whose every call takes longer, is told although the mean hides it."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.analysis.rows import MS, Request, Step
from tracekit.analysis import TailAnswer, tail
from tracekit.analysis.tail.rare_calls import order_chance
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]


def _requests(count: int, callers: int, call_ns: int, *, phase: str, start_s: int) -> list[Request]:
    """Requests of about 200 ms a second apart, of which evenly spread `callers` also call `security`."""
    draw = random.Random(phase)
    every = count // callers
    return [
        Request(
            [
                ("e2e", "app", 200 * MS + draw.randrange(40 * MS)),
                (
                    "e2e",
                    "security",
                    (call_ns + draw.randrange(MS)) if number % every == 0 and number < every * callers else 0,
                ),
            ],
            start_ns=(start_s + number) * 1_000_000_000,
            attributes={"phase": phase},
        )
        for number in range(count)
    ]


def _asked(store: Write, *, before_ns: int, after_ns: int, callers: int = 4) -> TailAnswer:
    units = [
        *_requests(250, 9, before_ns, phase="before", start_s=0),
        *_requests(40, callers, after_ns, phase="after", start_s=300),
    ]
    database = store(units)
    with database.transaction() as cursor:
        cursor.execute("DELETE FROM base.unit_stages WHERE self_ns = 0")
    phases = {side: f"attributes['phase'] = '{phase}'" for side, phase in (("where", "after"), ("baseline", "before"))}
    return tail(database, "e2e", **phases)


def test_longer_calls_of_a_few_are_told_with_how_sure_that_is(store: Write) -> None:
    """Four calls of 40 requests against nine of 250, every one longer: one order in 715, both ways."""
    answer = _asked(store, before_ns=3 * MS, after_ns=1000 * MS)
    row = answer.rare_calls.row(0, named=True)
    assert (row["stage"], row["selection_units"], row["baseline_units"], row["is_slower"]) == ("security", 4, 9, True)
    assert row["adjusted_p"] == pytest.approx(2 / comb(13, 4))
    assert answer.verdict == "stage_slower"
    assert "A call of security takes 1" in answer.summary
    assert "few requests make one (4 of 40, 9 of 250 in the baseline)" in answer.summary
    assert "no excess" not in answer.summary


def test_calls_that_are_as_long_as_before_are_not(store: Write) -> None:
    """The same calls on both sides: nothing to explain."""
    answer = _asked(store, before_ns=3 * MS, after_ns=3 * MS)
    assert not answer.rare_calls["is_slower"].any()
    assert answer.verdict == "no_excess"


def test_too_few_calls_prove_nothing(store: Write) -> None:
    """One long call among nine short ones happens by chance in a fifth of cases."""
    answer = _asked(store, before_ns=3 * MS, after_ns=1000 * MS, callers=1)
    assert answer.rare_calls["adjusted_p"].to_list() == pytest.approx([2 / 10])
    assert answer.verdict == "no_excess"


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.randoms())
def test_the_chance_of_an_order_is_counted_over_all_orders(ours: int, theirs: int, draw: random.Random) -> None:
    """Against all ways to choose who is of our side."""
    values = draw.sample(range(100), ours + theirs)
    chosen = set(range(ours))

    def longer(side: set[int]) -> int:
        return sum(values[one] > values[other] for one in side for other in set(range(ours + theirs)) - side)

    found = max(longer(chosen), ours * theirs - longer(chosen))
    orders = [longer(set(side)) for side in combinations(range(ours + theirs), ours)]
    expected = min(1.0, 2 * sum(count >= found for count in orders) / len(orders))
    assert order_chance(np.array(values[:ours]), np.array(values[ours:])) == pytest.approx(expected)


def test_large_sides_are_judged_by_the_normal_distribution() -> None:
    """Where both ways of counting apply they agree, and equal values say nothing."""
    random_values = np.random.default_rng(3)
    ours, theirs = random_values.normal(0.5, 1, 60), random_values.normal(0, 1, 60)
    exact = order_chance(ours, theirs)
    assert order_chance(np.append(ours, 0.25), theirs) == pytest.approx(exact, rel=0.3)
    assert order_chance(np.ones(80), np.ones(90)) == 1.0
