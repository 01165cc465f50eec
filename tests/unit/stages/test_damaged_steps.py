"""Steps whose clocks, ranks, sizes or collectives cannot be as they are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.stages.stored import store
from tests.unit.stages.test_steps import reduce, step, steps, waits
from tracekit.analysis import quality
from tracekit.store import Database

MILLION = 1_000_000


def test_a_clock_that_collectives_show_to_be_off_is_corrected(database: Database) -> None:
    """Host b is 50 ms ahead: its ranks leave four collectives 50 ms after the others, and came no later."""
    spans = []
    for rank, host in enumerate(("a", "a", "b", "b")):
        ahead = 50 * MILLION if host == "b" else 0
        own = [step(rank, ahead, ahead + 500 * MILLION)]
        for seq in range(4):
            start = ahead + (100 * seq + 10 + rank) * MILLION
            own.append(reduce(10 * rank + seq + 1, rank, start, ahead + (100 * seq + 20) * MILLION, seq=seq))
        spans += [replace(one, host=host) for one in own]
    store(database, spans)
    units = steps(database)
    assert [unit["start_ns"] // MILLION for unit in units] == [0, 0, 50, 50]
    assert units[0]["shift_ns"] - units[2]["shift_ns"] == 50 * MILLION
    assert waits(database, rank=0) == {(3, "unattributed", "step"): 4 * 3 * MILLION}


@pytest.mark.parametrize(("ahead_ms", "is_moved"), [(400, False), (60_000, True)])
def test_one_collective_tells_a_clock_that_is_off_by_more_than_the_step(
    database: Database, ahead_ms: int, is_moved: bool
) -> None:
    """Half a second late may be late; a minute, in a step of half a second, is another clock."""
    spans = []
    for rank, ahead in enumerate((0, 0, ahead_ms * MILLION)):
        own = [step(rank, ahead, ahead + 500 * MILLION), reduce(rank + 1, rank, ahead + 10, ahead + 90 * MILLION)]
        spans += [replace(one, host=f"host-{rank}") for one in own]
    store(database, spans)
    assert [unit["shift_ns"] != 0 for unit in steps(database)] == [False, False, is_moved]


@pytest.mark.parametrize("rank", [-1, -(2**31), 2**31 - 1])
def test_ranks_that_cannot_be_are_ranks_all_the_same(database: Database, rank: int) -> None:
    """One process with a damaged rank keeps nobody's steps from being made."""
    store(database, [step(0, 0, 100), reduce(1, 0, 20, 80), replace(step(1, 0, 100), rank=rank, id=7)])
    assert {unit["rank"] for unit in steps(database)} == {0, rank}


@pytest.mark.parametrize(
    ("sizes", "is_odd"),
    [
        ((64, 64), False), ((None, 64), False), (("?", 64), False), ((64, 32), True), ((-1, -1), True),
        ((2**62, 2**62), True),
    ],
)  # fmt: skip
def test_sizes_that_disagree_or_cannot_be_are_told_and_not_used(
    database: Database, sizes: tuple[object, ...], is_odd: bool
) -> None:
    """The time of the collective is told apart as ever; its bandwidth is not known."""
    spans = [step(0, 0, 100), step(1, 0, 100)]
    for rank, size in enumerate(sizes):
        one = reduce(rank + 1, rank, 20 + rank, 80)
        told = {} if size is None else {"tracekit.collective.bytes": size}
        spans.append(replace(one, attributes=one.attributes | told))
    store(database, spans)
    assert [unit["flags"] for unit in steps(database)] == ["odd_collective_sizes" if is_odd else None] * 2
    bytes_told = database.sql("SELECT bytes FROM step_collectives ORDER BY unit_id")["bytes"].to_list()
    assert bytes_told == [None if is_odd or not isinstance(size, int) else size for size in sizes]
    found = {finding.check for finding in quality(database).evidence.findings}
    assert ("collective_sizes" in found) == is_odd


def test_collectives_without_partners_are_told(database: Database) -> None:
    """The ranks count differently: nothing says which parts belong together."""
    spans = [step(0, 0, 100), step(1, 0, 100), reduce(1, 0, 20, 80, seq=4), reduce(2, 1, 20, 80, seq=9)]
    store(database, spans)
    assert [unit["flags"] for unit in steps(database)] == ["ranks_missing"] * 2
    assert "unmatched_collectives" in {finding.check for finding in quality(database).evidence.findings}
