"""How much may wait: bytes, and the seconds that writing them takes."""

from __future__ import annotations

import pytest

from tracekit.receiver.budget import Budget
from tracekit.receiver.outcome import RefusedError

MIB = 1 << 20


def test_up_to_the_limit_is_taken_and_no_byte_more() -> None:
    """And what is given back can be taken again."""
    budget = Budget(100)
    with budget.reservation() as first:
        first.grow(60)
        with budget.reservation() as second, pytest.raises(RefusedError):
            second.grow(41)
        with budget.reservation() as second:
            second.grow(40)
    assert budget.used_bytes == 0


def test_as_much_waits_as_is_written_in_three_seconds() -> None:
    """A slow disk makes a short queue: what waits longer than its sender does is sent twice for nothing."""
    budget = Budget(192 * MIB)
    assert budget.limit_bytes == 192 * MIB
    for _ in range(100):
        budget.observe(10 * MIB, 1.0)
    assert budget.limit_bytes == pytest.approx(30 * MIB, rel=0.01)
    for _ in range(100):
        budget.observe(100 * MIB, 1.0)
    assert budget.limit_bytes == 192 * MIB


def test_a_little_may_always_wait() -> None:
    """One slow commit does not close the door."""
    budget = Budget(192 * MIB)
    budget.observe(1000, 10.0)
    assert budget.limit_bytes == 16 * MIB


def test_one_large_request_alone_is_taken_however_slow_the_store_is() -> None:
    """It could never be sent otherwise."""
    budget = Budget(192 * MIB)
    budget.observe(1000, 10.0)
    with budget.reservation() as large:
        large.grow(MIB)
        large.grow(63 * MIB)
        with budget.reservation() as small, pytest.raises(RefusedError):
            small.grow(1)
        with pytest.raises(RefusedError):
            large.grow(129 * MIB)
