"""Steps as they were observed, whatever their shape: what followed what on each rank, and who met whom.

Nothing is assumed of the training framework: an operation waits for what had ended on its rank when it began, a
collective for the last of its members. That keeps every order that was seen; an order that was chance is kept too, so
a saving is rather understated than overstated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.replay.meetings import meetings
from tracekit.analysis.replay.observed_kernel import NONE, link_operations, measure, order_meetings, replay_observed
from tracekit.analysis.replay.roles import in_roles
from tracekit.analysis.replay.sorting import bounds, sorted_by_number
from tracekit.errors import InsufficientDataError

_TEXTS = ("operation", "host", "collective", "group")

OPEN_OPERATIONS = 6
"""How many operations of a rank can be open at a time and still be told apart."""


@dataclass(frozen=True, eq=False)
class ObservedSteps:
    """Operations of steps and their dependencies; whole nanoseconds, exact.

    operations: one row an operation, sorted by stretch, rank and start, with `meeting`, its `member_count`, the
        `sequence` among operations alike of its rank, its `role`, `role_in_step` and `place` (`roles.in_roles`), and
        the columns that were given, texts as categories.
    own_ns: from the last start of its meeting to its end. delay_ns: how late it began after all that had ended.
    step_counts: how many steps each stretch has. observed_ns: from a stretch's first start to its last end.
    left_out: `step` and `reason`.
    """

    operations: pl.DataFrame
    own_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]
    step_counts: NDArray[np.int64]
    observed_ns: NDArray[np.int64]
    left_out: pl.DataFrame
    first_stretch: NDArray[np.int64]
    order: NDArray[np.int64]
    before: NDArray[np.int64]
    first_member: NDArray[np.int64]
    member: NDArray[np.int64]

    @cached_property
    def by_role(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Operations in the order of their role in the step, and where each of these begins."""
        return sorted_by_number(self.operations["role_in_step"].to_numpy())

    def replayed(self, own_ns: NDArray[np.int64], delay_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The length of each stretch with other times and delays, by operation."""
        length_ns = np.empty(len(self.step_counts), np.int64)
        room = np.empty(len(own_ns), np.int64)
        replay_observed(
            self.first_stretch,
            self.order,
            self.before,
            self.first_member,
            self.member,
            own_ns,
            delay_ns,
            room,
            length_ns,
        )
        return length_ns


def observed_steps(operations: pl.DataFrame) -> ObservedSteps:
    """The steps of one job's operations.

    Columns: `step`, `rank`, `operation`, `start_ns`, `end_ns`, and `pipeline_stage`, `collective`, `group` and
    `collective_sequence`, which may be null; others are kept. Steps of one `stretch` follow each other: what is late in
    one makes the next late; without that column each step stands alone. Steps whose operations wait in a circle are
    left out.
    Raises `InsufficientDataError` where no step is left.
    """
    if operations.is_empty():
        raise InsufficientDataError("there are no operations of steps to replay")
    rows = _sorted(operations)
    graph = _Graph.of(rows)
    possible = order_meetings(
        graph.first_stretch, graph.before, graph.meeting, graph.first_member, graph.member, graph.order
    )
    if not possible.all():
        return _without_circles(rows, possible)
    start_ns, end_ns = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    own_ns, delay_ns = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
    measure(graph.first_stretch, graph.before, graph.first_member, graph.member, start_ns, end_ns, own_ns, delay_ns)
    lengths = rows.group_by("stretch_number").agg(
        ns=pl.col("end_ns").max() - pl.col("start_ns").min(), steps=pl.col("step").n_unique()
    ).sort("stretch_number")  # fmt: skip
    return ObservedSteps(
        operations=in_roles(rows, graph.meeting),
        own_ns=own_ns,
        delay_ns=delay_ns,
        step_counts=lengths["steps"].to_numpy(),
        observed_ns=lengths["ns"].to_numpy(),
        left_out=pl.DataFrame(schema={"step": pl.Int64, "reason": pl.String}),
        first_stretch=graph.first_stretch,
        order=graph.order,
        before=graph.before,
        first_member=graph.first_member,
        member=graph.member,
    )


def _without_circles(rows: pl.DataFrame, possible: NDArray[np.bool_]) -> ObservedSteps:
    """Only what can be replayed; of a stretch of several steps, those that can be each for itself."""
    is_possible = pl.Series(possible)[rows["stretch_number"]]
    several = pl.col("step").n_unique().over("stretch_number") > 1
    marked = rows.drop("stretch_number").with_columns(is_possible=is_possible, several=rows.select(several).to_series())
    kept = marked.filter(pl.col("is_possible") | pl.col("several")).with_columns(
        stretch=pl.when("is_possible").then("stretch").otherwise(-1 - pl.col("step"))
    )
    lost = marked.filter(~pl.col("is_possible") & ~pl.col("several"))["step"].unique().sort()
    if kept.is_empty():
        raise InsufficientDataError("in every step operations wait for each other in a circle: do the clocks agree?")
    whole = observed_steps(kept.drop("is_possible", "several"))
    told = pl.DataFrame({"step": lost.cast(pl.Int64)}).with_columns(
        reason=pl.lit("operations wait for each other in a circle")
    )
    return replace(whole, left_out=pl.concat([whole.left_out, told]))


def _sorted(operations: pl.DataFrame) -> pl.DataFrame:
    """Operations by stretch, rank and start, with the number of their stretch; texts as categories.

    Of operations that agree in all times the one with the lower span id comes first, else the first that was given.
    """
    given = operations if "stretch" in operations.columns else operations.with_columns(stretch="step")
    texts = [name for name in _TEXTS if name in given.columns and given.schema[name] != pl.Categorical]
    last = ["span_id"] if "span_id" in given.columns else []
    rows = given.with_columns(pl.col(texts).cast(pl.String).cast(pl.Categorical)).sort(
        "stretch", "rank", "start_ns", "end_ns", *last, maintain_order=True
    )
    return rows.with_columns(stretch_number=pl.col("stretch").rle_id().cast(pl.Int64))


@dataclass(frozen=True, eq=False)
class _Graph:
    first_stretch: NDArray[np.int64]
    order: NDArray[np.int64]
    before: NDArray[np.int64]
    meeting: NDArray[np.int64]
    first_member: NDArray[np.int64]
    member: NDArray[np.int64]

    @classmethod
    def of(cls, rows: pl.DataFrame) -> _Graph:
        stretch = rows["stretch_number"].to_numpy()
        before = np.full((len(rows), OPEN_OPERATIONS), NONE, np.int64)
        first_run = bounds(stretch, rows["rank"].to_numpy())
        link_operations(first_run, rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy(), before)
        meeting = meetings(rows)
        member, first_member = sorted_by_number(meeting)
        stretch_of_meeting = stretch[member[first_member[:-1]]]
        return cls(
            first_stretch=bounds(stretch_of_meeting),
            order=np.empty(len(stretch_of_meeting), np.int64),
            before=before,
            meeting=meeting,
            first_member=first_member,
            member=member,
        )
