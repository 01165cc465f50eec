"""What is remembered of the spans that came last, against a plain list of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracekit.store.recent_spans import RecentSpans

MINUTE_NS = 60 * 10**9
SPAN_NUMBERS = st.lists(st.integers(1, 200), min_size=1, max_size=12, unique=True)


def keys_of(numbers: list[int]) -> np.ndarray:
    """Three words a span: spans of one number share no word with those of another."""
    return np.array([[number << 33, number * 7, number] for number in numbers], np.uint64).reshape(-1, 3)


def remember(recent: RecentSpans, numbers: list[int], *, ingest_id: int) -> None:
    starts_ns = np.array(numbers, np.int64) * MINUTE_NS
    recent.add(keys_of(numbers), np.full(len(numbers), ingest_id, np.int64), starts_ns)


@given(st.lists(SPAN_NUMBERS, max_size=12))
def test_every_span_of_the_covered_ingests_is_found_with_its_last_ingest(batches: list[list[int]]) -> None:
    """However often the older half is forgotten, nothing that is said to be covered is missed."""
    recent = RecentSpans(slot_count=16)
    last_ingest: dict[int, int] = {}
    for ingest_id, numbers in enumerate(batches, 1):
        remember(recent, numbers, ingest_id=ingest_id)
        last_ingest |= dict.fromkeys(numbers, ingest_id)
    covered = {number: ingest for number, ingest in last_ingest.items() if ingest >= recent.covered_from}
    assert recent.ingests(keys_of(list(covered))).tolist() == list(covered.values())
    is_remembered = recent.ingests(keys_of(list(last_ingest))) > 0
    forgotten = np.array(list(last_ingest), np.int64)[~is_remembered]
    assert recent.older_minutes.has(forgotten * MINUTE_NS).all()


@given(st.lists(SPAN_NUMBERS, max_size=12))
def test_spans_that_never_came_are_not_found(batches: list[list[int]]) -> None:
    """A new span costs no look at the store."""
    recent = RecentSpans(slot_count=16)
    for ingest_id, numbers in enumerate(batches, 1):
        remember(recent, numbers, ingest_id=ingest_id)
    assert not recent.ingests(keys_of(list(range(1000, 1100)))).any()


def test_the_last_spans_up_to_the_capacity_are_covered() -> None:
    """What is remembered is a number of spans, whatever the ingests are."""
    recent = RecentSpans(slot_count=64)
    for ingest_id in range(1, 101):
        remember(recent, [2 * ingest_id, 2 * ingest_id + 1], ingest_id=ingest_id)
    assert recent.capacity == 32
    assert recent.covered_from <= 100 - recent.capacity // 2 + 1


def test_an_ingest_that_is_partly_forgotten_is_not_covered() -> None:
    """A long ingest whose first spans are forgotten must be looked up in the store."""
    recent = RecentSpans(slot_count=16)
    for number in range(1, 30):
        remember(recent, [number], ingest_id=1)
    assert recent.covered_from == 2
