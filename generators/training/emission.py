"""The run as spans of tracekit's own convention: one trace a step, a root for each rank, its work below it.

Every rank knows job and step, so all derive the same trace id. A collective is one span on each rank that takes
part, from the rank's arrival to the end of the transfer; group and sequence number say which belong together.
Whoever came last is left to the reader.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.seeds import identifiers
from generators.spans import INTERNAL, Emission, Optional, Scalar, SpanGroup
from generators.training import state
from generators.training.parameters import number
from generators.training.schedule import NO_INPUT
from generators.training.simulation import Run, reduces_with, senders, transfer_bytes
from generators.training.workload import NS_PER_S

SCOPE = "trainer"
DIRECTIONS = ("forward", "backward")
WORLD_COLLECTIVES = 3

Values = dict[str, Scalar | np.ndarray]


@dataclass(frozen=True)
class Sketch:
    """A run on its way to spans: absolute time, ids of the step spans (step x rank)."""

    run: Run
    seed: int
    origin_ns: int
    root_ids: np.ndarray

    def group(
        self, name: str, stage: str, begun: np.ndarray, ended: np.ndarray, *, present: np.ndarray | bool = True,
        rank: np.ndarray | None = None, key: str | None = None, attributes: Values | None = None,
    ) -> SpanGroup:  # fmt: skip
        """Spans between two instants, arrays whose axes begin with steps and end with ranks; none where empty.

        `present` and arrays among the attributes are broadcast to these axes; `rank` says whose spans they are,
        `key` tells apart groups of one name.
        """
        chosen = (ended > begun) & present
        step, last = np.nonzero(chosen)[0], np.nonzero(chosen)[-1]
        owner = last if rank is None else np.broadcast_to(rank, chosen.shape)[chosen]
        columns = {
            name: np.broadcast_to(value, chosen.shape)[chosen] if isinstance(value, np.ndarray) else value
            for name, value in (attributes or {}).items()
        }
        return SpanGroup(
            name, SCOPE, INTERNAL, owner, step, identifiers(self.seed, f"span_ids.{key or name}", owner.size),
            self.root_ids[step, owner], self.origin_ns + begun[chosen], self.origin_ns + ended[chosen],
            attributes={"tracekit.stage": stage, "tracekit.step": self.run.steps[step], **columns},
        )  # fmt: skip


def emission(run: Run, *, seed: int) -> Emission:
    """The run's spans; rank r is resource r."""
    count, ranks = run.draws.calendar.size, run.mesh.count
    roots = identifiers(seed, "span_ids.step", count * ranks).reshape(count, ranks)
    plan = Sketch(run, seed, number(run.values, "run.start_unix_s") * NS_PER_S, roots)
    high, low = (identifiers(seed, f"trace_ids.{half}", count) for half in ("high", "low"))
    groups = [*_operations(plan), *_transfers(plan), *_buckets(plan), *_step_parts(plan), _step(plan)]
    return Emission(tuple(rank_resources(run)), high, low, ()).with_groups(groups)


def rank_resources(run: Run) -> list[dict[str, Scalar]]:
    """The process of each rank: its job, place in the mesh, host and accelerator."""
    mesh, job = run.mesh, str(run.values["run.job"])
    return [
        {
            "service.name": "trainer", "service.instance.id": f"{job}-{rank}", "host.name": host_name(mesh.host[rank]),
            "tracekit.job.id": job, "tracekit.attempt": 0, "tracekit.rank": rank, "tracekit.world_size": mesh.count,
            "tracekit.parallel.dp": int(mesh.replica[rank]), "tracekit.parallel.tp": int(mesh.shard[rank]),
            "tracekit.parallel.pp": int(mesh.stage[rank]),
            "tracekit.parallel.ep": int(mesh.replica[rank] % mesh.expert),
            "hw.id": accelerator(run, rank), "hw.type": "gpu",
        }
        for rank in range(mesh.count)
    ]  # fmt: skip


def accelerator(run: Run, rank: int) -> str:
    """The id of a rank's accelerator."""
    return f"{host_name(run.mesh.host[rank])}-gpu-{run.mesh.rail[rank]}"


def host_name(host: int) -> str:
    """Name of a host by its number."""
    return f"node-{host}"


def _step(plan: Sketch) -> SpanGroup:
    """The root of each rank in each step; it says when gradients overflowed, as the loss scaler does."""
    instants = plan.run.log.instants
    shape = plan.root_ids.shape
    begun, ended = instants[:, state.STARTED].ravel(), instants[:, state.FINISHED].ravel()
    step, rank = (index.ravel() for index in np.indices(shape))
    overflow = plan.run.draws.calendar["is_overflow"][step]
    return SpanGroup(
        "step", SCOPE, INTERNAL, rank, step, plan.root_ids.ravel(), np.zeros(step.size, np.uint64),
        plan.origin_ns + begun, plan.origin_ns + ended,
        attributes={
            "tracekit.stage": "step", "tracekit.step": plan.run.steps[step],
            "optimizer.overflow": Optional(overflow, overflow),
        },
    )  # fmt: skip


def _by_rank(run: Run, axis: int) -> np.ndarray:
    """Column of the schedule's program for each place and rank."""
    return run.schedule.program[run.mesh.stage, :, axis].T


def _operations(plan: Sketch) -> list[SpanGroup]:
    """Copies, forwards and backwards of micro-batches, and the part of them inside experts."""
    run, done = plan.run, plan.run.log.operations
    direction = _by_rank(run, 0)
    micro_batch: Values = {"tracekit.microbatch": _by_rank(run, 2)}
    groups = [plan.group("copy", "copy", done["begun"], done["copied"], attributes=micro_batch)]
    for number_of, name in enumerate(DIRECTIONS):
        mine = direction == number_of
        groups += [
            plan.group(name, name, done["copied"], done["computed"], present=mine, attributes=micro_batch),
            plan.group(
                f"{name} experts",
                name,
                done["dispatched"],
                done["routed"],
                present=mine,
                attributes=micro_batch,
            ),
        ]
    return groups


def _collective(name: str, group: np.ndarray | str, seq: np.ndarray, size: np.ndarray | int) -> Values:
    """What a span says of the collective that it is a part of."""
    return {
        "tracekit.collective.name": name, "tracekit.collective.group": group, "tracekit.collective.seq": seq,
        "tracekit.collective.bytes": size,
    }  # fmt: skip


def group_names(run: Run) -> dict[str, np.ndarray]:
    """Name of the tensor, expert and data group of each rank."""
    mesh = run.mesh
    kinds = {"tensor": mesh.tensor_groups, "expert": mesh.expert_groups, "data": mesh.data_groups}
    names = {}
    for kind, groups in kinds.items():
        names[kind] = np.empty(mesh.count, object)
        for stage, row in enumerate(groups):
            for place, members in enumerate(row):
                names[kind][members] = f"{kind}.{stage}.{place}"
    return names


def _transfers(plan: Sketch) -> list[SpanGroup]:
    """Collectives and messages of each micro-batch."""
    run, done, names = plan.run, plan.run.log.operations, group_names(plan.run)
    places = done["ended"].shape[1]
    seq = (run.steps[:, None] * places + np.arange(places))[:, :, None]
    size = _sizes(run)
    whole: Values = {"tracekit.microbatch": _by_rank(run, 2)}

    def experts(turn: int) -> Values:
        """Dispatch or combine."""
        return whole | _collective("all_to_all", names["expert"], 2 * seq + turn, size["expert"])

    return [
        plan.group("all_to_all", "collective", done["computed"], done["dispatched"], key="dispatch",
                   attributes=experts(0)),
        plan.group("all_to_all", "collective", done["routed"], done["combined"], key="combine", attributes=experts(1)),
        plan.group("all_reduce", "collective", done["combined"], done["ended"], key="tensor",
                   attributes=whole | _collective("all_reduce", names["tensor"], seq, size["tensor"])),
        *_messages(plan, size["input"]),
    ]  # fmt: skip


def _sizes(run: Run) -> dict[str, np.ndarray]:
    """Bytes of each micro-batch's transfers by step, place and rank."""
    replica, batch = run.mesh.replica, _by_rank(run, 2)
    tokens = run.draws.tokens[:, replica, batch] * run.draws.calendar["change"][:, None, None]
    plain = transfer_bytes(run.values, run.mesh)
    group = tokens.reshape(*tokens.shape[:2], run.mesh.pipeline, -1, run.mesh.expert, run.mesh.tensor)
    largest = np.broadcast_to(group.max(axis=4, keepdims=True), group.shape).reshape(tokens.shape)
    sizes = {"tensor": tokens, "input": tokens, "expert": largest}
    return {kind: np.rint(plain[kind] * factor).astype(np.int64) for kind, factor in sizes.items()}


def _messages(plan: Sketch, size: np.ndarray) -> list[SpanGroup]:
    """Both ends of the messages between pipeline stages."""
    run, done, mesh = plan.run, plan.run.log.operations, plan.run.mesh
    direction, places = _by_rank(run, 0), done["ended"].shape[1]
    source = run.schedule.source[mesh.stage].transpose(1, 0, 2)
    sender = senders(mesh)[direction, np.arange(mesh.count)]
    is_sent = source[:, :, 0] != NO_INPUT
    sent = done["ended"][:, np.where(is_sent, source[:, :, 1], 0), sender]
    seq = run.steps[:, None, None] * places + run.schedule.sequence[mesh.stage].T
    pairs = np.array([[f"{way}.{a}-{b}" for b, a in enumerate(row)]
                      for way, row in zip(DIRECTIONS, senders(mesh), strict=True)], object)  # fmt: skip
    told: Values = {"tracekit.microbatch": _by_rank(run, 2)}
    told |= _collective("send_recv", pairs[direction, np.arange(mesh.count)], seq, size)
    moved = (done["arrived"] > sent) & is_sent
    return [
        plan.group("recv", "collective", done["posted"], done["arrived"], present=moved, attributes=told),
        plan.group("send", "collective", sent, done["arrived"], present=moved, rank=sender, attributes=told),
    ]


def _buckets(plan: Sketch) -> list[SpanGroup]:
    """Gradients, a bucket at a time."""
    run, log = plan.run, plan.run.log
    count = log.buckets["begun"].shape[1]
    seq = (run.steps[:, None] * count + np.arange(count))[:, :, None]
    size = round(transfer_bytes(run.values, run.mesh)["bucket"])
    told = _collective(reduces_with(run.values), group_names(run)["data"], seq, size)
    begun, ended = log.buckets["begun"], log.buckets["ended"]
    is_shared = run.mesh.data > 1
    return [
        plan.group(
            reduces_with(run.values), "collective", begun, ended, present=is_shared, attributes=told, key="bucket"
        )
    ]


def _step_parts(plan: Sketch) -> list[SpanGroup]:
    """What each rank does once a step, in its order."""
    run, at = plan.run, plan.run.log.instants.transpose(1, 0, 2)
    step, sizes = run.steps[:, None], transfer_bytes(run.values, run.mesh)

    def agree(turn: int) -> Values:
        """A collective of all ranks."""
        return _collective("all_reduce", "world", WORLD_COLLECTIVES * step + turn, round(sizes["world"]))

    gather = _collective("all_gather", group_names(run)["data"], step, round(sizes["gather"]))
    parts = [
        plan.group("data_load", "data_load", at[state.STARTED], at[state.LOADED]),
        plan.group("gc", "step.host_bound", at[state.LOADED], at[state.RESUMED],
                   present=bool(run.values["emit.pause_spans"])),
        plan.group("all_reduce", "collective", at[state.REDUCED], at[state.NORMED], attributes=agree(0), key="norm"),
        plan.group("optimizer", "optimizer", at[state.NORMED], at[state.OPTIMIZED]),
        plan.group("all_gather", "collective", at[state.OPTIMIZED], at[state.GATHERED], attributes=gather),
        plan.group("evaluate", "custom", at[state.GATHERED], at[state.EVALUATED]),
        plan.group("all_reduce", "collective", at[state.EVALUATED], at[state.AGREED], attributes=agree(1),
                   key="result"),
        plan.group("checkpoint_save", "checkpoint_save", at[state.AGREED], at[state.SAVED]),
        plan.group("all_reduce", "collective", at[state.SAVED], at[state.FINISHED], attributes=agree(2), key="barrier"),
        plan.group("checkpoint_write", "checkpoint_save", at[state.WRITE_BEGUN], at[state.WRITE_ENDED],
                   attributes={"tracekit.async": True}),
    ]  # fmt: skip
    return parts
