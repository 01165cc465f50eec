"""From the operations of training steps to one unit a rank and the exclusive time of its stages.

The rule is that of a training ledger: compute hides copies, copies hide communication, communication hides
what the host does; what no operation covers is unattributed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.partition import GAP, PARENTLESS, Forest, Partition, partition, priority_sweep
from tracekit.stages.units.collectives import match_collectives
from tracekit.stages.units.exclusive import WINDOWS, exclusive
from tracekit.stages.units.operations import EARLIEST_NS, UNATTRIBUTED, Operations, Parts, operations_of
from tracekit.stages.units.spans import Spans
from tracekit.stages.units.waits import NO_UNIT, Timeline, follow_waits

COLLECTIVE = "step.exposed_comm"
WAIT = "step.straggler_wait"
UNSPLIT = f"unsplit({WAIT}|{COLLECTIVE})"
OUTSIDE_STEP = "outside the step"

_PRIORITIES = {
    "step.compute": 0,
    "step.slow_compute": 0,
    "step.copy": 1,
    COLLECTIVE: 2,
    "step.slow_network": 2,
    "step.data_load": 3,
    "job.checkpoint_save": 3,
}
_OTHER_PRIORITY = 4
_UNATTRIBUTED_PRIORITY = 5
_HOST_PRIORITY = 3


@dataclass(frozen=True, eq=False)
class StepTables:
    """All that is known about the spans of some whole training steps, as Arrow tables.

    spans : as in `TraceTables`; `key` numbers the part of one trace of one rank in one step.
    mapped : what the mappings of steps say, in order of precedence; see `operations_of`.
    facts : what each span tells about its step: `span_row`, `step_no`, `rank`, `world_size`, `is_step`,
        `is_failed`, `is_async`, `collective_group`, `collective_name`, `collective_seq`.
    """

    spans: pa.Table
    mapped: tuple[pa.Table, ...]
    facts: pa.Table


@dataclass(frozen=True, eq=False)
class StepBatch:
    """All spans of some training steps, what they are, and what they tell (`StepTables.facts`, row by row)."""

    spans: Spans
    operations: Operations
    facts: pl.DataFrame


@dataclass(frozen=True, eq=False)
class StepFrames:
    """Units, the exclusive time of their stages, and whom they waited for.

    `units` has `unit` (a number inside the batch), `step_no`, `root_span_row` and the columns of base.units
    that do not come from the step itself; `stages` and `waits` have `unit` and the other columns of
    base.unit_stages and base.step_waits.
    """

    units: pl.DataFrame
    stages: pl.DataFrame
    waits: pl.DataFrame


@dataclass(frozen=True, eq=False)
class _Steps:
    """The batch with its units: one a step span; `rows` has a row a span, with its `unit` or null."""

    batch: StepBatch
    units: pl.DataFrame
    rows: pl.DataFrame


def build_steps(tables: StepTables) -> StepFrames:
    """Units of some whole steps; a rank without a step span has none, its collectives count all the same.

    Depends on nothing but the tables: a step has the same units whatever steps are beside it.
    """
    steps = _with_collectives(_with_units(step_batch(tables)))
    timeline, owners = _timeline(steps)
    waits_ns = _wait_rows(steps, timeline, owners)
    critical, stages = _stages(steps, timeline, owners)
    return StepFrames(units=_units(steps, critical), stages=stages, waits=waits_ns)


def step_batch(tables: StepTables) -> StepBatch:
    """The steps of the tables as columns that refer to each other by row."""
    spans = Spans.from_table(tables.spans)
    facts = pl.DataFrame(tables.facts)
    in_order = np.argsort(spans.rows_of(facts["span_row"].to_numpy()))
    return StepBatch(spans=spans, operations=operations_of(spans, tables.mapped), facts=facts[in_order])


def step_segments(batch: StepBatch) -> pl.DataFrame:
    """Who owns which time of each unit of a batch, under the ledger's rule.

    Columns: `row` (the owner; for a gap the step span), `is_wait` (the owner waits there for a rank that has
    not arrived), `stage`, `operation`, `start_ns`, `end_ns`, sorted by unit and time.
    """
    steps = _with_collectives(_with_units(batch))
    timeline, owners = _timeline(steps)
    names = batch.operations.codes.names
    root = steps.units["row"].to_numpy()[timeline.unit]
    return _segment_names(steps, timeline, owners).select(
        _named("stage", names).cast(pl.String),
        _named("operation", names).cast(pl.String),
        row=pl.Series(np.where(owners == GAP, root, owners)),
        is_wait=pl.Series(timeline.is_wait),
        start_ns=pl.Series(timeline.start_ns),
        end_ns=pl.Series(timeline.end_ns),
    )


def _with_units(batch: StepBatch) -> _Steps:
    """A unit is the earliest step span of a rank, of several the longest, then the smallest span id."""
    spans, operations = batch.spans, batch.operations
    rows = batch.facts.with_columns(
        row=pl.int_range(pl.len(), dtype=pl.Int64),
        span_id=pl.Series(spans.span_id),
        start_ns=pl.Series(spans.start_ns),
        end_ns=pl.Series(np.maximum(spans.start_ns, spans.end_ns)),
        stage=pl.Series(operations.stage),
        is_collective=pl.Series(operations.stage == operations.codes.code(COLLECTIVE)),
    )
    best_first = rows.filter("is_step").sort("start_ns", "end_ns", "span_id", descending=[False, True, False])
    units = (
        best_first.group_by("step_no", "rank", maintain_order=True)
        .agg(
            pl.col("row", "start_ns", "end_ns", "is_failed").first(),
            has_several_steps=pl.len() > 1,
        )
        .sort("step_no", "rank")
        .with_row_index("unit")
        .with_columns(pl.col("unit").cast(pl.Int64))
    )
    by_rank = units.select("step_no", "rank", "unit", root_row="row")
    return _Steps(batch, units, rows.join(by_rank, on=["step_no", "rank"], how="left", maintain_order="left"))


def _with_collectives(steps: _Steps) -> _Steps:
    """Rows with `arrival_ns`, `culprit_rank`, `culprit_unit` and `is_separable` where they are collectives."""
    matched = match_collectives(steps.rows)
    culprits = steps.units.select("step_no", culprit_rank="rank", culprit_unit="unit")
    rows = steps.rows.join(matched, on="row", how="left", maintain_order="left").join(
        culprits, on=["step_no", "culprit_rank"], how="left", maintain_order="left"
    )
    codes = steps.batch.operations.codes
    is_unsplit = pl.col("is_collective") & ~pl.col("is_separable")
    return _Steps(
        steps.batch,
        steps.units,
        rows.with_columns(
            pl.col("culprit_unit").fill_null(NO_UNIT),
            pl.col("is_separable", "is_contradicted").fill_null(False),
            stage=pl.when(is_unsplit).then(codes.code(UNSPLIT)).otherwise("stage"),
            arrival_ns=pl.when("is_separable").then("arrival_ns").otherwise(EARLIEST_NS),
        ),
    )


def _timeline(steps: _Steps) -> tuple[Timeline, NDArray[np.int64]]:
    """Who owns which time of each unit, collectives cut where the last rank arrived; rows of the owners."""
    names = steps.batch.operations.codes.names
    priority = np.array(
        [_PRIORITIES.get(name, _UNATTRIBUTED_PRIORITY if name == UNATTRIBUTED else _OTHER_PRIORITY) for name in names]
    )
    priority[[at for at, name in enumerate(names) if name == UNSPLIT]] = _PRIORITIES[COLLECTIVE]
    rows = steps.rows.with_columns(priority=pl.Series(priority[steps.rows["stage"].to_numpy()]))
    is_background = pl.col("is_async") & (pl.col("priority") >= _HOST_PRIORITY)
    competing = rows.filter(pl.col("unit").is_not_null() & ~pl.col("is_step") & ~is_background)
    swept = priority_sweep(
        competing["unit"].to_numpy(),
        competing["start_ns"].to_numpy(),
        competing["end_ns"].to_numpy(),
        competing["priority"].to_numpy(),
        steps.units["start_ns"].to_numpy(),
        steps.units["end_ns"].to_numpy(),
        tiebreak=competing["span_id"].to_numpy(),
    )
    owner = np.append(competing["row"].to_numpy(), GAP)[swept.row]
    return _cut_at_arrivals(steps, owner, swept.unit, swept.start_ns, swept.end_ns)


def _cut_at_arrivals(
    steps: _Steps,
    owner: NDArray[np.int64],
    unit: NDArray[np.int64],
    start_ns: NDArray[np.int64],
    end_ns: NDArray[np.int64],
) -> tuple[Timeline, NDArray[np.int64]]:
    rows = steps.rows
    arrival_ns = np.append(rows["arrival_ns"].to_numpy(), EARLIEST_NS)[owner]
    cut_ns = np.clip(arrival_ns, start_ns, end_ns)
    # Each segment twice: waiting before the cut, the work itself after it.
    starts_ns = np.stack([start_ns, cut_ns], axis=1).ravel()
    ends_ns = np.stack([cut_ns, end_ns], axis=1).ravel()
    is_wait = np.tile([True, False], len(owner))
    kept = starts_ns < ends_ns
    owners, units = np.repeat(owner, 2)[kept], np.repeat(unit, 2)[kept]
    timeline = Timeline(
        unit=units,
        start_ns=starts_ns[kept],
        end_ns=ends_ns[kept],
        is_wait=is_wait[kept],
        culprit_unit=np.append(rows["culprit_unit"].to_numpy(), NO_UNIT)[owners],
        culprit_rank=np.append(rows["culprit_rank"].fill_null(-1).to_numpy(), -1)[owners].astype(np.int32),
        first=np.searchsorted(units, np.arange(steps.units.height + 1)),
    )
    return timeline, owners


def _segment_names(steps: _Steps, timeline: Timeline, owners: NDArray[np.int64]) -> pl.DataFrame:
    """Stage and operation code of each segment of the timeline."""
    codes = steps.batch.operations.codes
    operation = steps.batch.operations.operation
    root = steps.units["row"].to_numpy()[timeline.unit]
    stage = np.append(steps.rows["stage"].to_numpy(), codes.code(UNATTRIBUTED))[owners]
    return pl.DataFrame(
        {
            "stage": np.where(timeline.is_wait, codes.code(WAIT), stage).astype(np.int32),
            "operation": operation[np.where(owners == GAP, root, owners)],
        }
    )


def _wait_rows(steps: _Steps, timeline: Timeline, owners: NDArray[np.int64]) -> pl.DataFrame:
    codes = steps.batch.operations.codes
    outside = pl.DataFrame(
        {"stage": [codes.code(UNATTRIBUTED)], "operation": [codes.code(OUTSIDE_STEP)]},
        schema={"stage": pl.Int32, "operation": pl.Int32},
    )
    names = pl.concat([_segment_names(steps, timeline, owners), outside])
    charges = follow_waits(timeline)
    # `OUTSIDE` picks the last name.
    segment = charges["segment"].to_numpy()
    return (
        pl.DataFrame(
            {
                "unit": timeline.unit[charges["waiting"].to_numpy()],
                "culprit_rank": charges["rank"].cast(pl.Int32),
                "culprit_stage": names["stage"].to_numpy()[segment],
                "culprit_operation": names["operation"].to_numpy()[segment],
                "wait_ns": charges["wait_ns"],
            }
        )
        .group_by("unit", "culprit_rank", "culprit_stage", "culprit_operation")
        .agg(pl.col("wait_ns").sum())
        .sort("unit", "culprit_rank", "culprit_stage", "culprit_operation")
        .with_columns(_named("culprit_stage", codes.names), _named("culprit_operation", codes.names))
    )


def _named(column: str, names: list[str]) -> pl.Expr:
    return pl.col(column).cast(pl.UInt32).cat.to(pl.Enum(names))


def _stages(steps: _Steps, timeline: Timeline, owners: NDArray[np.int64]) -> tuple[Partition, pl.DataFrame]:
    """Exclusive time by stage and operation under the ledger's rule, beside the critical path's."""
    names = steps.batch.operations.codes.names
    owned = _segment_names(steps, timeline, owners).select(
        "stage",
        "operation",
        unit=pl.Series(timeline.unit),
        row=pl.Series(owners),
        self_ns=pl.Series(timeline.end_ns - timeline.start_ns),
        alternative_ns=pl.lit(0, dtype=pl.Int64),
    )
    critical, alternative = _critical(steps)
    grouped = (
        pl.concat([owned, alternative], how="diagonal")
        .group_by("unit", "stage", "operation")
        .agg(
            pl.col("self_ns", "alternative_ns").sum(),
            operation_count=pl.col("row").filter(pl.col("self_ns") > 0).n_unique().cast(pl.UInt32),
        )
        .sort("unit", "stage", "operation")
    )
    return critical, grouped.select(
        "unit",
        pl.lit("step").alias("window"),
        _named("stage", names),
        _named("operation", names),
        "self_ns",
        "alternative_ns",
        "operation_count",
    )


def _critical(steps: _Steps) -> tuple[Partition, pl.DataFrame]:
    """The critical path of each unit and the time it gives to stages and operations."""
    members = steps.rows.filter(
        pl.col("unit").is_not_null() & (~pl.col("is_step") | (pl.col("row") == pl.col("root_row")))
    )
    critical = partition(_forest(steps, members), rule="critical")
    operations = steps.batch.operations
    parts = _waiting_parts(members, operations)
    end_ns = steps.units["end_ns"].to_numpy()
    cut_ns = np.stack([steps.units["start_ns"].to_numpy(), *[end_ns] * WINDOWS], axis=1)
    owned = exclusive(critical, parts, np.ascontiguousarray(cut_ns))
    operation = operations.operation[members["row"].to_numpy()]
    spans = {"unit": critical.key, "stage": members["stage"].to_numpy(), "operation": operation}
    waiting = {"unit": critical.key[parts.row], "stage": parts.stage, "operation": parts.operation}
    entries = pl.concat(
        [
            pl.DataFrame(spans | {"alternative_ns": owned.span_ns[:, 0]}),
            pl.DataFrame(waiting | {"alternative_ns": owned.part_ns[:, 0]}),
        ]
    ).filter(pl.col("alternative_ns") != 0)
    return critical, entries.with_columns(row=pl.lit(None, dtype=pl.Int64), self_ns=pl.lit(0, dtype=pl.Int64))


def _forest(steps: _Steps, members: pl.DataFrame) -> Forest:
    """The step span with all spans of the step below it; what hangs on nothing here hangs on the step."""
    member_of = np.full(steps.rows.height, PARENTLESS, dtype=np.int64)
    row, root_row = members["row"].to_numpy(), members["root_row"].to_numpy()
    member_of[row] = np.arange(len(row))
    parent = steps.batch.spans.parent[row]
    # Appended for parents that are not there: index -1 or -2.
    above = np.append(member_of, [PARENTLESS, PARENTLESS])[parent]
    unit = members["unit"].to_numpy()
    is_known = (above >= 0) & (unit[above] == unit)
    return Forest.from_columns(
        key=unit,
        parent=np.where(row == root_row, PARENTLESS, np.where(is_known, above, member_of[root_row])),
        start_ns=members["start_ns"].to_numpy(),
        end_ns=members["end_ns"].to_numpy(),
        tiebreak=members["span_id"].to_numpy(),
        blocking=~members["is_async"].to_numpy(),
    )


def _waiting_parts(members: pl.DataFrame, operations: Operations) -> Parts:
    """The part of each collective before the last rank arrived."""
    at = np.flatnonzero(members["arrival_ns"].to_numpy() != EARLIEST_NS)
    none = np.full(len(at), operations.codes.code(UNATTRIBUTED), dtype=np.int32)
    return Parts(
        row=at,
        stage=np.full(len(at), operations.codes.code(WAIT), dtype=np.int32),
        operation=operations.operation[members["row"].to_numpy()[at]],
        start_ns=np.full(len(at), EARLIEST_NS),
        end_ns=members["arrival_ns"].to_numpy()[at],
        placed_by=at,
        source=none,
        quality=none,
    )


def _units(steps: _Steps, partition: Partition) -> pl.DataFrame:
    defects = partition.defects
    counted = steps.rows.group_by("unit").agg(
        span_count=pl.len(),
        conflict_count=pl.col("is_contradicted").sum(),
        unsplit_count=(pl.col("is_collective") & ~pl.col("is_separable")).sum(),
    )
    noticed: dict[str, pl.Expr | pl.Series] = {
        "conflict:collective": pl.col("conflict_count") > 0,
        "ranks_missing": pl.col("unsplit_count") > pl.col("conflict_count"),
        "several_step_spans": pl.col("has_several_steps"),
        "cycles": pl.Series(defects.cycle_count > 0),
        "negative_durations": pl.Series(defects.negative_duration_count > 0),
        "truncated": pl.Series(defects.truncated_ns > 0),
    }
    words = [pl.when(mask).then(pl.lit(name)) for name, mask in noticed.items()]
    return steps.units.join(counted, on="unit", how="left", maintain_order="left").select(
        "unit",
        "step_no",
        "rank",
        "start_ns",
        "end_ns",
        "span_count",
        "conflict_count",
        root_span_row=pl.Series(steps.batch.spans.span_row[steps.units["row"].to_numpy()]),
        outcome=pl.when("is_failed").then(pl.lit("failed")).otherwise(pl.lit("ok")),
        outside_count=pl.Series(defects.outside_count),
        outside_ns=pl.Series(defects.outside_ns),
        post_root_ns=pl.Series(defects.post_root_ns),
        flags=pl.concat_str(*words, separator=",", ignore_nulls=True).replace("", None),
    )
