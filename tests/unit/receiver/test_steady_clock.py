"""A clock that jumps does not make data old."""

from __future__ import annotations

import logging
import time

import pytest

from tracekit.receiver.retention import SteadyClock

HOUR_NS = 3600 * 10**9


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How far the machine's clock is ahead of what it was."""
    ahead_ns, real = [0], time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + ahead_ns[0])
    return ahead_ns


@pytest.mark.parametrize(
    ("ahead_ns", "expected_ns"),
    [
        pytest.param(0, 0, id="no_jump"),
        pytest.param(30 * 10**9, 0, id="set_right_ahead"),
        pytest.param(24 * 365 * HOUR_NS, 0, id="a_year_ahead"),
        pytest.param(-HOUR_NS, -HOUR_NS, id="an_hour_back"),
    ],
)
def test_what_is_old_is_told_by_the_earlier_time(shown: list[int], ahead_ns: int, expected_ns: int) -> None:
    """Data is kept for longer rather than deleted too soon."""
    clock = SteadyClock()
    before_ns = clock.now_ns()
    shown[0] = ahead_ns
    assert abs(clock.now_ns() - before_ns - expected_ns) < 10**9


def test_a_jump_is_told_once_each_time(shown: list[int], caplog: pytest.LogCaptureFixture) -> None:
    """And what to do about it; one that ended is forgotten."""
    clock = SteadyClock()
    with caplog.at_level(logging.WARNING):
        for ahead_ns in (0, 2 * HOUR_NS, 2 * HOUR_NS, 0, 3 * HOUR_NS):
            shown[0] = ahead_ns
            clock.now_ns()
    assert [record.getMessage()[:38] for record in caplog.records] == [
        "the clock jumped ahead by 7200 s: what",
        "the clock jumped ahead by 10800 s: wha",
    ]
