"""Steps as they were observed, whatever their shape: what followed what on each rank, and who met whom.

Nothing is assumed of the training framework: an operation waits for what had ended on its rank when it began, a
collective for the last of its members. That keeps every order that was seen; an order that was chance is kept too, so
a saving is rather understated than overstated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.replay.observed_kernel import NONE, link_operations, measure, order_meetings, replay_observed
from tracekit.errors import InsufficientDataError

OPEN_OPERATIONS = 6
"""How many operations of a rank can be open at a time and still be told apart."""

ROLE = ("step", "pipeline_stage", "operation", "sequence")
"""Ranks that do the same in a step: operations that agree in this are peers."""


@dataclass(frozen=True, eq=False)
class ObservedSteps:
    """Operations of steps and their dependencies; whole nanoseconds, exact.

    operations: one row an operation, sorted by step, rank and start, with `step_number` (from 0), `meeting` and the
        columns that were given. own_ns: from the last start of its meeting to its end. delay_ns: how late it began.
    steps: `step` of each step number. observed_ns: from a step's first start to its last end.
    left_out: `step` and `reason`.
    """

    operations: pl.DataFrame
    own_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]
    steps: NDArray[np.int64]
    observed_ns: NDArray[np.int64]
    left_out: pl.DataFrame
    first_step: NDArray[np.int64]
    order: NDArray[np.int64]
    before: NDArray[np.int64]
    first_member: NDArray[np.int64]
    member: NDArray[np.int64]

    def replayed(self, own_ns: NDArray[np.int64], delay_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The length of each step with other times and delays, by operation."""
        length_ns = np.empty(len(self.steps), np.int64)
        room = np.empty(len(own_ns), np.int64)
        replay_observed(
            self.first_step, self.order, self.before, self.first_member, self.member, own_ns, delay_ns, room, length_ns
        )
        return length_ns


def observed_steps(operations: pl.DataFrame) -> ObservedSteps:
    """The steps of one job's operations.

    Columns: `step`, `rank`, `operation`, `start_ns`, `end_ns`, and `pipeline_stage`, `group` and `collective_sequence`,
    which may be null; others are kept. Steps whose operations wait for each other in a circle are left out.
    Raises `InsufficientDataError` where no step is left.
    """
    if operations.is_empty():
        raise InsufficientDataError("there are no operations of steps to replay")
    rows = _sorted(operations)
    graph = _Graph.of(rows)
    possible = order_meetings(
        graph.first_step, graph.before, graph.meeting, graph.first_member, graph.member, graph.order
    )
    steps = rows["step"].unique(maintain_order=True).to_numpy()
    if not possible.all():
        kept = rows.filter(pl.col("step").is_in(steps[possible]))
        whole = observed_steps(kept) if kept.height else None
        if whole is None:
            raise InsufficientDataError(
                "in every step operations wait for each other in a circle: do the clocks agree?"
            )
        return _with_left_out(whole, steps[~possible])
    start_ns, end_ns = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    own_ns, delay_ns = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    measure(graph.first_step, graph.before, graph.first_member, graph.member, start_ns, end_ns, own_ns, delay_ns)
    spans = rows.group_by("step_number").agg(ns=pl.col("end_ns").max() - pl.col("start_ns").min()).sort("step_number")
    return ObservedSteps(
        operations=rows.with_columns(meeting=pl.Series(graph.meeting)),
        own_ns=own_ns,
        delay_ns=delay_ns,
        steps=steps,
        observed_ns=spans["ns"].to_numpy(),
        left_out=pl.DataFrame(schema={"step": pl.Int64, "reason": pl.String}),
        first_step=graph.first_step,
        order=graph.order,
        before=graph.before,
        first_member=graph.first_member,
        member=graph.member,
    )


def _with_left_out(whole: ObservedSteps, steps: NDArray[np.int64]) -> ObservedSteps:
    reason = "operations wait for each other in a circle"
    told = pl.DataFrame({"step": steps}).with_columns(reason=pl.lit(reason))
    values = {name: getattr(whole, name) for name in whole.__dataclass_fields__}
    return ObservedSteps(**values | {"left_out": pl.concat([whole.left_out, told.cast({"step": pl.Int64})])})


def _sorted(operations: pl.DataFrame) -> pl.DataFrame:
    """Operations by step, rank and start, numbered among those of their name, with the number of their step."""
    rows = operations.sort("step", "rank", "start_ns", "end_ns", maintain_order=True)
    return rows.with_columns(
        step_number=pl.col("step").rle_id().cast(pl.Int64),
        sequence=pl.int_range(pl.len(), dtype=pl.Int32).over("step", "rank", "operation"),
    )


@dataclass(frozen=True, eq=False)
class _Graph:
    first_step: NDArray[np.int64]
    order: NDArray[np.int64]
    before: NDArray[np.int64]
    meeting: NDArray[np.int64]
    first_member: NDArray[np.int64]
    member: NDArray[np.int64]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> _Graph:
        first_run = _bounds(rows.select(pl.struct("step", "rank").rle_id()).to_series().to_numpy())
        before = np.full((len(rows), OPEN_OPERATIONS), NONE, np.int64)
        link_operations(first_run, rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy(), before)
        meeting = _meetings(rows)
        member = np.argsort(meeting, kind="stable")
        first_member = _bounds(meeting[member])
        step_of_meeting = rows["step_number"].to_numpy()[member[first_member[:-1]]]
        return cls(
            first_step=_bounds(step_of_meeting),
            order=np.empty(len(step_of_meeting), np.int64),
            before=before,
            meeting=meeting,
            first_member=first_member,
            member=member,
        )


def _bounds(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each run of equal numbers begins, and the end."""
    return np.concatenate([[0], np.flatnonzero(np.diff(numbers)) + 1, [len(numbers)]])


def _meetings(rows: pl.DataFrame) -> NDArray[np.int64]:
    """The number of the meeting of each operation, growing with the steps.

    Members of a collective share step, group and sequence. Without a sequence those of a group meet in order. A rank
    that has one twice meets nobody there: the numbers do not tell which of them is meant.
    """
    key = ["step_number", "group", "collective_sequence"]
    in_order = pl.int_range(pl.len(), dtype=pl.Int64).over("step_number", "rank", "group", "operation")
    told = rows.select(
        "step_number", "rank", pl.col("group").cast(pl.String),
        row=pl.int_range(pl.len(), dtype=pl.Int64),
        is_counted=pl.col("collective_sequence").is_null(),
        collective_sequence=pl.col("collective_sequence").fill_null(in_order),
    ).filter(pl.col("group").is_not_null())  # fmt: skip
    key = [*key, "is_counted"]
    is_repeated = pl.len().over(*key, "rank") > 1
    clear = told.with_columns(is_repeated=is_repeated).filter(~pl.col("is_repeated").any().over(key))
    first = clear.select("row", first=pl.col("row").min().over(key))
    leader = np.arange(len(rows))
    leader[first["row"].to_numpy()] = first["first"].to_numpy()
    order = np.lexsort((leader, rows["step_number"].to_numpy()))
    number = np.empty(len(rows), np.int64)
    number[order] = np.cumsum(np.concatenate([[False], np.diff(leader[order]) != 0]))
    return number
