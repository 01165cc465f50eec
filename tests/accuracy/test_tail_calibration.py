"""The promises of the tail analysis under load that swings, in a short form of `tail_calibration`."""

from __future__ import annotations

from tests.accuracy.tail_calibration import Workload, coverage, false_alarms, power


def test_intervals_hold_the_truth_under_swinging_load() -> None:
    """Taken as independent requests, the queue's interval would hold it in a quarter of the runs."""
    tally = coverage(Workload(20, 0.5), runs=60, count=5000, quantile=0.9)
    assert tally.answered >= 30
    assert (tally.covered / tally.answered).min() >= 0.82
    assert (tally.covered / tally.answered).mean() >= 0.90


def test_healthy_windows_raise_few_alarms() -> None:
    """Of two healthy windows no stage is flagged but in a few of a hundred runs."""
    tally = false_alarms(Workload(20, 0.5), runs=60, count=5000, quantile=0.9)
    assert tally.answered >= 20
    assert tally.alarms / tally.answered <= 0.12


def test_healthy_windows_raise_few_alarms_against_many_windows() -> None:
    """Also where the load swings slower than a window is long."""
    tally = false_alarms(Workload(500), runs=40, count=1000, quantile=0.9, baseline=24)
    assert tally.answered == 40
    assert tally.alarms <= 5


def test_load_that_swings_slower_than_the_window_raises_no_alarm() -> None:
    """With a handful of swings in a window little follows for other windows: intervals are wide, and hold."""
    tally = false_alarms(Workload(200), runs=20, count=5000, quantile=0.9)
    assert tally.alarms == 0
    assert tally.covered.min() >= 0.95 * tally.answered


def test_a_slower_stage_is_found() -> None:
    """Fifteen milliseconds on a stage of 22.6 are flagged and are the largest excess."""
    tally = power(Workload(20, 0.5), runs=30, count=5000, quantile=0.9)
    assert tally.answered >= 10
    assert tally.top_hits / tally.answered >= 0.95
