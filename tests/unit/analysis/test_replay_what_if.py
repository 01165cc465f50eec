"""What-if by replay: small jobs whose answer is plain, and properties that every replay has."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.replay import Change, observed_steps, what_if
from tracekit.errors import InsufficientDataError, UsageError

MS = 1_000_000


def data_parallel(compute_ms: list[list[int]], *, loads_ms: dict[tuple[int, int], int] | None = None) -> pl.DataFrame:
    """Steps of ranks that compute and then reduce: `compute_ms[step][rank]`, a reduction takes 2 ms after the last.

    `loads_ms` puts an operation `load` before the computation of (step, rank).
    """
    rows: list[dict[str, Any]] = []
    begin = 0
    for step, row in enumerate(compute_ms):
        loads = [(loads_ms or {}).get((step, rank), 0) for rank in range(len(row))]
        ready = [begin + load + each for load, each in zip(loads, row, strict=True)]
        end = max(ready) + 2
        for rank, (load, each) in enumerate(zip(loads, row, strict=True)):
            common = {"step": step, "stretch": 0, "rank": rank, "host": f"node-{rank // 2}", "pipeline_stage": None}
            if load:
                rows.append(common | {"operation": "load", "start_ns": begin, "end_ns": begin + load})
            told = {"operation": "compute", "start_ns": begin + load, "end_ns": begin + load + each}
            rows.append(common | told)
            reduced = {"operation": "all_reduce", "group": "world", "collective_sequence": step}
            rows.append(common | reduced | {"start_ns": ready[rank], "end_ns": end})
        begin = end
    frame = pl.DataFrame(rows, infer_schema_length=None)
    return frame.with_columns(pl.col("start_ns", "end_ns") * MS, pl.col("pipeline_stage").cast(pl.Int64))


def test_a_slow_rank_costs_what_the_others_waited() -> None:
    """Rank 2 computes 15 ms instead of 10: steps of 17 ms become 12."""
    found = what_if(data_parallel([[10, 10, 15, 10]] * 6), Change.parsed("without=rank:2"))
    assert (found.before, found.after, found.verdict) == (17 * MS, 12 * MS, "faster")
    assert found.low < found.after < found.high < found.before
    assert found.by_rank.row(0, named=True)["rank"] == 2


def test_a_healthy_rank_gives_nothing_back() -> None:
    found = what_if(data_parallel([[10, 10, 15, 10]] * 6), Change.parsed("without=rank:1"))
    assert (found.saving, found.verdict) == (0.0, "no_difference")


def test_what_only_one_rank_does_goes_with_it() -> None:
    """A load that no peer has takes no time."""
    operations = data_parallel([[10, 10, 10, 10]] * 6, loads_ms={(step, 3): 8 for step in range(6)})
    assert what_if(operations, Change.parsed("without=rank:3")).after == 12 * MS
    assert what_if(operations, Change.parsed("without=operation:load")).after == 12 * MS
    assert what_if(operations, Change.parsed("without=host:node-1")).after == 12 * MS


def test_a_rank_without_peers_is_compared_with_itself_and_that_is_told() -> None:
    found = what_if(data_parallel([[10], [10], [30], [10], [10]]), Change.parsed("without=rank:0"))
    assert found.after == 12 * MS
    assert any("have no peers" in each for each in found.assumptions)


def test_stages_of_different_length_are_no_stragglers() -> None:
    """Peers are ranks of the same pipeline stage."""
    operations = data_parallel([[10, 10, 20, 20]] * 6).with_columns(pipeline_stage=pl.col("rank") // 2)
    assert what_if(operations, Change.parsed("without=rank:3")).verdict == "no_difference"
    assert what_if(operations, Change.parsed("without=stragglers")).verdict == "no_difference"
    assert what_if(operations, Change.parsed("without=imbalance")).after == 17 * MS


def test_late_steps_make_the_next_ones_late_where_they_follow_each_other() -> None:
    """A step that stands alone keeps its start."""
    operations = data_parallel([[10, 10]] * 4)
    assert observed_steps(operations).step_counts.tolist() == [4]
    assert observed_steps(operations.drop("stretch")).step_counts.tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "text", ["rank:1", "without=", "without=rank:", "without=rank:x", "without=stragglers:1", "with=a"]
)
def test_other_changes_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="without=rank:21"):
        Change.parsed(text)


def test_a_rank_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no step has an operation of rank 9; there are 0, 1"):
        what_if(data_parallel([[1, 1]]), Change.parsed("without=rank:9"))


def test_no_operations_are_told() -> None:
    with pytest.raises(InsufficientDataError, match="no operations"):
        what_if(data_parallel([[1, 1]]).clear(), Change.parsed("without=rank:0"))


def test_a_circle_leaves_its_step_out_and_not_the_others() -> None:
    """Rank 0 saw the end of a before b began, rank 1 that of b before a: their clocks or numbers are wrong."""
    rows = [
        {"step": 1, "rank": rank, "operation": "x", "group": group, "start_ns": at, "end_ns": at + 5}
        for rank, order in enumerate(("ab", "ba"))
        for at, group in zip((0, 10), order, strict=True)
    ]
    circle = pl.DataFrame(rows).with_columns(collective_sequence=pl.lit(0), pipeline_stage=pl.lit(None, pl.Int64))
    with pytest.raises(InsufficientDataError, match="do the clocks agree"):
        observed_steps(circle)
    good = data_parallel([[10, 10]] * 3).drop("stretch", "host").with_columns(step=pl.col("step") + 2)
    both = pl.concat([circle, good], how="diagonal_relaxed")
    found = observed_steps(both)
    assert found.left_out.rows() == [(1, "operations wait for each other in a circle")]
    assert found.step_counts.tolist() == [1, 1, 1]


times = st.integers(0, 50)
operations_of_ranks = st.lists(
    st.tuples(
        st.integers(0, 2), st.integers(0, 3), st.sampled_from("fbx"), times, times, st.sampled_from([None, "w", "v"])
    ),
    min_size=1, max_size=40,
)  # fmt: skip


@given(operations_of_ranks)
def test_the_replay_of_what_happened_is_what_happened(rows: list[tuple[Any, ...]]) -> None:
    """For any operations, overlapping, repeated or of no length, to the nanosecond."""
    placed = [(*row[:4], row[3] + row[4], row[5], None, None) for row in rows]
    frame = pl.DataFrame(
        placed,
        schema={"step": pl.Int64, "rank": pl.Int64, "operation": pl.String, "start_ns": pl.Int64, "end_ns": pl.Int64,
                "group": pl.String, "collective_sequence": pl.Int64, "pipeline_stage": pl.Int64},
        orient="row",
    )  # fmt: skip
    try:
        steps = observed_steps(frame)
    except InsufficientDataError:
        return
    assert np.array_equal(steps.replayed(steps.own_ns, steps.delay_ns), steps.observed_ns)


@given(st.lists(st.lists(st.integers(1, 40), min_size=3, max_size=3), min_size=2, max_size=6), st.integers(0, 2))
def test_a_step_of_one_reduction_takes_the_longest_computation(compute_ms: list[list[int]], rank: int) -> None:
    """Without a rank, the longest of the others and the lower of their two middles."""
    found = what_if(data_parallel(compute_ms), Change("rank", (str(rank),)))
    expected = [max(row[other] for other in range(3) if other != rank) + 2 for row in compute_ms]
    assert found.after == pytest.approx(sum(expected) / len(expected) * MS)
