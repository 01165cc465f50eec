"""Clocks are corrected between hosts where calls prove a difference, by one shift, never without proof."""

from __future__ import annotations

import numpy as np
import pytest

from tests.unit.partition.exclusive_time import self_ns
from tracekit.errors import UsageError
from tracekit.partition import Forest, estimate_skew, partition

MS = 1_000_000
CLIENT_HOST, SERVER_HOST = 0, 1


def calls(offset_ns: int, *, count: int = 200, server_ns: int = 14_600_000, **columns: object) -> Forest:
    """Traces of root, client (20 ms), server inside it, work; the server's clock is off by `offset_ns`."""
    random = np.random.default_rng(8)
    begin = np.arange(count) * 100 * MS
    sent = begin + 2 * MS
    received = sent + random.integers(0, 20 * MS - server_ns, count)
    starts = np.stack([begin, sent, received + offset_ns, received + offset_ns + MS], axis=1).ravel()
    durations = np.tile([24 * MS, 20 * MS, server_ns, MS], count)
    rows = np.arange(4 * count)
    given = {
        "key": rows // 4,
        "parent": np.where(rows % 4, rows - 1, -1),
        "start_ns": starts,
        "end_ns": starts + durations,
        "tiebreak": rows,
        "host": np.tile([CLIENT_HOST, CLIENT_HOST, SERVER_HOST, SERVER_HOST], count),
        "is_client": rows % 4 == 1,
        "is_server": rows % 4 == 2,
    }
    return Forest.from_columns(**(given | columns))


def server_share(forest: Forest, *, corrected: bool) -> float:
    """Part of the server's time (its own and its work) that its window keeps."""
    skew = estimate_skew(forest) if corrected else None
    result = partition(forest, skew=skew)
    window_ns = (result.window_end_ns - result.window_start_ns)[2::4]
    return float(window_ns.sum() / (forest.end_ns - forest.start_ns)[2::4].sum())


@pytest.mark.parametrize("offset_ms", [-20, -5, 5, 20])
def test_a_clock_that_is_off_costs_the_server_no_time(offset_ms: int) -> None:
    """Without correction what lies outside its client is lost, at one end or the other."""
    forest = calls(offset_ms * MS)
    assert server_share(forest, corrected=False) < 0.95
    assert server_share(forest, corrected=True) > 0.999


def test_one_shift_holds_for_a_pair_of_hosts_and_moves_both_ends() -> None:
    """Durations stay, and rows below the server on its host move with it."""
    forest = calls(50 * MS)
    skew = estimate_skew(forest)
    assert (skew.parent_host.tolist(), skew.child_host.tolist()) == ([CLIENT_HOST], [SERVER_HOST])
    assert skew.call_count.tolist() == [200]
    assert skew.is_consistent.tolist() == skew.is_applied.tolist() == [True]
    result = partition(forest, skew=skew)
    assert np.array_equal(result.end_ns - result.start_ns, forest.end_ns - forest.start_ns)
    assert result.shift_ns.tolist() == [0, 0, skew.shift_ns[0], skew.shift_ns[0]] * 200
    assert result.defects.shift_ns.tolist() == [-skew.shift_ns[0]] * 200
    assert result.defects.shifted_count.tolist() == [2] * 200


def test_without_proof_nothing_moves() -> None:
    """Calls that fit inside their clients prove no difference, so none is assumed."""
    forest = calls(0)
    skew = estimate_skew(forest)
    assert skew.shift_ns.tolist() == [0]
    assert partition(forest, skew=skew).shift_ns.tolist() == [0] * forest.row_count


@pytest.mark.parametrize(
    "columns",
    [
        {"host": np.zeros(800)},
        {"host": np.tile([0, 0, -1, -1], 200)},
        {"is_client": np.zeros(800)},
        {"is_server": np.zeros(800)},
        {"blocking": np.tile([True, True, False, True], 200)},
    ],
    ids=["same host", "unknown host", "no client", "no server", "not waited for"],
)
def test_only_remote_calls_that_are_waited_for_are_proof(columns: dict[str, object]) -> None:
    """A consumer, or a thread on the same clock, may well run outside its parent."""
    assert len(estimate_skew(calls(50 * MS, **columns)).shift_ns) == 0


def test_a_correction_beyond_trust_is_reported_and_not_applied() -> None:
    """An hour is a wrong date, not a drifting clock."""
    forest = calls(3_600_000 * MS)
    skew = estimate_skew(forest)
    assert skew.shift_ns[0] < -3_500_000 * MS
    assert skew.is_applied.tolist() == [False]
    assert not partition(forest, skew=skew).shift_ns.any()


def test_calls_that_contradict_each_other_get_the_middle_and_a_flag() -> None:
    """The clock jumped within the window: no single correction suits."""
    forest = calls(50 * MS)
    jumped = np.arange(forest.row_count) >= 400
    jumped &= forest.host == SERVER_HOST
    forest = calls(
        0,
        start_ns=forest.start_ns - 100 * MS * jumped,
        end_ns=forest.end_ns - 100 * MS * jumped,
    )
    skew = estimate_skew(forest)
    assert skew.is_consistent.tolist() == [False]
    assert skew.high_ns[0] < skew.shift_ns[0] < skew.low_ns[0]


def test_calls_longer_on_the_server_bound_nothing() -> None:
    """The client gave up waiting; such calls are counted, not used."""
    skew = estimate_skew(calls(0, server_ns=14 * MS, end_ns=calls(0).end_ns + np.tile([0, 0, 9 * MS, 0], 200)))
    assert skew.unbounded_call_count == 200
    assert len(skew.shift_ns) == 0


def test_ten_minutes_later_another_correction_may_hold() -> None:
    """Clocks drift and are set; each window stands on its own calls."""
    late = calls(30 * MS)
    both = calls(0, count=400)
    shifted = 1_200_000 * MS
    starts = np.concatenate([calls(0).start_ns, late.start_ns + shifted])
    ends = np.concatenate([calls(0).end_ns, late.end_ns + shifted])
    forest = calls(0, count=400, start_ns=starts, end_ns=ends)
    assert forest.row_count == both.row_count
    skew = estimate_skew(forest)
    assert skew.window.tolist() == [0, 2]
    assert skew.shift_ns[0] == 0 > skew.shift_ns[1]
    assert partition(forest, skew=skew).defects.shifted_count.tolist() == [0] * 200 + [2] * 200


def test_sums_stay_exact_after_a_shift() -> None:
    """The root does not move, so the whole is what it was."""
    forest = calls(20 * MS)
    result = partition(forest, skew=estimate_skew(forest))
    assert self_ns(result).sum() == 200 * 24 * MS


def test_a_negative_limit_is_refused() -> None:
    """It could mean nothing."""
    with pytest.raises(UsageError, match="is negative"):
        estimate_skew(calls(0), max_shift_ns=-1)


def test_a_long_call_that_drifting_clocks_stretch_still_bounds_the_clock() -> None:
    """Ten seconds at 100 ppm are a millisecond: more than the way back leaves, and no proof of anything else."""
    long_ns = 10_000 * MS
    begin = np.arange(50) * 20_000 * MS
    starts = np.stack([begin, begin + MS, begin + 150 * MS], axis=1).ravel()
    durations = np.tile([long_ns + 3 * MS, long_ns, long_ns + MS], 50)
    rows = np.arange(150)
    forest = Forest.from_columns(
        key=rows // 3,
        parent=np.where(rows % 3, rows - 1, -1),
        start_ns=starts,
        end_ns=starts + durations,
        tiebreak=rows,
        host=np.tile([CLIENT_HOST, CLIENT_HOST, SERVER_HOST], 50),
        is_client=rows % 3 == 1,
        is_server=rows % 3 == 2,
    )
    skew = estimate_skew(forest)
    assert (skew.unbounded_call_count, skew.is_consistent.any()) == (0, False)
    assert abs(skew.shift_ns + 149 * MS).max() <= MS
