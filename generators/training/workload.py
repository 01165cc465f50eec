"""Everything random of a training run, drawn before it starts, and its calendar of evaluations and checkpoints.

Each purpose has a random stream of its own, and none depends on `fault.*`: the counterfactual has the same luck.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from generators.parameters import Values
from generators.seeds import stream
from generators.training.links import MEGABYTE
from generators.training.mesh import Mesh, struck_ranks
from generators.training.parameters import number, real
from generators.training.schedule import Schedule
from generators.training.state import CALENDAR, LUCK, RANK_LUCK, STRIKE, Draws, Strikes

NS_PER_US, NS_PER_MS, NS_PER_S = 1_000, 1_000_000, 1_000_000_000


def draw(values: Values, mesh: Mesh, plan: Schedule, *, seed: int) -> Draws:
    """All draws of a run."""
    steps, places, ranks = number(values, "run.steps"), plan.program.shape[1], mesh.count
    stages, buckets = mesh.pipeline, number(values, "gradients.buckets")
    links, batches = real(values, "links.sigma"), number(values, "schedule.micro_batches")

    def luck(purpose: str, sigma: float, *shape: int) -> np.ndarray:
        """Factors around 1."""
        return np.exp(stream(seed, f"training.{purpose}").normal(0.0, sigma, shape)) if sigma else np.ones(shape)

    return Draws(
        operations=_structured(
            LUCK,
            compute=luck("compute", real(values, "compute.noise_sigma"), steps, places, ranks),
            input=luck("input", links, steps, places, ranks),
        ),
        tensor=luck("tensor", links, steps, stages, places, mesh.tensor_groups.shape[1]),
        expert=luck("expert", links, steps, stages, places, 2, mesh.expert_groups.shape[1]),
        bucket=luck("bucket", links, steps, stages, buckets + 1, mesh.data_groups.shape[1]),
        world=luck("world", links, steps, 3, 1),
        ranks=_rank_luck(values, luck, (steps, ranks)),
        tokens=_tokens(values, luck("tokens", real(values, "data.sequence_sigma"), steps, mesh.data, batches)),
        calendar=_calendar(values, steps, seed),
    )


def _structured(kind: np.dtype, **columns: np.ndarray) -> np.ndarray:
    """A structured array of columns of one shape."""
    rows = np.zeros(next(iter(columns.values())).shape, kind)
    for name, column in columns.items():
        rows[name] = column
    return rows


def _rank_luck(values: Values, luck: Callable[..., np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """What is drawn for each step and rank."""
    noise, data = real(values, "compute.noise_sigma"), real(values, "data.sigma")
    read_ns = real(values, "data.batch_mb") * MEGABYTE / real(values, "storage.read_gb_per_s")
    return _structured(
        RANK_LUCK,
        read_ns=read_ns * luck("read", data, *shape),
        decode_ns=real(values, "data.decode_ms") * NS_PER_MS * luck("decode", data, *shape),
        optimizer=luck("optimizer", noise, *shape),
        save=luck("save", real(values, "storage.sigma"), *shape),
        evaluation=luck("evaluation", noise, *shape),
    )


def _tokens(values: Values, factors: np.ndarray) -> np.ndarray:
    """Log-normal sizes with a mean of 1: more spread does not mean more work."""
    return factors / np.exp(real(values, "data.sequence_sigma") ** 2 / 2)


def _calendar(values: Values, steps: int, seed: int) -> np.ndarray:
    """What happens in each step."""
    first, change = number(values, "change.first_step"), np.ones(steps)
    change[first : first + number(values, "change.steps")] = real(values, "change.sequence_factor")
    return _structured(
        CALENDAR,
        change=change,
        is_overflow=_overflows(values, steps, seed),
        pauses=_every(values, "host.pause_every_steps", steps),
        evaluates=_every(values, "evaluation.every_steps", steps),
        saves=_every(values, "checkpoint.every_steps", steps),
    )


def _every(values: Values, name: str, steps: int) -> np.ndarray:
    """In which steps something that happens every so many steps happens."""
    every = number(values, name)
    return (np.arange(1, steps + 1) % every == 0) if every else np.zeros(steps, bool)


def _overflows(values: Values, steps: int, seed: int) -> np.ndarray:
    chance = stream(seed, "training.overflow").random(steps)
    by_fault = struck_steps(values, seed=seed) * real(values, "fault.overflow_share")
    return chance < np.maximum(real(values, "precision.overflow_share"), by_fault)


def struck_steps(values: Values, *, seed: int) -> np.ndarray:
    """Which steps the fault strikes."""
    steps, first = number(values, "run.steps"), number(values, "fault.first_step")
    place = np.arange(steps)
    inside = (place >= first) & (place < first + number(values, "fault.steps"))
    return inside & (stream(seed, "training.struck").random(steps) < real(values, "fault.step_share"))


def strikes(values: Values, mesh: Mesh, *, seed: int) -> Strikes:
    """What the fault does in each step to each rank."""
    steps = struck_steps(values, seed=seed)
    rank = struck_ranks(mesh, values)
    on_host = np.isin(mesh.host, mesh.host[rank])
    everyone = np.ones(mesh.count, bool)

    def factor(struck: np.ndarray, times: float | np.ndarray) -> np.ndarray:
        """The factor where it strikes, else 1."""
        return np.where(steps[:, None] & struck, times, 1.0)

    def extra_ns(struck: np.ndarray, name: str, unit: int) -> np.ndarray:
        """Extra time where it strikes, else 0."""
        return (steps[:, None] & struck) * round(real(values, name) * unit)

    stage = mesh.stage == number(values, "fault.stage") % mesh.pipeline
    compute = factor(rank, real(values, "fault.compute_factor")) * factor(stage, real(values, "fault.stage_factor"))
    rows = _structured(
        STRIKE,
        compute=compute,
        experts=factor(everyone, _expert_shares(values, mesh)),
        loader=factor(rank, real(values, "fault.loader_factor")),
        copy=factor(rank, real(values, "fault.copy_factor")),
        storage=factor(everyone, real(values, "fault.storage_factor")),
        launch_ns=extra_ns(on_host, "fault.launch_us", NS_PER_US),
        pause_ns=extra_ns(rank, "fault.pause_ms", NS_PER_MS),
        save_ns=extra_ns(rank, "fault.save_delay_ms", NS_PER_MS),
    )
    return Strikes(steps, rows)


def _expert_shares(values: Values, mesh: Mesh) -> np.ndarray:
    """Tokens that the experts of each rank get, as a multiple of an even share; each group keeps its tokens."""
    hot, shares = real(values, "fault.expert_factor"), np.ones(mesh.count)
    if hot == 1:
        return shares
    rank = np.flatnonzero(struck_ranks(mesh, values))[0]
    groups = mesh.expert_groups.reshape(-1, mesh.expert)
    group = groups[(groups == rank).any(axis=1)][0]
    shares[group] = (mesh.expert - hot) / (mesh.expert - 1)
    shares[rank] = hot
    return shares
