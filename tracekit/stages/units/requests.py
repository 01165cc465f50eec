"""From the operations of traces to requests and the exclusive time of their stages: frames in, frames out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.partition import Partition, partition
from tracekit.stages.units.exclusive import WINDOWS, Exclusive, exclusive
from tracekit.stages.units.facts import request_facts
from tracekit.stages.units.messages import started_by_messages
from tracekit.stages.units.operations import MISSING, STARTUP, UNATTRIBUTED, Operations
from tracekit.stages.units.streaming import with_streamed_roots
from tracekit.stages.units.traces import TraceBatch, TraceTables, trace_batch

WINDOW_NAMES = ("ttft", "decode", "after", "e2e")
"""Names of the windows of a request: the first three where its first token is known, else the last."""

_GROUP = ("unit", "window", "stage", "operation")


@dataclass(frozen=True, eq=False)
class RequestFrames:
    """Units and the exclusive time of their stages.

    `units` has `unit` (a number inside the batch), `root_span_row` and the columns of base.units that do not
    come from the root span itself. `stages` has `unit` and the other columns of base.unit_stages.
    """

    units: pl.DataFrame
    stages: pl.DataFrame


def build_requests(tables: TraceTables) -> RequestFrames:
    """Requests of some whole traces; a trace that starts an engine has none.

    Depends on nothing but the tables: a trace has the same requests whatever traces are beside it.
    """
    batch, critical, facts, post_root_ns = partitioned(trace_batch(tables))
    other = partition(batch.forest, rule="active_last", skew=batch.skew)
    cut_ns = window_cuts(facts)
    stages = _stage_rows(
        batch,
        critical,
        exclusive(critical, batch.operations.parts, cut_ns),
        exclusive(other, batch.operations.parts, cut_ns),
        has_tokens=facts["first_token_ns"].is_not_null().to_numpy(),
    )
    startup = batch.operations.codes.code(STARTUP)
    is_request = batch.operations.stage[critical.root_row] != startup
    units = _unit_rows(batch, critical, facts).with_columns(post_root_ns=pl.Series(post_root_ns))
    return RequestFrames(
        units=units.filter(pl.Series(is_request)),
        stages=stages.filter(pl.Series(is_request)[stages["unit"]]),
    )


def partitioned(batch: TraceBatch) -> tuple[TraceBatch, Partition, pl.DataFrame, NDArray[np.int64]]:
    """The batch with roots that last until their request's last token, its partition and its facts, and by how
    long spans outlast the roots as they came (int64[key]).
    """
    span_facts = batch.operations.facts
    critical = partition(batch.forest, rule="critical", skew=batch.skew)
    facts = request_facts(span_facts, batch.outcomes, critical, batch.alternatives)
    post_root_ns = critical.defects.post_root_ns
    forest = with_streamed_roots(batch.forest, span_facts, facts, critical)
    if forest is not batch.forest:
        batch = replace(batch, forest=forest)
        critical = partition(forest, rule="critical", skew=batch.skew)
        facts = request_facts(span_facts, batch.outcomes, critical, batch.alternatives)
    return batch, critical, facts, post_root_ns


def window_cuts(facts: pl.DataFrame) -> NDArray[np.int64]:
    """Cuts between the windows of each request, `[key, 0..3]`.

    With a known first token: arrival, first token, last token (the end where it is unknown), end. Without:
    one window, and two empty ones at the end.
    """
    end = pl.col("end_ns")
    first = pl.coalesce("first_token_ns", end)
    last = pl.coalesce("last_token_ns", end)
    return facts.select("start_ns", first.alias("first"), last.alias("last"), end).to_numpy(order="c").astype(np.int64)


def _stage_rows(
    batch: TraceBatch,
    partition: Partition,
    primary: Exclusive,
    alternative: Exclusive,
    *,
    has_tokens: NDArray[np.bool_],
) -> pl.DataFrame:
    operations, parts = batch.operations, batch.operations.parts
    synthetic = np.full(partition.row_count - partition.given_rows, operations.codes.code(MISSING), dtype=np.int32)
    unattributed = np.full_like(synthetic, operations.codes.code(UNATTRIBUTED))
    entries = pl.concat(
        [
            _entries(
                primary.span_ns,
                alternative.span_ns,
                partition.key,
                np.concatenate([operations.stage, unattributed]),
                np.concatenate([operations.operation, synthetic]),
            ),
            _entries(primary.part_ns, alternative.part_ns, partition.key[parts.row], parts.stage, parts.operation),
        ]
    )
    return _grouped(_in_windows(entries, batch, has_tokens), operations)


def _entries(
    self_ns: NDArray[np.int64],
    alternative_ns: NDArray[np.int64],
    key: NDArray[np.int64],
    stage: NDArray[np.int32],
    operation: NDArray[np.int32],
) -> pl.DataFrame:
    """One row an operation and window in which it owns time under either rule."""
    row, window = np.nonzero(self_ns | alternative_ns)
    return pl.DataFrame(
        {
            "unit": key[row],
            "window": window.astype(np.int32),
            "stage": stage[row],
            "operation": operation[row],
            "self_ns": self_ns[row, window],
            "alternative_ns": alternative_ns[row, window],
        }
    )


def stage_in_windows(batch: TraceBatch) -> NDArray[np.int32]:
    """Code of the stage that time of each stage has in each window: `[number of the window, stage code]`."""
    codes = batch.operations.codes
    overrides = [
        (WINDOW_NAMES.index(window), codes.code(stage), codes.code(becomes))
        for stage, window, becomes in batch.window_overrides.select("stage", "window", "becomes").iter_rows()
    ]
    becoming = np.tile(np.arange(len(codes.names), dtype=np.int32), (len(WINDOW_NAMES), 1))
    for window, stage, becomes in overrides:
        becoming[window, stage] = becomes
    return becoming


def _in_windows(entries: pl.DataFrame, batch: TraceBatch, has_tokens: NDArray[np.bool_]) -> pl.DataFrame:
    """Windows as numbers of `WINDOW_NAMES`, stages as they are in them."""
    stages = stage_in_windows(batch)
    unit = entries["unit"].to_numpy()
    window = np.where(has_tokens[unit], entries["window"].to_numpy(), WINDOWS)
    return entries.with_columns(
        pl.Series("window", window.astype(np.int32)),
        pl.Series("stage", stages[window, entries["stage"].to_numpy()]),
    )


def _grouped(entries: pl.DataFrame, operations: Operations) -> pl.DataFrame:
    """Sums by unit, window, stage and operation, in this order."""
    names = len(operations.codes.names)
    unit, window, stage, operation = (entries[name].to_numpy().astype(np.int64) for name in _GROUP)
    group = ((unit * len(WINDOW_NAMES) + window) * names + stage) * names + operation
    # One number a group, nearly in order already: sorting beats hashing.
    order = np.argsort(group, kind="stable")
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    self_ns, alternative_ns = (entries[name].to_numpy()[order] for name in ("self_ns", "alternative_ns"))
    of_group = order[first]
    return pl.DataFrame(
        {
            "unit": unit[of_group],
            "window": _named(window[of_group], WINDOW_NAMES),
            "stage": _named(stage[of_group], operations.codes.names),
            "operation": _named(operation[of_group], operations.codes.names),
            "self_ns": _summed(self_ns, first),
            "alternative_ns": _summed(alternative_ns, first),
            "operation_count": _summed((self_ns > 0).astype(np.uint32), first),
        }
    )


def _named(codes: NDArray[np.int64], names: Sequence[str]) -> pl.Series:
    return pl.Series(codes, dtype=pl.UInt32).cat.to(pl.Enum(names))


def _summed(values: NDArray[Any], first: NDArray[np.int64]) -> NDArray[Any]:
    # `reduceat` refuses an empty list of groups.
    return np.add.reduceat(values, first) if len(first) else values[:0]


def _unit_rows(batch: TraceBatch, partition: Partition, facts: pl.DataFrame) -> pl.DataFrame:
    defects = partition.defects
    return facts.select(
        unit="key",
        root_span_row=pl.Series(batch.spans.span_row[partition.root_row]),
        model="model",
        start_ns="start_ns",
        end_ns="end_ns",
        first_token_ns="first_token_ns",
        last_token_ns="last_token_ns",
        input_tokens="input_tokens",
        output_tokens="output_tokens",
        outcome="outcome",
        vantage="vantage",
        seen_from="seen_from",
        span_count=pl.Series(np.bincount(batch.spans.key, minlength=partition.key_count)),
        orphan_count=pl.Series(defects.orphan_count),
        orphan_ns=pl.Series(defects.orphan_ns),
        outside_count=pl.Series(defects.outside_count),
        outside_ns=pl.Series(defects.outside_ns + defects.truncated_ns),
        post_root_ns=pl.Series(defects.post_root_ns),
        shift_ns=pl.Series(defects.shift_ns),
        conflict_count=pl.col("conflicts").str.count_matches(",", literal=True).add(1).fill_null(0),
        flags=_flags(batch, partition, facts),
    )


def _flags(batch: TraceBatch, partition: Partition, facts: pl.DataFrame) -> pl.Series:
    """What was noticed about each request, comma-separated; null where nothing was."""
    defects = partition.defects
    noticed = {
        "several_calls": facts["has_several_calls"].to_numpy(),
        "root_parent_missing": defects.root_parent_missing,
        "extra_roots": defects.extra_root_count > 0,
        "async": defects.async_count > 0,
        "cycles": defects.cycle_count > 0,
        "negative_durations": defects.negative_duration_count > 0,
        "truncated": defects.truncated_ns > 0,
        "from_message": started_by_messages(batch.as_sent, batch.spans, partition.root_row),
    }
    words = [pl.when(pl.Series(mask)).then(pl.lit(name)) for name, mask in noticed.items()]
    return facts.select(
        pl.concat_str(
            pl.lit("conflict:") + pl.col("conflicts").str.replace_all(",", ",conflict:", literal=True),
            *words,
            separator=",",
            ignore_nulls=True,
        ).replace("", None)
    ).to_series()
