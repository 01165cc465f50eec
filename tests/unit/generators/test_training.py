"""The training model: time is conserved, collectives and pipelines take what their formulas say, faults strike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.parameters import Values
from generators.training import stages, state
from generators.training.kernel import run_steps
from generators.training.links import ring_cost
from generators.training.mesh import mesh_of
from generators.training.simulation import Run, simulate
from tests.unit.generators.conftest import small_values
from tracekit.errors import UsageError

QUIET = {
    "compute__noise_sigma": 0.0, "compute__rank_sigma": 0.0, "links__sigma": 0.0, "data__sigma": 0.0,
    "storage__sigma": 0.0,
    "evaluation__every_steps": 0, "checkpoint__every_steps": 0,
}  # fmt: skip
UNCONTENDED = QUIET | {
    "model__activation_mb": 0.0, "model__tensor_mb": 0.0, "model__rank_parameters_m": 1e-6, "scale_up__p2p_us": 0.0,
    "scale_out__p2p_us": 0.0, "scale_up__hop_us": 0.0, "scale_out__hop_us": 0.0, "compute__optimizer_ms": 0.0,
    "host__launch_us": 0.0, "data__fetch_ms": 0.0, "data__decode_ms": 0.0, "data__batch_mb": 0.0, "data__copy_mb": 0.0,
    "mesh__data": 1, "mesh__tensor": 1, "compute__forward_ms": 60.0, "compute__backward_ratio": 2.0,
}  # fmt: skip
"""Nothing but forwards and backwards, all equally long, and transfers that take no time."""


def time_of(run: Run, stage: int) -> np.ndarray:
    """Time of each rank in a stage, by step."""
    return run.log.stage_ns[:, :, stage]


def durations(run: Run) -> np.ndarray:
    """Duration of each rank's part of each step."""
    return run.log.instants[:, state.FINISHED] - run.log.instants[:, state.STARTED]


@settings(max_examples=25)
@given(
    data=st.sampled_from([1, 2, 4]), tensor=st.sampled_from([1, 2]), stage_count=st.sampled_from([1, 2, 4]),
    batches=st.sampled_from([4, 8]), interleaved=st.booleans(), sigma=st.sampled_from([0.0, 0.3]),
    struck=st.sampled_from([0, -1]),
    workers=st.integers(1, 3), overflow=st.sampled_from([0.0, 0.5]), sharded=st.booleans(), fault=st.sampled_from(
        ["compute_factor", "loader_factor", "copy_factor", "nic_factor", "rail_factor", "storage_factor"]
    ), mode=st.sampled_from(["async", "blocking"]), seed=st.integers(0, 2**32),
)  # fmt: skip
def test_time_is_conserved_whatever_the_configuration(
    data: int, tensor: int, stage_count: int, batches: int, interleaved: bool, sigma: float, workers: int,
    overflow: float, sharded: bool, fault: str, mode: str, struck: int, seed: int,
) -> None:  # fmt: skip
    """Stages sum to the step of every rank, nothing is negative, and steps follow each other without gap."""
    values = small_values(
        mesh__data=data, mesh__tensor=tensor, mesh__pipeline=stage_count, mesh__expert=data, data__workers=workers,
        schedule__micro_batches=batches, data__sequence_sigma=sigma, precision__overflow_share=overflow,
        schedule__name="interleaved" if interleaved and stage_count > 1 else "1f1b", gradients__sharded=sharded,
        checkpoint__every_steps=3, checkpoint__mode=mode, evaluation__every_steps=4, fault__rank=struck,
        **{f"fault__{fault}": 5.0},
    )  # fmt: skip
    run = simulate(values, seed=seed)
    at = run.log.instants
    assert (run.log.stage_ns.sum(axis=2) == durations(run)).all()
    assert (run.log.stage_ns >= 0).all()
    assert (run.log.injected_ns >= 0).all()
    assert (run.log.injected_ns <= run.log.stage_ns).all()
    assert (at[1:, state.STARTED] == at[:-1, state.FINISHED]).all()
    assert run.log.waited_for_ns.sum() == time_of(run, stages.STRAGGLER_WAIT).sum()


def test_the_same_seed_gives_the_same_run_and_another_seed_another() -> None:
    """Nothing depends on the clock, the process or the order of dictionaries."""
    one, again, other = (simulate(small_values(), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.log.operations["ended"], again.log.operations["ended"])
    assert not np.array_equal(one.log.operations["ended"], other.log.operations["ended"])


def test_a_fault_changes_nothing_before_it_strikes_and_no_draw_at_all() -> None:
    """The counterfactual is the same luck without the fault."""
    run, other = (simulate(small_values(fault__compute_factor=factor), seed=3) for factor in (2.0, 1.0))
    assert np.array_equal(run.log.operations["ended"][:4], other.log.operations["ended"][:4])
    assert not np.array_equal(run.log.operations["ended"][4], other.log.operations["ended"][4])
    for one, same in zip(run.draws, other.draws, strict=True):
        assert np.array_equal(one, same)


@pytest.mark.parametrize(("stage_count", "batches"), [(2, 4), (2, 8), (4, 4), (4, 16), (8, 8)])
def test_the_bubble_of_1f1b_is_that_of_the_formula(stage_count: int, batches: int) -> None:
    """(p - 1) / (m + p - 1) of the step on every stage, to the nanosecond."""
    run = simulate(small_values(**UNCONTENDED, mesh__pipeline=stage_count, schedule__micro_batches=batches), seed=1)
    bubble, step = time_of(run, stages.BUBBLE)[1:], durations(run)[1:]
    assert (bubble * (batches + stage_count - 1) == (stage_count - 1) * step).all()
    assert (time_of(run, stages.STRAGGLER_WAIT)[1:] == 0).all()


@pytest.mark.parametrize(("stage_count", "batches", "chunks"), [(2, 4, 2), (4, 8, 2), (4, 8, 4)])
def test_interleaving_divides_the_bubble_by_the_chunks(stage_count: int, batches: int, chunks: int) -> None:
    """(p - 1) / (v m + p - 1) of the step on every stage."""
    run = simulate(
        small_values(
            **UNCONTENDED, mesh__pipeline=stage_count, schedule__micro_batches=batches, schedule__chunks=chunks,
            schedule__name="interleaved",
        ), seed=1,
    )  # fmt: skip
    bubble, step = time_of(run, stages.BUBBLE)[1:], durations(run)[1:]
    assert (bubble * (chunks * batches + stage_count - 1) == (stage_count - 1) * step).all()


def spent(values: Values, name: str) -> float:
    """Seconds of one parameter in microseconds or bandwidth, as a plain number."""
    return float(values[name])


@pytest.mark.parametrize(("collective", "rounds"), [("all_reduce", 2), ("reduce_scatter", 1), ("all_to_all", 1)])
def test_a_ring_takes_what_the_formula_says(collective: str, rounds: int) -> None:
    """rounds (n - 1) hops and rounds (n - 1) / n of the bytes over the slowest link."""
    values = small_values(mesh__data=8, mesh__tensor=1, mesh__pipeline=2, mesh__ranks_per_host=4)
    mesh = mesh_of(values)
    cost = ring_cost(mesh, mesh.data_groups, values, collective=collective, size_bytes=1e9)
    # Eight members on two hosts of four: four rails, each with a network card.
    bandwidth = min(spent(values, "scale_up.gb_per_s"), 4 * spent(values, "scale_out.gb_per_s"))
    assert cost["bytes_ns"] == pytest.approx(rounds * 7 / 8 * 1e9 / bandwidth)
    assert cost["latency_ns"] == pytest.approx(rounds * 7 * spent(values, "scale_out.hop_us") * 1e3)


def test_the_simulation_spends_on_a_collective_what_its_link_takes() -> None:
    """The gather of parameters, uncovered by anything: its whole ring time on every rank."""
    values = small_values(**QUIET, mesh__data=4, mesh__tensor=1, mesh__pipeline=1, mesh__ranks_per_host=8)
    run = simulate(values, seed=1)
    size = 850e6 * 2
    expected_ns = 3 * 2.2e3 + 3 / 4 * size / 380
    at = run.log.instants
    assert np.abs((at[:, state.GATHERED] - at[:, state.OPTIMIZED]) - expected_ns).max() <= 1


def test_buckets_are_hidden_behind_the_last_backward_but_for_the_end() -> None:
    """With slow links the buckets queue; with fast ones only the last bucket is exposed."""
    usual = {"mesh__data": 4, "mesh__tensor": 1, "mesh__pipeline": 1, "gradients__sharded": False}
    run = simulate(small_values(**QUIET, **usual), seed=1)
    exposed = run.log.buckets["ended"][:, -1] - run.log.operations["ended"][:, -1]
    lengths = run.log.buckets["ended"] - run.log.buckets["begun"]
    assert (exposed == lengths[:, -1]).all()
    assert (exposed * 3 < lengths.sum(axis=1)).all()


def test_a_slow_accelerator_is_injected_and_waited_for() -> None:
    """Rank 1 computes twice as long in the steps struck; only it has injected time, and the others wait for it."""
    run = simulate(small_values(fault__compute_factor=2.0), seed=1)
    injected = run.log.injected_ns.sum(axis=2) > 0
    assert injected[4:8, 1].all()
    assert injected.sum() == 4
    half = time_of(run, stages.COMPUTE)[4:8, 1] / 2
    assert np.allclose(run.log.injected_ns[4:8, 1, stages.COMPUTE], half, rtol=1e-6)
    assert run.log.waited_for_ns[4:8].argmax(axis=1).tolist() == [1] * 4


def test_a_loader_with_room_hides_its_time_and_one_without_does_not() -> None:
    """Workers that are faster than a step are never waited for after the first batch; slower ones always."""
    fast = simulate(small_values(**QUIET), seed=1)
    slow = simulate(small_values(**QUIET, data__workers=1, data__decode_ms=3000.0), seed=1)
    fetch_ns = 600_000
    assert (time_of(fast, stages.DATA_LOAD)[1:, 0] == fetch_ns).all()
    period = np.diff(slow.log.instants[3:, state.LOADED, 0])
    assert (period == 3_000_000_000 + 64_000_000).all()


def test_overflowing_steps_are_skipped_whole() -> None:
    """No optimizer and no gather of parameters, but all the compute that is thrown away."""
    run = simulate(small_values(precision__overflow_share=0.5), seed=2)
    skipped, at = run.draws.calendar["is_overflow"], run.log.instants
    assert 0 < skipped.sum() < skipped.size
    assert (at[skipped, state.GATHERED] == at[skipped, state.NORMED]).all()
    assert (at[~skipped, state.OPTIMIZED] > at[~skipped, state.NORMED]).all()


def test_a_blocking_checkpoint_stalls_and_an_asynchronous_one_only_for_its_snapshot() -> None:
    """The write goes on beside later steps."""
    usual = {"checkpoint__every_steps": 5, "checkpoint__snapshot_ms": 100.0}
    blocking = simulate(small_values(**QUIET | usual, checkpoint__mode="blocking"), seed=1)
    beside = simulate(small_values(**QUIET | usual), seed=1)
    write_ns = 850e6 * 16 / 2 / 2
    assert np.allclose(time_of(blocking, stages.CHECKPOINT_SAVE)[4], write_ns)
    assert np.allclose(time_of(beside, stages.CHECKPOINT_SAVE)[4], 100e6)
    at = beside.log.instants[4]
    assert np.allclose(at[state.WRITE_ENDED] - at[state.WRITE_BEGUN], write_ns)


def test_longer_sequences_take_longer_and_nobody_is_injected() -> None:
    """A change of the workload is no fault."""
    run = simulate(small_values(change__sequence_factor=1.5), seed=1)
    compute = time_of(run, stages.COMPUTE).mean(axis=1)
    assert (compute[4:8] > 1.4 * compute[:4].mean()).all()
    assert not run.log.injected_ns.any()


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"mesh__ranks": 7}, "they must be equal"),
        ({"mesh__expert": 3}, "does not divide"),
        ({"mesh__tensor": 3}, "must divide the other"),
        ({"schedule__name": "interleaved", "schedule__micro_batches": 5}, "that mesh.pipeline"),
        ({"schedule__name": "interleaved", "mesh__pipeline": 1}, "2 or more"),
        ({"fault__compute_factor": 2, "fault__rank": 8}, "ranks 0 to 7"),
        ({"fault__compute_factor": 2, "fault__first_step": 10}, "lower fault.first_step"),
        ({"fault__expert_factor": 3, "mesh__expert": 2}, "needs mesh.expert"),
        ({"compute__forward_ms": -1}, "compute.forward_ms"),
    ],
)
def test_what_cannot_run_is_refused(overrides: dict[str, object], message: str) -> None:
    """The message names the parameters at odds."""
    with pytest.raises(UsageError, match=message):
        small_values(**overrides)


def test_the_simulation_is_compiled_once() -> None:
    """No configuration changes the types of its arrays: a second compilation would take as long as the first."""
    simulate(small_values(schedule__name="interleaved", mesh__data=4, mesh__expert=2, data__sequence_sigma=0.2), seed=1)
    simulate(small_values(mesh__data=1, mesh__tensor=1, mesh__pipeline=1, **QUIET), seed=1)
    # The wrapper that numba makes has this attribute, the plain function of the annotations has not.
    assert len(run_steps.signatures) == 1  # type: ignore[attr-defined]
