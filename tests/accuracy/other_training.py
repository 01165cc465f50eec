"""A second world of training steps, made with other choices than `generators`, and sharing nothing with it.

Ranks are rows of arrays, time runs event by event: what a rank does next starts when it is free, and a collective ends
on all its ranks when the last has come and the transfer is done. Spans have plain shapes: one trace a rank and step,
work between steps outside any step, file lines of OTLP/JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MS = 1_000_000
START_NS = 1_790_000_000_000_000_000

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Fault:
    """What is done to whom: `kind` slows ranks, `factor` times or by `extra_ms`, in the steps `first` to `last`.

    `every`: only each so many steps. Kinds: `compute`, `load`, `save`, `gc` (after the step), `pause` (after the step,
    without any span), `link` (the transfer of every collective that `groups` name, and of those across hosts in which
    any of `ranks` takes part).
    """

    kind: str
    ranks: tuple[int, ...] = ()
    factor: float = 1.0
    extra_ms: float = 0.0
    first: int = 0
    last: int = 1_000_000
    every: int = 1
    groups: tuple[str, ...] = ()

    def strikes(self, step: int) -> bool:
        """Whether it is on in a step."""
        return self.first <= step <= self.last and (step - self.first) % self.every == 0


@dataclass(frozen=True)
class World:
    """A job: its size, what its steps take in milliseconds, what it does besides, how it tells, and its faults."""

    steps: int = 80
    dp: int = 8
    tp: int = 1
    pp: int = 1
    ranks_per_host: int = 4
    compute_ms: float = 60.0
    load_ms: float = 4.0
    transfer_ms: float = 5.0
    buckets: int = 3
    micro_batches: int = 4
    noise: float = 0.01
    differ: float = 0.002
    overlaps: bool = False
    barrier: bool = False
    save_every: int = 0
    save_ms: float = 300.0
    eval_every: int = 0
    eval_ms: float = 200.0
    eval_ranks: tuple[int, ...] = ()
    gc_share: float = 0.0
    gc_ms: float = 40.0
    skew_ms: float = 0.0
    tells_host: bool = True
    tells_attempt: bool = True
    faults: tuple[Fault, ...] = ()
    seed: int = 1

    @property
    def ranks(self) -> int:
        """Ranks of the job: tensor parallel ones beside each other, then data parallel ones, then stages."""
        return self.dp * self.tp * self.pp


@dataclass(eq=False)
class _Life:
    """The state of a run: when each rank is free, and the spans so far, a list a rank."""

    world: World
    draw: np.random.Generator
    level: Array
    free: Array
    spans: list[list[tuple[str, str, float, float, int | None, dict[str, Any]]]]
    sequence: dict[str, int] = field(default_factory=dict)

    def work(self, rank: int, name: str, stage: str, ms: float, step: int | None) -> None:
        """A span of a rank that starts when it is free."""
        start = self.free[rank]
        self.free[rank] = start + ms
        self.spans[rank].append((name, stage, start, start + ms, step, {}))

    def meet(self, ranks: list[int], ready: Array, group: str, kind: str, ms: float, step: int) -> Array:
        """A collective; returns when it ends on each rank, and leaves `free` alone."""
        is_across = len({rank // self.world.ranks_per_host for rank in ranks}) > 1
        for fault in self.world.faults:
            if fault.kind == "link" and fault.strikes(step):
                is_struck = group in fault.groups or (is_across and set(ranks) & set(fault.ranks))
                ms = ms * fault.factor if is_struck else ms
        end = ready.max() + ms * np.exp(self.draw.normal(0, self.world.noise))
        ends = end + self.draw.uniform(0, 0.02, len(ranks))
        number = self.sequence[group] = self.sequence.get(group, 0) + 1
        told = {"name": kind, "group": group, "seq": number, "bytes": 25_000_000}
        for rank, start, stop in zip(ranks, ready, ends, strict=True):
            self.spans[rank].append((kind, "collective", start, stop, step, told))
        return ends


def place(world: World, rank: int) -> tuple[int, int, int]:
    """Tensor, data and pipeline coordinate of a rank."""
    return rank % world.tp, rank // world.tp % world.dp, rank // (world.tp * world.dp)


def run(world: World, folder: Path) -> Path:
    """Live through the job and write what it sent; returns the file."""
    draw = np.random.default_rng(world.seed)
    count = world.ranks
    life = _Life(world, draw, np.exp(draw.normal(0, world.differ, count)), np.zeros(count), [[] for _ in range(count)])
    for step in range(world.steps):
        _step(life, step)
        _between(life, step)
    return _written(life, folder)


def _slowed(life: _Life, kind: str, rank: int, step: int, ms: float) -> float:
    for fault in life.world.faults:
        if fault.kind == kind and rank in fault.ranks and fault.strikes(step):
            ms = ms * fault.factor + fault.extra_ms
    return ms


def _compute_ms(life: _Life, rank: int, step: int, ms: float) -> float:
    return _slowed(life, "compute", rank, step, ms * life.level[rank] * np.exp(life.draw.normal(0, life.world.noise)))


def _step(life: _Life, step: int) -> None:
    world, begun = life.world, life.free.copy()
    warm = 3.0 if step == 0 else 1.0
    for rank in range(world.ranks):
        load = world.load_ms * np.exp(life.draw.normal(0, 0.05))
        life.work(rank, "next_batch", "data_load", _slowed(life, "load", rank, step, load), step)
    if world.pp > 1:
        _pipeline(life, step, warm)
    elif world.tp > 1:
        _tensor(life, step, warm)
    else:
        _forward(life, step, warm)
    _reduce(life, step, warm)
    for rank in range(world.ranks):
        life.work(rank, "adamw", "optimizer", 0.05 * world.compute_ms * np.exp(life.draw.normal(0, 0.02)), step)
        life.spans[rank].append(("train_step", "step", begun[rank], life.free[rank], step, {}))


def _forward(life: _Life, step: int, warm: float) -> None:
    for rank in range(life.world.ranks):
        life.work(rank, "fwd", "forward", _compute_ms(life, rank, step, warm * life.world.compute_ms / 3), step)


def _tensor(life: _Life, step: int, warm: float) -> None:
    """Four layers forward, each ended by an all-reduce of the tensor parallel group."""
    world = life.world
    groups = [list(range(first, first + world.tp)) for first in range(0, world.ranks, world.tp)]
    for _ in range(4):
        for group in groups:
            for rank in group:
                ms = _compute_ms(life, rank, step, warm * world.compute_ms / 12)
                life.work(rank, "layer", "forward", ms, step)
            name = f"tp-{group[0] // world.tp}"
            life.free[group] = life.meet(group, life.free[group], name, "all_reduce", 0.4, step)


def _pipeline(life: _Life, step: int, warm: float) -> None:
    """All micro-batches forward, then all backward; stages hand over by a rendezvous."""
    world, width = life.world, life.world.tp * life.world.dp
    for stages, name, part in ((range(world.pp), "fwd", 1 / 3), (range(world.pp)[::-1], "bwd", 2 / 3)):
        for _ in range(world.micro_batches):
            for stage in stages:
                for lane in range(width):
                    rank = stage * width + lane
                    ms = _compute_ms(life, rank, step, warm * world.compute_ms * part / world.micro_batches)
                    life.work(rank, name, "forward" if name == "fwd" else "backward", ms, step)
                    then = stage + (1 if name == "fwd" else -1)
                    if 0 <= then < world.pp:
                        pair = [rank, then * width + lane]
                        ends = life.meet(pair, life.free[pair], f"pp-{min(pair)}-{max(pair)}", "send_recv", 0.5, step)
                        life.free[pair] = ends


def _reduce(life: _Life, step: int, warm: float) -> None:
    """Backward in buckets, each reduced over the data parallel ranks: at once, or while the next computes."""
    world = life.world
    lanes = [[rank for rank in range(world.ranks) if place(world, rank)[::2] == key] for key in _lanes(world)]
    for number, group in enumerate(lanes):
        busy = life.free[group].copy()
        for _ in range(world.buckets if world.pp == 1 else 1):
            if world.pp == 1:
                for rank in group:
                    ms = _compute_ms(life, rank, step, warm * world.compute_ms * 2 / 3 / world.buckets)
                    life.work(rank, "bwd", "backward", ms, step)
            ready = np.maximum(life.free[group], busy) if world.overlaps else life.free[group]
            busy = life.meet(group, ready, f"dp-{number}", "all_reduce", world.transfer_ms / world.buckets, step)
            if not world.overlaps:
                life.free[group] = busy
        life.free[group] = np.maximum(life.free[group], busy)


def _lanes(world: World) -> list[tuple[int, int]]:
    return [(tensor, stage) for stage in range(world.pp) for tensor in range(world.tp)]


def _between(life: _Life, step: int) -> None:
    """What ranks do after a step: evaluation on all, the save on rank 0, collections, and what nobody tells."""
    world = life.world
    if world.eval_every and step % world.eval_every == world.eval_every - 1:
        for rank in world.eval_ranks or range(world.ranks):
            life.work(rank, "evaluate", "custom", world.eval_ms * np.exp(life.draw.normal(0, 0.01)), None)
    if world.save_every and step % world.save_every == world.save_every - 1:
        life.work(0, "save_checkpoint", "checkpoint_save", _slowed(life, "save", 0, step, world.save_ms), None)
    for rank in range(world.ranks):
        collects = life.draw.random() < world.gc_share
        ms = _slowed(life, "gc", rank, step, world.gc_ms * life.draw.uniform(0.7, 1.3) if collects else 0.0)
        if ms:
            life.work(rank, "gc.collect", "step.host_bound", ms, None)
        life.free[rank] += 0.2 + _slowed(life, "pause", rank, step, 0.0)
    if world.barrier:
        everyone = list(range(world.ranks))
        life.free[:] = life.meet(everyone, life.free, "world", "barrier", 0.1, step)


def _written(life: _Life, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    world = life.world
    hosts = -(-world.ranks // world.ranks_per_host)
    skew = life.draw.uniform(-world.skew_ms / 2, world.skew_ms / 2, hosts)
    path = folder / "traces.jsonl"
    with path.open("w", encoding="utf-8") as file:
        for rank, spans in enumerate(life.spans):
            shift = skew[rank // world.ranks_per_host] if world.skew_ms else 0.0
            told = [_span(rank, at, shift, *span) for at, span in enumerate(spans)]
            resource = {"attributes": _attributes(_resource(world, rank))}
            scoped = [{"scope": {"name": "loop"}, "spans": told}]
            file.write(json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": scoped}]}) + "\n")
    return path


def _resource(world: World, rank: int) -> dict[str, Any]:
    tensor, data, stage = place(world, rank)
    told: dict[str, Any] = {
        "service.name": "pretrain", "tracekit.job.id": "other", "tracekit.rank": rank,
        "tracekit.world_size": world.ranks, "tracekit.parallel.dp": data,
    }  # fmt: skip
    if world.tp > 1:
        told["tracekit.parallel.tp"] = tensor
    if world.pp > 1:
        told["tracekit.parallel.pp"] = stage
    if world.tells_attempt:
        told["tracekit.attempt"] = 0
    if world.tells_host:
        told["host.name"] = f"box{rank // world.ranks_per_host:02d}"
    return told


def _span(
    rank: int, at: int, shift: float, name: str, stage: str, start: float, end: float, step: int | None,
    collective: dict[str, Any],
) -> dict[str, Any]:  # fmt: skip
    told: dict[str, Any] = {"tracekit.stage": stage}
    if step is not None:
        told["tracekit.step"] = step
    told |= {f"tracekit.collective.{key}": value for key, value in collective.items()}
    trace = f"{rank + 1:08x}{0 if step is None else step + 1:024x}"
    return {
        "traceId": trace, "spanId": f"{rank + 1:06x}{at + 1:010x}", "name": name, "kind": 1,
        "startTimeUnixNano": str(START_NS + round((start + shift) * MS)),
        "endTimeUnixNano": str(START_NS + round((end + shift) * MS)),
        "attributes": _attributes(told),
    }  # fmt: skip


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}
        for key, value in values.items()
    ]
