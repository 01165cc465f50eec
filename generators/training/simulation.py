"""From parameters and a seed to the finished run: when every rank did what in every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from generators.parameters import Values
from generators.seeds import stream
from generators.training import links, parameters, stages, state
from generators.training.kernel import run_steps
from generators.training.links import MEGABYTE
from generators.training.mesh import Mesh, mesh_of
from generators.training.parameters import number, real
from generators.training.schedule import BACKWARD, FORWARD, Schedule, schedule
from generators.training.state import BUCKET, OPERATION, WORK, Clock, Draws, Ideal, Log, Plan, Strikes, World
from generators.training.workload import NS_PER_MS, NS_PER_US, draw, strikes

IDEAL_STEPS = 4
"""Steps of the run without noise that gives the pipeline's own waiting; the last one counts."""


@dataclass(frozen=True)
class Run:
    """One simulated run, or some of its steps."""

    values: Values
    mesh: Mesh
    schedule: Schedule
    plan: Plan
    draws: Draws
    strikes: Strikes
    first_step: int
    log: Log

    @property
    def steps(self) -> np.ndarray:
        """Numbers of the steps."""
        return self.first_step + np.arange(self.draws.calendar.size)


def simulate(values: Values, *, seed: int) -> Run:
    """Run the training model with these parameter values; deterministic for a seed."""
    mesh = mesh_of(values)
    order = _schedule(mesh.pipeline, number(values, "schedule.micro_batches"), parameters.chunks(values))
    return _simulated(values, mesh, order, _ideal(values, mesh, order), seed)


def slices(run: Run, *, steps_each: int) -> Iterator[Run]:
    """The run cut into runs of so many steps."""
    for first in range(0, run.draws.calendar.size, steps_each):
        part = slice(first, first + steps_each)
        log = Log(*(column[part] for column in run.log))
        draws = Draws(*(column[part] for column in run.draws))
        struck = Strikes(*(column[part] for column in run.strikes))
        yield replace(run, log=log, draws=draws, strikes=struck, first_step=run.first_step + first)


@lru_cache(maxsize=32)
def _schedule(stage_count: int, micro_batches: int, chunks: int) -> Schedule:
    return schedule(stages=stage_count, micro_batches=micro_batches, chunks=chunks)


def _simulated(values: Values, mesh: Mesh, order: Schedule, ideal: Ideal, seed: int) -> Run:
    draws, plan = draw(values, mesh, order, seed=seed), _plan(values, mesh, order, seed)
    struck = strikes(values, mesh, seed=seed)
    log = _empty_log(mesh, order, steps=draws.calendar.size, buckets=number(values, "gradients.buckets"))
    run_steps(World(plan, draws, struck, ideal, log, _clock(mesh, plan)))
    return Run(values, mesh, order, plan, draws, struck, 0, log)


_QUIET = {
    "run.steps": IDEAL_STEPS, "compute.noise_sigma": 0.0, "compute.rank_sigma": 0.0, "links.sigma": 0.0,
    "data.sigma": 0.0, "data.sequence_sigma": 0.0, "storage.sigma": 0.0,
    "precision.overflow_share": 0.0, "change.sequence_factor": 1.0,
    "evaluation.every_steps": 0, "checkpoint.every_steps": 0, "host.pause_every_steps": 0,
}  # fmt: skip
"""What a run without noise and side work has in place of its own values."""


def _ideal(values: Values, mesh: Mesh, order: Schedule) -> Ideal:
    """The waiting of a run without noise, fault and side work: the pipeline's own."""
    quiet = parameters.without_fault(values) | _QUIET
    nothing = Ideal(np.zeros((order.program.shape[1], mesh.count), np.int64), np.zeros(mesh.count, np.int64))
    log = _simulated(quiet, mesh, order, nothing, 0).log
    return Ideal(np.ascontiguousarray(log.operations["waited"][-1]), log.instants[-1, state.CLOSING_WAIT])


def _empty_log(mesh: Mesh, order: Schedule, *, steps: int, buckets: int) -> Log:
    ranks, places = mesh.count, order.program.shape[1]
    return Log(
        operations=np.zeros((steps, places, ranks), OPERATION),
        buckets=np.zeros((steps, buckets, ranks), BUCKET),
        instants=np.zeros((steps, state.INSTANTS, ranks), np.int64),
        stage_ns=np.zeros((steps, ranks, stages.COUNT), np.int64),
        injected_ns=np.zeros((steps, ranks, stages.COUNT), np.int64),
        planned_ns=np.zeros((steps, ranks), np.int64),
        waited_for_ns=np.zeros((steps, ranks), np.int64),
    )


def _clock(mesh: Mesh, plan: Plan) -> Clock:
    def start(*shape: int) -> np.ndarray:
        """Zero: the start of the run."""
        return np.zeros((mesh.count, *shape), np.int64)

    return Clock(
        now=start(), posted=start(), worker_free=start(plan.workers), taken=start(plan.depth), write_free=start()
    )


def _plan(values: Values, mesh: Mesh, order: Schedule, seed: int) -> Plan:
    workers, own = number(values, "data.workers"), _speeds(values, mesh, seed)
    return Plan(
        program=order.program,
        source=order.source,
        order=order.order,
        tensor_groups=mesh.tensor_groups,
        expert_groups=mesh.expert_groups,
        data_groups=mesh.data_groups,
        world_groups=mesh.world_groups,
        replica=mesh.replica,
        **_costs(values, mesh),
        work=_work(values, mesh, own),
        optimizer_ns=real(values, "compute.optimizer_ms") * NS_PER_MS * own,
        loads=(mesh.stage == 0) | (mesh.stage == mesh.pipeline - 1),
        workers=workers,
        depth=workers * number(values, "data.prefetch"),
        fetch_ns=round(real(values, "data.fetch_ms") * NS_PER_MS),
        copy_ns=real(values, "data.copy_mb") * MEGABYTE / real(values, "host.copy_gb_per_s"),
        launch_ns=round(real(values, "host.launch_us") * NS_PER_US),
        pause_ns=round(real(values, "host.pause_ms") * NS_PER_MS),
        evaluation_ns=real(values, "evaluation.duration_ms") * NS_PER_MS,
        snapshot_ns=real(values, "checkpoint.snapshot_ms") * NS_PER_MS,
        write_ns=saved_bytes(values, mesh) / real(values, "storage.write_gb_per_s"),
        is_async=values["checkpoint.mode"] == "async",
        is_sharded=bool(values["gradients.sharded"]),
    )


def _speeds(values: Values, mesh: Mesh, seed: int) -> np.ndarray:
    """How long each rank computes as a multiple of the planned time: the accelerator's own, and its stage's."""
    sigma = real(values, "compute.rank_sigma")
    own = np.exp(stream(seed, "training.ranks").normal(0.0, sigma, mesh.count)) if sigma else np.ones(mesh.count)
    return own * np.where(mesh.stage == mesh.pipeline - 1, real(values, "compute.last_stage_factor"), 1.0)


def _work(values: Values, mesh: Mesh, own: np.ndarray) -> np.ndarray:
    """Planned compute of one operation by direction and rank (WORK)."""
    forward_ns = real(values, "compute.forward_ms") * NS_PER_MS / parameters.chunks(values)
    whole_ns = forward_ns * np.array([[1.0], [real(values, "compute.backward_ratio")]]) * own
    inside = real(values, "compute.expert_share") if mesh.expert > 1 else 0.0
    work = np.zeros(whole_ns.shape, WORK)
    work["compute_ns"], work["expert_ns"] = whole_ns * (1 - inside), whole_ns * inside
    return work


def transfer_bytes(values: Values, mesh: Mesh) -> dict[str, float]:
    """Bytes that each kind of transfer has for one rank, for a micro-batch of the planned tokens."""
    trained = real(values, "model.rank_parameters_m") * MEGABYTE * real(values, "model.trainable_share")
    chunk_count = parameters.chunks(values)
    return {
        "tensor": real(values, "model.tensor_mb") * MEGABYTE / chunk_count,
        "expert": real(values, "model.expert_mb") * MEGABYTE / chunk_count,
        "bucket": trained * number(values, "model.gradient_bytes") / number(values, "gradients.buckets"),
        "gather": trained * number(values, "model.parameter_bytes"),
        "world": 4.0,
        "input": real(values, "model.activation_mb") * MEGABYTE,
    }


def saved_bytes(values: Values, mesh: Mesh) -> float:
    """Bytes of a checkpoint that one rank saves; replicas share the work."""
    trained = real(values, "model.rank_parameters_m") * MEGABYTE * real(values, "model.trainable_share")
    return trained * number(values, "model.state_bytes") / mesh.data


def reduces_with(values: Values) -> str:
    """The collective that reduces gradients."""
    return "reduce_scatter" if values["gradients.sharded"] else "all_reduce"


def _costs(values: Values, mesh: Mesh) -> dict[str, np.ndarray]:
    """What each kind of transfer costs, by its name in the plan."""
    size = transfer_bytes(values, mesh)

    def ring(groups: np.ndarray, collective: str, kind: str) -> np.ndarray:
        """Cost in every group."""
        return links.ring_cost(mesh, groups, values, collective=collective, size_bytes=size[kind])

    return {
        "tensor_cost": ring(mesh.tensor_groups, "all_reduce", "tensor"),
        "expert_cost": ring(mesh.expert_groups, "all_to_all", "expert"),
        "bucket_cost": ring(mesh.data_groups, reduces_with(values), "bucket"),
        "gather_cost": ring(mesh.data_groups, "all_gather", "gather"),
        "world_cost": links.tree_cost(mesh, mesh.world_groups, values),
        "input_cost": _input_cost(values, mesh, size["input"]),
    }


def senders(mesh: Mesh) -> np.ndarray:
    """Direction x receiving rank: whose output is the input, the pipeline closed to a ring."""
    ranks, whole = np.arange(mesh.count), mesh.count
    pairs = {FORWARD: (ranks - mesh.stage_ranks) % whole, BACKWARD: (ranks + mesh.stage_ranks) % whole}
    return np.stack([pairs[FORWARD], pairs[BACKWARD]])


def _input_cost(values: Values, mesh: Mesh, size_bytes: float) -> np.ndarray:
    receiver = np.broadcast_to(np.arange(mesh.count), (2, mesh.count))
    return links.pair_cost(mesh, senders(mesh), receiver, values, size_bytes=size_bytes)
