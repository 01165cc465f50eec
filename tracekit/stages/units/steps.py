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

from tracekit.partition import GAP, PARENTLESS, Forest, Partition, partition
from tracekit.stages.units.exclusive import WINDOWS, exclusive
from tracekit.stages.units.operations import EARLIEST_NS, UNATTRIBUTED, Operations, Parts, operations_of
from tracekit.stages.units.spans import Spans
from tracekit.stages.units.step_costs import collective_rows, lead_in_rows, named, wait_rows
from tracekit.stages.units.step_rows import WAIT, StepBatch, Steps, with_steps
from tracekit.stages.units.timelines import segment_names, timeline_of
from tracekit.stages.units.waits import Timeline


@dataclass(frozen=True, eq=False)
class StepTables:
    """All that is known about the spans of some whole training steps, as Arrow tables.

    spans : as in `TraceTables`; `key` numbers the part of one trace of one rank in one step.
    mapped : what the mappings of steps say, in order of precedence; see `operations_of`.
    facts : what each span tells about its step: `span_row`, `step`, `step_no`, `previous_no` (the step before, null
        where that is not in the tables), `is_context` (whether the step is there only for the one after it), `rank`,
        `world_size`, `host` (a number, null where unknown), `is_sharded`, `is_between` (whether it leads into the
        step), `is_step`, `is_failed`, `is_async`, `collective_group`, `collective_name`, `collective_seq`,
        `collective_bytes`.
    """

    spans: pa.Table
    mapped: tuple[pa.Table, ...]
    facts: pa.Table


@dataclass(frozen=True, eq=False)
class StepFrames:
    """Units, the exclusive time of their stages, whom they waited for, what led into them, and their collectives.

    `units` has `unit` (a number inside the batch), `step_no`, `root_span_row` and the columns of base.units
    that do not come from the step itself; the others have `unit` and the other columns of base.unit_stages,
    base.step_waits, base.step_lead_ins and base.step_collectives.
    """

    units: pl.DataFrame
    stages: pl.DataFrame
    waits: pl.DataFrame
    lead_ins: pl.DataFrame
    collectives: pl.DataFrame


def build_steps(tables: StepTables) -> StepFrames:
    """Units of some whole steps; a rank without a step span has none, its collectives count all the same.

    Depends on nothing but the tables: a step has the same units whatever steps are beside it and the one before it.
    """
    steps = with_steps(step_batch(tables))
    timeline, owners = timeline_of(steps)
    critical, stages = _stages(steps, timeline, owners)
    return StepFrames(
        units=_units(steps, critical),
        stages=stages,
        waits=wait_rows(steps, timeline, owners),
        lead_ins=lead_in_rows(steps, timeline, owners),
        collectives=collective_rows(steps, timeline, owners),
    )


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
    steps = with_steps(batch)
    timeline, owners = timeline_of(steps)
    names = batch.operations.codes.names
    root = steps.units["row"].to_numpy()[timeline.unit]
    shift_ns = steps.units["shift_ns"].to_numpy()[timeline.unit]
    segments = segment_names(steps, timeline, owners).select(
        named("stage", names).cast(pl.String),
        named("operation", names).cast(pl.String),
        row=pl.Series(np.where(owners == GAP, root, owners)),
        is_wait=pl.Series(timeline.is_wait),
        start_ns=pl.Series(timeline.start_ns - shift_ns),
        end_ns=pl.Series(timeline.end_ns - shift_ns),
    )
    is_context = steps.units["is_context"].to_numpy()[timeline.unit]
    return segments.filter(pl.Series(~(is_context | timeline.is_lead_in)))


def _stages(steps: Steps, timeline: Timeline, owners: NDArray[np.int64]) -> tuple[Partition, pl.DataFrame]:
    """Exclusive time by stage and operation under the ledger's rule, beside the critical path's."""
    names = steps.batch.operations.codes.names
    owned = segment_names(steps, timeline, owners).select(
        "stage",
        "operation",
        unit=pl.Series(timeline.unit),
        row=pl.Series(owners),
        self_ns=pl.Series(timeline.end_ns - timeline.start_ns),
        alternative_ns=pl.lit(0, dtype=pl.Int64),
    )
    critical, alternative = _critical(steps)
    owned = owned.filter(pl.Series(~timeline.is_lead_in))
    is_context = steps.units.filter("is_context")["unit"]
    grouped = (
        pl.concat([owned, alternative], how="diagonal")
        .filter(~pl.col("unit").is_in(is_context.implode()))
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
        named("stage", names),
        named("operation", names),
        "self_ns",
        "alternative_ns",
        "operation_count",
    )


def _critical(steps: Steps) -> tuple[Partition, pl.DataFrame]:
    """The critical path of each unit and the time it gives to stages and operations."""
    members = steps.rows.filter(
        pl.col("unit").is_not_null()
        & ~pl.col("is_between")
        & (~pl.col("is_step") | (pl.col("row") == pl.col("root_row")))
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


def _forest(steps: Steps, members: pl.DataFrame) -> Forest:
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


def _units(steps: Steps, partition: Partition) -> pl.DataFrame:
    defects = partition.defects
    counted = (
        steps.rows.filter(~pl.col("is_between"))
        .group_by("unit")
        .agg(
            span_count=pl.len(),
            conflict_count=pl.col("is_contradicted").sum(),
            has_odd_sizes=pl.col("has_odd_size").any(),
            unsplit_count=(pl.col("is_collective") & ~pl.col("is_separable")).sum(),
        )
    )
    noticed: dict[str, pl.Expr | pl.Series] = {
        "conflict:collective": pl.col("conflict_count") > 0,
        "odd_collective_sizes": pl.col("has_odd_sizes"),
        "ranks_missing": pl.col("unsplit_count") > pl.col("conflict_count"),
        "several_step_spans": pl.col("has_several_steps"),
        "cycles": pl.Series(defects.cycle_count > 0),
        "negative_durations": pl.Series(defects.negative_duration_count > 0),
        "truncated": pl.Series(defects.truncated_ns > 0),
    }
    words = [pl.when(mask).then(pl.lit(name)) for name, mask in noticed.items()]
    return (
        steps.units.join(counted, on="unit", how="left", maintain_order="left")
        .select(
            "unit",
            "step_no",
            "rank",
            "is_context",
            "shift_ns",
            "span_count",
            "conflict_count",
            pl.col("start_ns", "end_ns") - pl.col("shift_ns"),
            root_span_row=pl.Series(steps.batch.spans.span_row[steps.units["row"].to_numpy()]),
            outcome=pl.when("is_failed").then(pl.lit("failed")).otherwise(pl.lit("ok")),
            outside_count=pl.Series(defects.outside_count),
            outside_ns=pl.Series(defects.outside_ns),
            post_root_ns=pl.Series(defects.post_root_ns),
            flags=pl.concat_str(*words, separator=",", ignore_nulls=True).replace("", None),
        )
        .filter(~pl.col("is_context"))
        .drop("is_context")
    )
