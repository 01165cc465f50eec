"""Which steps of which ranks are slow: times in, slow steps out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.stragglers.slow_ranks import slow_times

MS = 1_000_000
RANKS, STEPS = 8, 64


def world(
    change: Callable[[np.ndarray], None], *, noise: float = 0.01, differ: float = 0.003, roles: int = 2, seed: int = 1
) -> pl.DataFrame:
    """Compute of eight ranks in 64 steps around 100 ms; `change` strikes some of them."""
    draw = np.random.default_rng(seed)
    level = np.repeat(np.linspace(100, 130, roles), RANKS // roles)[:, None] * np.exp(
        draw.normal(0, differ, (RANKS, 1))
    )
    times = level * np.exp(draw.normal(0, noise, (RANKS, STEPS)))
    change(times)
    rank, step = np.indices(times.shape)
    return pl.DataFrame(
        {
            "job_id": "job",
            "attempt": 0,
            "step": step.ravel(),
            "rank": rank.ravel(),
            "role": (rank.ravel() // (RANKS // roles)).astype(str),
            "stage": "step.compute",
            "own_ns": np.rint(times.ravel() * MS).astype(np.int64),
        }
    )


def found(own: pl.DataFrame) -> dict[int | None, set[int]]:
    """Slow steps by rank; None for whole roles."""
    slow = slow_times(own)
    return {rank: set(rows["step"].to_list()) for (rank,), rows in slow.group_by("rank")}


def nothing(times: np.ndarray) -> None:
    """A healthy job."""


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("noise", "differ"), [(0.005, 0.0), (0.02, 0.003), (0.05, 0.02)])
def test_in_a_healthy_job_hardly_a_step_is_slow_and_no_rank_in_three(seed: int, noise: float, differ: float) -> None:
    slow = found(world(nothing, noise=noise, differ=differ, seed=seed))
    assert max((len(steps) for steps in slow.values()), default=0) < 3


@pytest.mark.parametrize("factor", [1.1, 1.4, 3.0])
def test_a_rank_that_is_slow_all_the_time_is_found_in_all_steps(factor: float) -> None:
    def strike(times: np.ndarray) -> None:
        times[5] *= factor

    assert found(world(strike)) == {5: set(range(STEPS))}


def test_a_rank_slow_in_an_eighth_of_its_steps_is_found_in_exactly_those() -> None:
    def strike(times: np.ndarray) -> None:
        times[5, ::8] *= 1.1

    assert found(world(strike)) == {5: set(range(0, STEPS, 8))}


def test_a_second_culprit_hides_neither() -> None:
    def strike(times: np.ndarray) -> None:
        times[1] *= 1.5
        times[2, 20:40] *= 1.15

    assert found(world(strike)) == {1: set(range(STEPS)), 2: set(range(20, 40))}


def test_a_weak_slowness_shows_in_a_long_run_of_steps() -> None:
    """Four per cent under noise of two: hardly a step tells alone, forty together do."""

    def strike(times: np.ndarray) -> None:
        times[3, 10:50] *= 1.04

    steps = found(world(strike, noise=0.02, differ=0.0))[3]
    assert len(steps & set(range(10, 50))) >= 16
    assert len(steps - set(range(10, 50))) <= 4


def test_what_strikes_all_ranks_alike_makes_no_rank_slow() -> None:
    def strike(times: np.ndarray) -> None:
        times[:, 20:30] *= 1.5

    slow = found(world(strike))
    assert slow.pop(None) == set(range(20, 30))
    assert max((len(steps) for steps in slow.values()), default=0) < 3


def test_a_role_that_is_slow_as_a_whole_is_told_as_a_role() -> None:
    def strike(times: np.ndarray) -> None:
        times[4:, 20:30] *= 1.5

    slow = slow_times(world(strike))
    assert set(slow.select("role", "rank").rows()) == {("1", None)}


def test_work_that_peers_do_not_have_is_slow_and_its_length_known() -> None:
    """One rank saves a checkpoint that its peers skip: the others spent no time on it."""
    own = world(nothing)
    saves = own.filter((pl.col("rank") == 6) & (pl.col("step") % 16 == 3)).with_columns(
        stage=pl.lit("job.checkpoint_save"), own_ns=pl.lit(40 * MS, dtype=pl.Int64)
    )
    slow = slow_times(pl.concat([own, saves]))
    assert set(slow.select("rank", "stage", "step", "excess_ns").rows()) == {
        (6, "job.checkpoint_save", step, 40 * MS) for step in (3, 19, 35, 51)
    }


def test_a_checkpoint_that_all_save_is_nobodys_slowness() -> None:
    own = world(nothing)
    saves = own.filter(pl.col("step") % 16 == 3).with_columns(stage=pl.lit("job.checkpoint_save"))
    assert slow_times(pl.concat([own, saves])).height < 3


def test_a_rank_that_reported_half_of_the_steps_is_not_slow_in_the_others() -> None:
    own = world(nothing).filter((pl.col("rank") != 2) | (pl.col("step") % 2 == 0))
    assert slow_times(own).is_empty()


@given(scale=st.sampled_from([1, 7, 1000]), order=st.randoms(use_true_random=False))
def test_neither_the_unit_nor_the_order_of_rows_matters(scale: int, order: object) -> None:
    def strike(times: np.ndarray) -> None:
        times[5, ::8] *= 1.2

    own = world(strike)
    rows = own.sample(fraction=1.0, shuffle=True, seed=order.randint(0, 1000))  # type: ignore[attr-defined]
    assert found(rows.with_columns(pl.col("own_ns") * scale)) == found(own)
