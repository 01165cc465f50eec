"""Who owns which time of each rank's part of a step, and of the time between it and the step before."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.partition import GAP, priority_sweep
from tracekit.schema import BETWEEN_STEPS
from tracekit.stages.units.common_ends import SAVE
from tracekit.stages.units.operations import EARLIEST_NS, UNATTRIBUTED
from tracekit.stages.units.step_rows import COLLECTIVE, UNSPLIT, WAIT, Steps
from tracekit.stages.units.waits import NO_UNIT, Timeline

_PRIORITIES = {
    "step.compute": 0,
    "step.slow_compute": 0,
    "step.copy": 1,
    COLLECTIVE: 2,
    "step.slow_network": 2,
    "step.data_load": 3,
    SAVE: 3,
}
_OTHER_PRIORITY = 4
_UNATTRIBUTED_PRIORITY = 5
_HOST_PRIORITY = 3

_SEGMENTS = ["unit", "row", "start_ns", "end_ns", "is_lead_in"]


def timeline_of(steps: Steps) -> tuple[Timeline, NDArray[np.int64]]:
    """Who owns which time of each unit, collectives cut where the last rank arrived; rows of the owners, or `GAP`.

    Before the segments of a unit's window lie those of the time since the rank's last step (`is_lead_in`).
    """
    competing = _competing(steps)
    windows = steps.units.select("unit", "start_ns", "end_ns")
    own = competing.filter(~pl.col("is_between"))
    before, spans = _lead_ins(steps, competing)
    segments = pl.concat(
        [
            _swept(spans, before).with_columns(is_lead_in=pl.lit(value=True)),
            _swept(own, windows).with_columns(is_lead_in=pl.lit(value=False)),
        ]
    ).sort("unit", maintain_order=True)
    return _cut_at_arrivals(steps, segments)


def segment_names(steps: Steps, timeline: Timeline, owners: NDArray[np.int64]) -> pl.DataFrame:
    """Stage and operation code of each segment of the timeline."""
    codes = steps.batch.operations.codes
    operation = np.append(steps.batch.operations.operation, codes.code(BETWEEN_STEPS))
    root = steps.units["row"].to_numpy()[timeline.unit]
    unnamed = np.where(timeline.is_lead_in, len(operation) - 1, root)
    stage = np.append(steps.rows["stage"].to_numpy(), codes.code(UNATTRIBUTED))[owners]
    return pl.DataFrame(
        {
            "stage": np.where(timeline.is_wait, codes.code(WAIT), stage).astype(np.int32),
            "operation": operation[np.where(owners == GAP, unnamed, owners)].astype(np.int32),
        }
    )


def _competing(steps: Steps) -> pl.DataFrame:
    """The spans that may own time, with their priority."""
    names = steps.batch.operations.codes.names
    priority = np.array(
        [_PRIORITIES.get(name, _UNATTRIBUTED_PRIORITY if name == UNATTRIBUTED else _OTHER_PRIORITY) for name in names]
    )
    priority[[at for at, name in enumerate(names) if name == UNSPLIT]] = _PRIORITIES[COLLECTIVE]
    rows = steps.rows.with_columns(priority=pl.Series(priority[steps.rows["stage"].to_numpy()]))
    is_background = pl.col("is_async") & (pl.col("priority") >= _HOST_PRIORITY)
    return rows.filter(pl.col("unit").is_not_null() & ~pl.col("is_step") & ~is_background)


def _lead_ins(steps: Steps, competing: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The time from each rank's step before to its step, and the spans that may own it.

    Those are of the step itself, of what lies between, or of the step before after its end; on the clock of the step.
    """
    units = steps.units
    earlier = units.select(previous_unit="unit", earlier_end_ns=pl.col("end_ns") - pl.col("shift_ns"))
    windows = (
        units.filter(pl.col("previous_unit") != NO_UNIT)
        .join(earlier, on="previous_unit")
        .select(
            "unit",
            "previous_unit",
            "shift_ns",
            start_ns=pl.col("earlier_end_ns") + pl.col("shift_ns"),
            end_ns="start_ns",
        )
        .filter(pl.col("start_ns") < pl.col("end_ns"))
    )
    limits = windows.select("unit", "previous_unit", from_ns="start_ns", until_ns="end_ns", to_shift_ns="shift_ns")
    own = competing.join(limits, on="unit").filter(pl.col("start_ns") < pl.col("until_ns"))
    moved = pl.col("to_shift_ns") - pl.col("shift_ns")
    left = (
        competing.join(limits.rename({"unit": "next_unit"}), left_on="unit", right_on="previous_unit")
        .with_columns(pl.col("start_ns", "end_ns") + moved, unit="next_unit")
        .filter(pl.col("end_ns") > pl.col("from_ns"))
    )
    return windows.select("unit", "start_ns", "end_ns"), pl.concat([own, left], how="diagonal").select(own.columns)


def _swept(competing: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    """Segments of the windows of units by the priority of the spans; `row` is the owner, or `GAP`."""
    number = pl.DataFrame({"unit": windows["unit"], "at": np.arange(windows.height)})
    placed = competing.join(number, on="unit", maintain_order="left")
    swept = priority_sweep(
        placed["at"].to_numpy(),
        placed["start_ns"].to_numpy(),
        placed["end_ns"].to_numpy(),
        placed["priority"].to_numpy(),
        windows["start_ns"].to_numpy(),
        windows["end_ns"].to_numpy(),
        tiebreak=placed["span_id"].to_numpy(),
    )
    return pl.DataFrame(
        {
            "unit": windows["unit"].to_numpy()[swept.unit],
            "row": np.append(placed["row"].to_numpy(), GAP)[swept.row],
            "start_ns": swept.start_ns,
            "end_ns": swept.end_ns,
        }
    )


def _cut_at_arrivals(steps: Steps, segments: pl.DataFrame) -> tuple[Timeline, NDArray[np.int64]]:
    rows = steps.rows
    owner = segments["row"].to_numpy()
    start_ns, end_ns = segments["start_ns"].to_numpy(), segments["end_ns"].to_numpy()
    arrival_ns = np.append(rows["arrival_ns"].to_numpy(), EARLIEST_NS)[owner]
    cut_ns = np.clip(arrival_ns, start_ns, end_ns)
    # Each segment twice: waiting before the cut, the work itself after it.
    starts_ns = np.stack([start_ns, cut_ns], axis=1).ravel()
    ends_ns = np.stack([cut_ns, end_ns], axis=1).ravel()
    kept = starts_ns < ends_ns
    is_wait = np.tile([True, False], len(owner))[kept]
    owners, units = (np.repeat(column, 2)[kept] for column in (owner, segments["unit"].to_numpy()))
    shared = np.append(rows["sharing_unit"].to_numpy(), NO_UNIT)[owners]
    is_shared = ~is_wait & (shared != NO_UNIT)
    held_by = np.append(rows["culprit_unit"].to_numpy(), NO_UNIT)[owners]
    rank = np.append(rows["culprit_rank"].fill_null(-1).to_numpy(), -1)[owners]
    ranks = np.append(steps.units["rank"].to_numpy(), -1)
    previous = steps.units["previous_unit"].to_numpy()
    timeline = Timeline(
        unit=units,
        start_ns=starts_ns[kept],
        end_ns=ends_ns[kept],
        is_wait=is_wait,
        is_shared=is_shared,
        is_lead_in=np.repeat(segments["is_lead_in"].to_numpy(), 2)[kept],
        culprit_unit=np.where(is_shared, shared, held_by),
        culprit_rank=np.where(is_shared, ranks[shared], rank).astype(np.int32),
        first=np.searchsorted(units, np.arange(steps.units.height + 1)),
        window_start_ns=steps.units["start_ns"].to_numpy(),
        step_no=steps.units["step_no"].to_numpy(),
        previous=previous,
        following=_inverse(previous),
    )
    return timeline, owners


def _inverse(previous: NDArray[np.int64]) -> NDArray[np.int64]:
    following = np.full(len(previous), NO_UNIT, dtype=np.int64)
    known = np.flatnonzero(previous != NO_UNIT)
    following[previous[known]] = known
    return following
