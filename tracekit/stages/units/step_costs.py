"""What the parts of ranks in a step cost beside their own window: waits, work between steps, collectives."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.partition import GAP
from tracekit.stages.units.operations import UNATTRIBUTED
from tracekit.stages.units.step_rows import Steps
from tracekit.stages.units.timelines import segment_names
from tracekit.stages.units.waits import Timeline, follow_waits

OUTSIDE_STEP = "outside the step"
"""Operation of time of a rank of which nothing is known."""


def wait_rows(steps: Steps, timeline: Timeline, owners: NDArray[np.int64]) -> pl.DataFrame:
    """Whom each unit waited for, when that was in its step and how that is known."""
    codes = steps.batch.operations.codes
    outside = pl.DataFrame(
        {"stage": [codes.code(UNATTRIBUTED)], "operation": [codes.code(OUTSIDE_STEP)]},
        schema={"stage": pl.Int32, "operation": pl.Int32},
    )
    names = pl.concat([segment_names(steps, timeline, owners), outside])
    is_asked = ~steps.units["is_context"].to_numpy()[timeline.unit]
    charges = follow_waits(timeline, is_asked=is_asked)
    # `OUTSIDE` picks the last name, and the unit that waits.
    segment, waiting = charges["segment"].to_numpy(), charges["waiting"].to_numpy()
    unit = timeline.unit[waiting]
    culprit_unit = np.where(segment < 0, unit, np.append(timeline.unit, 0)[segment])
    basis = np.select([timeline.is_shared[waiting], timeline.is_lead_in[waiting]], [2, 1], 0)
    key = ["unit", "culprit_rank", "culprit_step", "culprit_stage", "culprit_operation", "basis"]
    return (
        pl.DataFrame(
            {
                "unit": unit,
                "culprit_rank": charges["rank"].cast(pl.Int32),
                "culprit_step": steps.units["step"].to_numpy()[culprit_unit],
                "culprit_stage": names["stage"].to_numpy()[segment],
                "culprit_operation": names["operation"].to_numpy()[segment],
                "basis": basis,
                "wait_ns": charges["wait_ns"],
            }
        )
        .group_by(key)
        .agg(pl.col("wait_ns").sum())
        .sort(key)
        .with_columns(
            named("culprit_stage", codes.names),
            named("culprit_operation", codes.names),
            named("basis", ["collective", "before_step", "common_end"]),
        )
    )


def lead_in_rows(steps: Steps, timeline: Timeline, owners: NDArray[np.int64]) -> pl.DataFrame:
    """What ranks did between their last step and this one: `unit`, `stage`, `operation`, `self_ns`."""
    names = steps.batch.operations.codes.names
    is_asked = timeline.is_lead_in & ~steps.units["is_context"].to_numpy()[timeline.unit]
    return (
        segment_names(steps, timeline, owners)
        .with_columns(unit=pl.Series(timeline.unit), self_ns=pl.Series(timeline.end_ns - timeline.start_ns))
        .filter(pl.Series(is_asked))
        .group_by("unit", "stage", "operation")
        .agg(pl.col("self_ns").sum())
        .sort("unit", "stage", "operation")
        .select("unit", named("stage", names), named("operation", names), "self_ns")
    )


def collective_rows(steps: Steps, timeline: Timeline, owners: NDArray[np.int64]) -> pl.DataFrame:
    """What each unit spent in the collectives of each group, by their name, waiting and transfer told apart.

    Columns: `unit`, `collective_group`, `collective_name`, `member_count`, `instance_count` (those that can be told
    apart), `bytes` (null where one does not say), `wait_ns` (before the last rank came), `transfer_ns` (after it),
    `shortest_ns` (transfer of the rank that left first), `exposed_ns` (transfer that nothing hid), `unsplit_count`.
    """
    is_open = ~timeline.is_wait & ~timeline.is_lead_in & (owners != GAP)
    exposed_ns = np.bincount(
        owners[is_open], (timeline.end_ns - timeline.start_ns)[is_open], minlength=steps.rows.height
    )
    rows = steps.rows.with_columns(exposed_ns=pl.Series(exposed_ns).cast(pl.Int64)).filter(
        pl.col("is_collective") & pl.col("unit").is_not_null() & ~pl.col("is_context")
    )
    is_split = pl.col("is_separable")
    return (
        rows.with_columns(pl.col("collective_group", "collective_name").fill_null(""))
        .group_by("unit", "collective_group", "collective_name")
        .agg(
            member_count=pl.col("part_count").max().cast(pl.UInt32),
            instance_count=is_split.sum().cast(pl.UInt32),
            bytes=pl.when(pl.col("collective_bytes").filter(is_split).is_not_null().all()).then(
                pl.col("collective_bytes").filter(is_split).sum()
            ),
            wait_ns=(pl.col("arrival_ns") - pl.col("start_ns")).filter(is_split).sum(),
            transfer_ns=(pl.col("end_ns") - pl.col("arrival_ns")).filter(is_split).sum(),
            shortest_ns=(pl.col("earliest_end_ns") - pl.col("arrival_ns")).filter(is_split).sum(),
            exposed_ns=pl.col("exposed_ns").filter(is_split).sum(),
            unsplit_count=(~is_split).sum().cast(pl.UInt32),
        )
        .sort("unit", "collective_group", "collective_name")
    )


def named(column: str, names: list[str]) -> pl.Expr:
    """Codes as the names that they stand for."""
    return pl.col(column).cast(pl.UInt32).cat.to(pl.Enum(names))
