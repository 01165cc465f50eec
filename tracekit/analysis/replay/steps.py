"""The steps of a job as matrices: what each operation took, beside the graph of what it waited for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.replay.graph import StepGraph
from tracekit.analysis.replay.kernel import launch_delays, replay_steps, transfer_times
from tracekit.analysis.replay.pipeline import SLOT_SCHEMA, pipeline_graph
from tracekit.errors import InsufficientDataError

OPERATION_COLUMNS = (
    "step", "rank", "data_parallel_rank", "pipeline_stage", "operation", "sequence",
    "chunk", "model_chunk", "start_ns", "end_ns",
)  # fmt: skip
"""What a table of operations must have to be replayed; see `tracekit.importers.operation_tables`."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Steps of one shape, ready to be replayed.

    steps: their numbers. slots: `slot` with the `kind`, `sequence` and `stage` of an operation of one replica.
    ranks: `rank`, `stage` and `replica` (the position of its data-parallel rank).
    own_ns: what each operation took, `[step, slot, replica]`; of communication from the last start of those that meet.
    delay_ns: how late it started after all it waited for, same shape. observed_ns: from a step's first start to its
        last end. left_out: `step` and `reason` of those that do not have the shape of the others.
    """

    graph: StepGraph
    steps: NDArray[np.int64]
    slots: pl.DataFrame
    ranks: pl.DataFrame
    own_ns: NDArray[np.float64]
    delay_ns: NDArray[np.float64]
    observed_ns: NDArray[np.int64]
    left_out: pl.DataFrame

    @property
    def replica_count(self) -> int:
        return self.own_ns.shape[2]

    def replayed(
        self, reference_ns: NDArray[np.float64], is_kept: NDArray[np.bool_], *, with_delays: bool = False,
        own_ns: NDArray[np.float64] | None = None,
    ) -> NDArray[np.float64]:  # fmt: skip
        """Lengths of the steps if operations not kept took their reference: by the closing ones, and by all.

        `reference_ns` and `is_kept` are by slot and replica. Row `n` is of step `steps[n]`.
        """
        own = self.own_ns if own_ns is None else own_ns
        found = np.empty((len(own), 2))
        graph = self.graph
        replay_steps(
            graph.first_dependency, graph.dependency, graph.first_member, graph.member, graph.is_joint,
            graph.is_closing, own, self.delay_ns if with_delays else np.empty((0, 0, 0)),
            np.ascontiguousarray(reference_ns), np.ascontiguousarray(is_kept), found,
        )  # fmt: skip
        return found


def pipeline_steps(operations: pl.DataFrame) -> Steps:
    """The steps of a table of operations in which every replica and every step does the same.

    Columns: `OPERATION_COLUMNS`. The shape is that of the earliest step that most steps share; others are left out
    and named. Raises `InsufficientDataError` where there is no step to replay.
    """
    if operations.is_empty():
        raise InsufficientDataError("there is no operation to replay")
    numbered = _numbered(operations)
    cells, slots = numbered.cells, numbered.slots
    graph = pipeline_graph(slots, replica_count=cells.start_ns.shape[2])
    start_ns, end_ns = cells.start_ns, cells.end_ns
    own_ns, delay_ns = np.empty(start_ns.shape), np.empty(start_ns.shape)
    transfer_times(graph.first_member, graph.member, graph.is_joint, start_ns, end_ns, own_ns)
    first_ns = start_ns.min(axis=(1, 2))
    launch_delays(graph.first_dependency, graph.dependency, start_ns, end_ns, first_ns, delay_ns)
    return Steps(
        graph=graph,
        steps=cells.steps,
        slots=slots,
        ranks=numbered.ranks,
        own_ns=own_ns,
        delay_ns=delay_ns,
        observed_ns=end_ns.max(axis=(1, 2)) - first_ns,
        left_out=cells.left_out,
    )


@dataclass(frozen=True, eq=False)
class _Cells:
    """Starts and ends as `[step, slot, replica]` of the steps that have all of them once."""

    steps: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]
    left_out: pl.DataFrame


@dataclass(frozen=True, eq=False)
class _Numbered:
    slots: pl.DataFrame
    ranks: pl.DataFrame
    cells: _Cells


def _numbered(operations: pl.DataFrame) -> _Numbered:
    """Steps, slots and replicas numbered from 0 and the operations scattered over them."""
    steps = operations["step"].unique().sort().to_numpy()
    replicas = operations["data_parallel_rank"].unique().sort().to_numpy()
    first = operations.filter(pl.col("step") == _usual_step(operations), pl.col("data_parallel_rank") == replicas[0])
    key = ["operation", "sequence", "pipeline_stage"]
    slots = first.sort("pipeline_stage", "start_ns", "sequence", "operation").unique(
        key, keep="first", maintain_order=True
    )
    slots = slots.with_row_index("slot").cast({"slot": pl.Int64})
    placed = operations.join(slots.select("slot", *key), on=key, how="left")
    step = np.searchsorted(steps, placed["step"].to_numpy())
    replica = np.searchsorted(replicas, placed["data_parallel_rank"].to_numpy())
    shape = (len(steps), slots.height, len(replicas))
    cells = _cells(placed, steps, step, replica, shape)
    ranks = operations.group_by("data_parallel_rank", stage="pipeline_stage").agg(pl.col("rank").min())
    ranks = ranks.with_columns(replica=pl.Series(np.searchsorted(replicas, ranks["data_parallel_rank"].to_numpy())))
    named = slots.with_columns(kind="operation", stage="pipeline_stage")
    renamed = named.select(pl.col(name).cast(kind) for name, kind in SLOT_SCHEMA.items())
    return _Numbered(renamed, ranks.sort("rank"), cells)


def _usual_step(operations: pl.DataFrame) -> int:
    """The earliest step with as many operations as most steps have."""
    counts = operations.group_by("step").agg(count=pl.len())
    usual = counts.group_by("count").agg(steps=pl.len(), step=pl.col("step").min()).sort("steps", "count")
    return int(usual["step"][-1])


def _cells(
    placed: pl.DataFrame, steps: NDArray[np.int64], step: NDArray[np.int64], replica: NDArray[np.int64],
    shape: tuple[int, int, int],
) -> _Cells:  # fmt: skip
    slot = placed["slot"].fill_null(-1).to_numpy()
    is_known = slot >= 0
    cell = ((step * shape[1] + slot) * shape[2] + replica)[is_known]
    filled = np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)
    unknown = np.bincount(step[~is_known], minlength=shape[0])
    is_whole = (filled == 1).all(axis=(1, 2)) & (unknown == 0)
    if not is_whole.any():
        raise InsufficientDataError(
            "no step has every operation of every rank exactly once: there is nothing to replay"
        )
    times = []
    for name in ("start_ns", "end_ns"):
        values = np.zeros(int(np.prod(shape)), np.int64)
        values[cell] = placed[name].to_numpy()[is_known]
        times.append(np.ascontiguousarray(values.reshape(shape)[is_whole]))
    left_out = pl.DataFrame({"step": steps[~is_whole]}).with_columns(
        reason=pl.Series(_reasons(filled, unknown)[~is_whole], dtype=pl.String)
    )
    return _Cells(steps[is_whole], times[0], times[1], left_out)


def _reasons(filled: NDArray[np.int64], unknown: NDArray[np.int64]) -> NDArray[np.object_]:
    """Why a step does not have the shape of the others."""
    missing = (filled == 0).any(axis=(1, 2))
    repeated = (filled > 1).any(axis=(1, 2))
    return np.select(
        [missing, repeated, unknown > 0],
        ["operations are missing", "operations came twice", "it has operations that others lack"],
        "",
    ).astype(object)
