"""Who is named for slow steps and what it cost: slow steps and waits in, culprits out."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.stragglers.culprits import charged, culprits, spread
from tracekit.analysis.stragglers.knock_on import with_knock_on
from tracekit.analysis.stragglers.slow_ranks import SLOW_SCHEMA

S = 1_000_000_000
RANKS, STEPS = 8, 50
WAITS = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "step": pl.Int64,
    "rank": pl.Int64,
    "is_unexplained": pl.Boolean,
    "waited_ns": pl.Int64,
}

# rank or None, role, step, stage, excess in seconds
Slow = tuple[int | None, str, int, str, float]


def ranks() -> pl.DataFrame:
    """Eight ranks on two hosts, two pipeline stages that both hosts have a part in; steps of ten seconds."""
    rows = [
        ("job", 0, step, rank, str(rank % 2), f"node-{rank // 4}", 10 * S)
        for step in range(STEPS)
        for rank in range(RANKS)
    ]
    return pl.DataFrame(rows, schema=["job_id", "attempt", "step", "rank", "role", "host", "step_ns"], orient="row")


JOBS = pl.DataFrame({"job_id": ["job"], "wall_ns": [RANKS * STEPS * 10 * S], "rank_count": [RANKS]})


def cost_of(
    slow: Iterable[Slow], waits: Iterable[tuple[int, int, float]] = (), *, is_unexplained: bool = False
) -> pl.DataFrame:
    """What slow steps cost where others waited for ranks: `(step, rank, seconds)`."""
    rows = [("job", 0, step, role, rank, stage, round(excess * S)) for rank, role, step, stage, excess in slow]
    waited = [("job", 0, step, rank, is_unexplained, round(seconds * S)) for step, rank, seconds in waits]
    return charged(
        pl.DataFrame(rows, schema=SLOW_SCHEMA, orient="row"), ranks(), pl.DataFrame(waited, schema=WAITS, orient="row")
    )


def named(cost: pl.DataFrame) -> list[tuple[object, ...]]:
    columns = ("place", "rank", "pipeline_stage", "stage", "steps", "first_step", "last_step")
    return culprits(cost, JOBS).select(columns).rows()


def test_a_rank_is_charged_with_its_excess_and_the_waiting_for_it() -> None:
    cost = cost_of(
        [(5, "1", step, "step.compute", 1.0) for step in range(10, 20)], [(step, 5, 6.0) for step in range(10, 20)]
    )
    [row] = culprits(cost, JOBS).to_dicts()
    assert (row["rank"], row["steps"], row["first_step"], row["last_step"]) == (5, 10, 10, 19)
    assert (row["own_ns"], row["waited_ns"], row["lost_ns"]) == (10 * S, 60 * S, 70 * S)
    assert row["share"] == 70 / (RANKS * STEPS * 10)


def test_no_rank_is_charged_with_more_waiting_than_its_excess_can_have_caused() -> None:
    """One second late holds seven others for a second each; the rest of the waiting has another reason."""
    cost = cost_of([(5, "1", step, "step.compute", 1.0) for step in range(10)], [(step, 5, 30.0) for step in range(10)])
    assert cost["waited_ns"].to_list() == [7 * S] * 10


@given(
    excess=st.lists(st.integers(1, 10**12), min_size=1, max_size=5),
    waited=st.integers(0, 10**15),
)
def test_the_waiting_is_shared_to_stages_exactly(excess: list[int], waited: int) -> None:
    slow = [(5, "1", 3, f"stage-{at}", each / S) for at, each in enumerate(excess)]
    cost = cost_of(slow, [(3, 5, waited / S)])
    most = 7 * sum(round(each / S * S) for each in excess)
    assert cost["waited_ns"].sum() == min(round(waited / S * S), most)
    assert cost["waited_ns"].min() >= 0


def test_a_host_whose_ranks_are_all_slow_is_one_place() -> None:
    slow = [(rank, str(rank % 2), step, "step.host_bound", 1.0) for rank in (4, 5, 6, 7) for step in range(8)]
    assert {row[0] for row in named(cost_of(slow))} == {"node-1"}


def test_all_ranks_together_hold_nobody() -> None:
    slow = [(None, role, step, "step.data_load", 2.0) for role in ("0", "1") for step in range(5)]
    cost = cost_of(slow, [(step, 3, 9.0) for step in range(5)])
    assert named(cost) == [(None, None, None, "step.data_load", 5, 0, 4)]
    assert cost["waited_ns"].sum() == 0


def test_a_role_on_several_hosts_is_a_pipeline_stage() -> None:
    slow = [(None, "1", step, "step.compute", 2.0) for step in range(5)]
    assert named(cost_of(slow)) == [("pipeline stage 1", None, 1, "step.compute", 5, 0, 4)]


def test_what_comes_now_here_and_now_there_is_spread_and_names_nobody() -> None:
    """A pause of two seconds on another rank in every step."""
    slow = [(step % RANKS, str(step % 2), step, "step.host_bound", 2.0) for step in range(48)]
    cost = cost_of(slow, [(step, step % RANKS, 14.0) for step in range(48)])
    assert named(cost) == []
    [row] = spread(cost, culprits(cost, JOBS), JOBS).to_dicts()
    assert (row["stage"], row["ranks"], row["steps"], row["lost_ns"]) == ("step.host_bound", 8, 48, 48 * 16 * S)


def test_one_that_pauses_far_more_often_than_the_others_is_named() -> None:
    slow = [(step % RANKS, str(step % 2), step, "step.host_bound", 0.2) for step in range(48)]
    slow += [(3, "1", step, "step.host_bound", 2.0) for step in range(0, 48, 3) if step % RANKS != 3]
    assert {row[1] for row in named(cost_of(slow))} == {3}


def test_a_single_hiccup_is_not_named_and_a_stall_that_costs_a_twentieth_of_the_job_is() -> None:
    assert named(cost_of([(5, "1", 7, "step.compute", 3.0)], [(7, 5, 20.0)])) == []
    assert named(cost_of([(5, "1", 7, "step.compute", 30.0)], [(7, 5, 210.0)])) == [
        ("5", 5, None, "step.compute", 1, 7, 7)
    ]


def test_an_episode_is_weighed_against_its_own_steps_in_a_job_of_any_length() -> None:
    """Ten steps of half a second: a hundredth of this job, and as clear in one a hundred times as long."""
    cost = cost_of([(5, "1", step, "step.compute", 0.5) for step in range(10)], [(step, 5, 3.0) for step in range(10)])
    long = JOBS.with_columns(pl.col("wall_ns") * 100)
    assert culprits(cost, long)["rank"].to_list() == [5]


@pytest.mark.parametrize(("seconds", "ranks_named"), [(6.0, [5]), (0.5, [])])
def test_time_that_nothing_explains_is_slowness_only_where_others_wait_for_it(
    seconds: float, ranks_named: list[int]
) -> None:
    """A second a step without any span: seven others held for most of it, or idle while nobody needs the rank."""
    slow = [(5, "1", step, "unattributed", 1.0) for step in range(40)]
    cost = cost_of(slow, [(step, 5, seconds) for step in range(40)], is_unexplained=True)
    assert culprits(cost, JOBS)["rank"].to_list() == ranks_named


def test_waiting_for_known_work_is_no_proof_of_time_that_nothing_explains() -> None:
    slow = [(5, "1", step, "unattributed", 1.0) for step in range(10, 20)]
    assert cost_of(slow, [(step, 5, 7.0) for step in range(10, 20)])["waited_ns"].sum() == 0


def left(waits: dict[int, float]) -> pl.DataFrame:
    """Waiting in each step that may have followed from slow work, in seconds."""
    rows = [("job", 0, step + 1, round(waits.get(step, 0.0) * S)) for step in range(STEPS)]
    return pl.DataFrame(rows, schema=["job_id", "attempt", "step_at", "left_ns"], orient="row")


def test_waiting_for_whoever_was_late_because_of_it_is_charged_to_the_slow_one() -> None:
    """Rank 3 is 1 s late in step 7: 2 s of waiting for it, 4 s for others in the step, 3 s in the next; seven wait."""
    cost = cost_of([(3, "1", 7, "compute", 1.0)], [(7, 3, 2.0)])
    assert with_knock_on(cost, left({7: 6.0, 8: 3.0}))["waited_ns"].to_list() == [7 * S]
    assert with_knock_on(cost, left({7: 3.0, 8: 1.0}))["waited_ns"].to_list() == [4 * S]
    assert with_knock_on(cost, left({6: 9.0, 9: 9.0}))["waited_ns"].to_list() == [2 * S]


def test_what_nothing_explains_is_charged_after_what_was_slow() -> None:
    cost = cost_of([(3, "1", 7, "compute", 1.0), (5, "1", 7, "unattributed", 1.0)])
    found = with_knock_on(cost, left({7: 8.0}))
    assert dict(found.select("stage", "waited_ns").rows()) == {"compute": 7 * S, "unattributed": 1 * S}


def test_ranks_that_are_late_together_hold_the_others_up_once() -> None:
    """Four ranks of a host, 1 s each: the four others wait 4 s in all, however often they were waited for."""
    slow = [(rank, str(rank % 2), 7, "compute", 1.0) for rank in range(4)]
    cost = cost_of(slow, [(7, rank, 3.0) for rank in range(4)])
    assert with_knock_on(cost, left({7: 12.0}))["waited_ns"].sum() == 4 * S


slow_cells = st.tuples(st.integers(0, 7), st.integers(0, 9), st.floats(0.01, 5))


@given(
    st.lists(slow_cells, min_size=1, unique_by=lambda row: row[:2]),
    st.dictionaries(st.integers(0, 10), st.floats(0, 50)),
)
def test_no_more_is_charged_than_was_waited(slow: list[tuple[int, int, float]], waits: dict[int, float]) -> None:
    cost = cost_of([(rank, str(rank % 2), step, "compute", excess) for rank, step, excess in slow])
    found = with_knock_on(cost, left(waits))
    assert found["waited_ns"].sum() <= left(waits)["left_ns"].sum()
    assert (found["waited_ns"] <= found["own_ns"] * (RANKS - 1)).all()
    assert found.select("step", "rank", "own_ns").rows() == cost.select("step", "rank", "own_ns").rows()
