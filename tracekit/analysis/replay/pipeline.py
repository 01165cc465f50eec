"""What the operations of a pipeline-parallel training step wait for.

The dependencies are those of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI 2025,
section 3 and its artifact ByteDance-Seed/StragglerAnalysis): micro-batches in the order in which each stage computed
them, a stream of its own for each direction of sending and receiving, gradients reduced over data-parallel replicas,
and an optimizer that meets for the norm of the gradients.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from tracekit.analysis.replay.graph import Meeting, StepGraph, step_graph
from tracekit.errors import InsufficientDataError

CLOCK_ERROR_NS = 50_000
"""How far apart two times of a stage may lie and still count as the same (the paper's artifact: 5e-5 s)."""

PEER_TO_PEER = ("forward-send", "forward-recv", "backward-send", "backward-recv")
"""Kinds of operations between neighbouring pipeline stages."""

OVER_REPLICAS = ("params-all-gather", "grads-reduce-scatter", "separate-grads-all-reduce")
"""Kinds of collectives over the data-parallel replicas of a pipeline stage."""

NORM = "optimizer-clip-main-grad"
COMMUNICATION = (*PEER_TO_PEER, *OVER_REPLICAS, "layernorm-grads-all-reduce", "embedding-grads-all-reduce", NORM)
"""Kinds whose ideal length is a median; that of all others is a mean (section 3.2 of the paper)."""

_PEERS = {
    "forward-send": ("forward-recv", 1),
    "forward-recv": ("forward-send", -1),
    "backward-send": ("backward-recv", -1),
    "backward-recv": ("backward-send", 1),
}

SLOT_SCHEMA = {
    "slot": pl.Int64,
    "kind": pl.String,
    "sequence": pl.Int64,
    "stage": pl.Int64,
    "chunk": pl.Int64,
    "model_chunk": pl.Int64,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
}
"""Operations of one replica in one step: numbers from 0, kind, number among those of the kind and stage by start,
pipeline stage, model chunk inside the stage and in the whole model (-1 where it has none), times."""


@dataclass(frozen=True)
class _Operation:
    slot: int
    kind: str
    sequence: int
    stage: int
    chunk: int
    model_chunk: int
    start_ns: int
    end_ns: int

    @property
    def by_start(self) -> tuple[int, int, str]:
        return self.start_ns, self.sequence, self.kind


@dataclass
class _Model:
    """The dependencies found so far; `named` finds an operation by kind, sequence and stage."""

    operations: list[_Operation]
    stages: list[list[_Operation]]
    before: list[list[int]]
    named: dict[tuple[str, int, int], _Operation]
    meetings: list[Meeting] = field(default_factory=list)

    def chain(self, operations: Iterable[_Operation | None], after: Iterable[_Operation] = ()) -> None:
        """Each of the operations that are there waits for the one before it, the first for those in `after`."""
        last = list(after)
        for operation in operations:
            if operation is not None:
                self.before[operation.slot] += [each.slot for each in last]
                last = [operation]

    def of(self, stage: int, *kinds: str) -> list[_Operation]:
        """Operations of these kinds on a stage, by start."""
        return sorted((each for each in self.stages[stage] if each.kind in kinds), key=lambda each: each.by_start)

    def computing(self, stage: int) -> list[_Operation]:
        return self.of(stage, "forward-compute", "backward-compute")


def pipeline_graph(slots: pl.DataFrame, *, replica_count: int) -> StepGraph:
    """The graph of a step whose operations in one replica are `slots` (columns: `SLOT_SCHEMA`).

    Raises `InsufficientDataError` where sends and receives do not pair, or nothing was computed.
    """
    operations = [_Operation(**row) for row in slots.select(SLOT_SCHEMA.keys()).sort("slot").iter_rows(named=True)]
    stages: list[list[_Operation]] = [[] for _ in range(1 + max(each.stage for each in operations))]
    for each in operations:
        stages[each.stage].append(each)
    model = _Model(
        operations=operations,
        stages=stages,
        before=[[] for _ in operations],
        named={(each.kind, each.sequence, each.stage): each for each in operations},
    )
    _link_stages(model)
    for stage in range(len(stages)):
        _link_compute(model, stage)
        _link_replicas(model, stage, is_replicated=replica_count > 1)
    _meet_to_close(model, is_replicated=replica_count > 1)
    kinds = slots.sort("slot")["kind"]
    closing = (kinds == "optimizer").to_numpy()
    return step_graph(model.before, model.meetings, closing=closing if closing.any() else np.ones(len(kinds), np.bool_))


def _link_stages(model: _Model) -> None:
    """Sends and receives: what they wait for, what waits for them, and who meets whom."""
    chunk_count = len(model.stages) * (1 + max(each.chunk for each in model.operations))
    alive: dict[tuple[str, int], list[_Operation]] = {}
    for stage in range(len(model.stages)):
        for kind in PEER_TO_PEER:
            pairs = _with_micro_batch(model, stage, kind)
            for operation, computed in pairs:
                _link_transfer(model, operation, computed)
            peer_chunks = ((operation, computed.model_chunk + _PEERS[kind][1]) for operation, computed in pairs)
            alive[kind, stage] = [operation for operation, chunk in peer_chunks if 0 <= chunk < chunk_count]
            # The profiler also writes transfers that were never launched, which meet nobody.
            inside = {operation.slot for operation in alive[kind, stage]}
            model.meetings += [Meeting((each.slot,)) for each in model.of(stage, kind) if each.slot not in inside]
    model.meetings += _pairs(alive, len(model.stages))


def _with_micro_batch(model: _Model, stage: int, kind: str) -> list[tuple[_Operation, _Operation]]:
    """Transfers of a kind on a stage with the computation that produced or needs what they carry.

    A receive that starts after the last computation of its direction, and a send that ends before the first has,
    carry nothing. A first stage may lack the first receive of an interleaved pipeline.
    """
    direction, _, side = kind.partition("-")
    computed = model.of(stage, f"{direction}-compute")
    transfers = model.of(stage, kind)
    if not computed or not transfers:
        return []
    last_start_ns = max(each.start_ns for each in computed)
    first_end_ns = min(each.end_ns for each in computed)
    if side == "recv":
        used = [each for each in transfers if each.start_ns <= last_start_ns + CLOCK_ERROR_NS]
    else:
        used = [each for each in transfers if each.end_ns >= first_end_ns - CLOCK_ERROR_NS]
    skipped = 1 if side == "recv" and len(used) + 1 == len(computed) else 0
    if used and len(used) not in (len(computed), len(computed) - 1):
        raise InsufficientDataError(
            f"stage {stage} computed {len(computed)} micro-batches {direction} and has {len(used)} {kind}: "
            "the step cannot be replayed without the missing ones"
        )
    by_sequence = sorted(computed, key=lambda each: each.sequence)
    return list(zip(used, by_sequence[skipped:], strict=False))


def _link_transfer(model: _Model, transfer: _Operation, computed: _Operation) -> None:
    if transfer.kind.endswith("send"):
        model.before[transfer.slot].append(computed.slot)
        return
    model.before[computed.slot].append(transfer.slot)
    earlier = model.named.get((computed.kind, computed.sequence - 1, computed.stage))
    if earlier is not None:
        model.before[transfer.slot].append(earlier.slot)


def _pairs(alive: dict[tuple[str, int], list[_Operation]], stage_count: int) -> list[Meeting]:
    """The n-th send from a stage meets the n-th receive of its neighbour."""
    meetings = []
    for (kind, stage), sends in alive.items():
        if not kind.endswith("send"):
            continue
        peer, offset = _PEERS[kind]
        receives = alive.get((peer, (stage + offset) % stage_count), [])
        if len(sends) != len(receives):
            raise InsufficientDataError(
                f"stage {stage} has {len(sends)} {kind} and its neighbour {len(receives)} {peer}: "
                "the step cannot be replayed without the missing ones"
            )
        meetings += [Meeting((send.slot, receive.slot)) for send, receive in zip(sends, receives, strict=True)]
    return meetings


def _link_compute(model: _Model, stage: int) -> None:
    """The stage's streams: one computes, one a kind of transfer; the first backward transfer waits for warm-up."""
    computing = model.computing(stage)
    model.chain(computing)
    for kind in PEER_TO_PEER:
        model.chain(model.of(stage, kind))
    first_backward = next((at for at, each in enumerate(computing) if each.kind == "backward-compute"), 0)
    if first_backward >= 2:
        for kind in ("backward-recv", "backward-send"):
            if (first := model.named.get((kind, 0, stage))) is not None:
                model.before[first.slot].append(computing[first_backward - 2].slot)


def _link_replicas(model: _Model, stage: int, *, is_replicated: bool) -> None:
    """Collectives over replicas, and the order in which a step closes on a stage."""
    is_overlapped = any(each.kind == "separate-grads-all-reduce" for each in model.operations)
    reduced = sorted(model.of(stage, "grads-reduce-scatter"), key=lambda each: each.sequence)
    if is_replicated:
        model.chain(model.of(stage, "params-all-gather", "grads-reduce-scatter"))
        _link_gathered(model, stage)
        if is_overlapped:
            _link_reduced(model, stage, reduced)
    garbage = model.named.get(("gc", 0, stage))
    computing = model.computing(stage)
    last = [max(computing, key=lambda each: each.end_ns)] if computing else []
    model.chain([garbage], last)
    at_edge = stage in (0, len(model.stages) - 1)
    model.chain(
        [
            model.named.get(("layernorm-grads-all-reduce", 0, stage)),
            model.named.get(("embedding-grads-all-reduce", 0, stage)) if at_edge else None,
            *(reduced if is_replicated and not is_overlapped else []),
            model.named.get(("separate-grads-all-reduce", 0, stage)) if is_replicated and is_overlapped else None,
            model.named.get((NORM, 0, stage)),
            model.named.get(("optimizer", 0, stage)),
        ],
        [*(reduced[-1:] if is_replicated and is_overlapped else []), *([garbage] if garbage else last)],
    )


def _link_gathered(model: _Model, stage: int) -> None:
    """The first forward computation of a model chunk waits for the last gathering of its parameters."""
    gathered = sorted(model.of(stage, "params-all-gather"), key=lambda each: each.sequence)
    for chunk, gather in {each.chunk: each for each in gathered}.items():
        computed = [each for each in model.of(stage, "forward-compute") if each.chunk == chunk]
        if computed:
            model.before[min(computed, key=lambda each: each.start_ns).slot].append(gather.slot)


def _link_reduced(model: _Model, stage: int, reduced: list[_Operation]) -> None:
    """The first reduction of a model chunk's gradients waits for the chunk's last backward computation."""
    for chunk, reduction in {each.chunk: each for each in reversed(reduced)}.items():
        computed = [each for each in model.of(stage, "backward-compute") if each.chunk == chunk]
        if computed:
            model.before[reduction.slot].append(max(computed, key=lambda each: each.end_ns).slot)


def _meet_to_close(model: _Model, *, is_replicated: bool) -> None:
    if is_replicated:
        model.meetings += [
            Meeting((each.slot,), is_joint=True) for each in model.operations if each.kind in OVER_REPLICAS
        ]
    edges = (0, len(model.stages) - 1)
    embedding = [
        each.slot for each in model.operations
        if each.kind == "embedding-grads-all-reduce" and each.sequence == 0 and each.stage in edges
    ]  # fmt: skip
    norms = [each.slot for each in model.operations if each.kind == NORM and each.sequence == 0]
    model.meetings += [Meeting(tuple(embedding))] if embedding else []
    model.meetings += [Meeting(tuple(norms), is_joint=True)] if norms else []
