"""The operations of one trace with the time that each owns: the proof behind its unit stages."""

from __future__ import annotations

import re

import duckdb
import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit import queries
from tracekit.errors import UsageError
from tracekit.partition import Partition
from tracekit.stages.units.exclusive import NO_PART, owned_pieces
from tracekit.stages.units.operations import EARLIEST_NS, LATEST_NS, MISSING, UNATTRIBUTED
from tracekit.stages.units.requests import WINDOW_NAMES, partitioned, stage_in_windows, window_cuts
from tracekit.stages.units.steps import step_batch, step_segments
from tracekit.stages.units.traces import TraceBatch, trace_batch
from tracekit.stages.update.reading import read_steps, read_traces, select_shown_trace, select_step_batch
from tracekit.stages.update.selection import batch_ranges, select_trace
from tracekit.store import Database

_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_BATCH_SPANS = 500_000
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "span_id": pl.String,
    "parent_span_id": pl.String,
    "operation": pl.String,
    "stage": pl.String,
    "owner": pl.String,
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "owned": pl.List(pl.Struct({"start_ns": pl.Int64, "end_ns": pl.Int64})),
    "source": pl.String,
    "quality": pl.String,
}
_UNOWNED = [name for name in _SCHEMA if name != "owner"]


def operations(database: Database, *, trace_id: str) -> pl.DataFrame:
    """Spans of a trace and the operations inside them, with the time that each owns.

    Columns: `span_id` (null for an operation that no span of its own shows), `parent_span_id` (for such a
    one the span that it lies in), `operation`, `stage`, `owner`, `start_ns`, `end_ns`, `owned` (a list of
    `{start_ns, end_ns}`: disjoint over the whole trace, they cover the request, or each step of a training
    trace), `source` (span, event, attribute, metric or gap) and `quality` (observed, derived, conflict or
    unsplit). Times are nanoseconds since the epoch, of a request on the clock of its root. A stage that
    means something else in a window of the request has a row of its own there. No rows for a trace that is
    not there. Raises `UsageError` for an id that is not 32 lower-case hexadecimal digits.
    """
    if not _TRACE_ID.fullmatch(trace_id):
        raise UsageError(
            f"{trace_id!r} is no trace id; give 32 lower-case hexadecimal digits", option="trace_id", value=trace_id
        )
    with database.transaction() as cursor:
        select_trace(cursor, trace_id=trace_id, batch_spans=_BATCH_SPANS)
        in_steps = _step_segments(cursor)
        if not select_shown_trace(cursor):
            return pl.DataFrame(schema=_SCHEMA)
        batch = trace_batch(read_traces(cursor))
        ids = _ids(cursor, batch)
        batch, partition, facts, _ = partitioned(batch)
        pieces = _request_pieces(batch, partition, facts) if in_steps.is_empty() else _step_pieces(batch, in_steps)
        rows = pl.concat([_span_rows(batch, partition, ids, pieces), _inner_rows(batch, partition, ids, pieces)])
        return _finished(cursor, rows)


def _step_segments(cursor: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """Who owns which time of the steps that the trace has a part in; no rows where it has a part in none."""
    found = [
        pl.DataFrame(
            schema={"span_row": pl.Int64, "is_wait": pl.Boolean, "stage": pl.String, "operation": pl.String}
            | {"start_ns": pl.Int64, "end_ns": pl.Int64}
        )
    ]
    for batch_no, first_ns, last_ns in batch_ranges(cursor, "step_ranges"):
        select_step_batch(cursor, batch_no=batch_no, first_ns=first_ns, last_ns=last_ns)
        batch = step_batch(read_steps(cursor))
        segments = step_segments(batch)
        span_row = pl.Series("span_row", batch.spans.span_row[segments["row"].to_numpy()])
        found.append(segments.select(span_row, "is_wait", "stage", "operation", "start_ns", "end_ns"))
    return pl.concat(found)


def _ids(cursor: duckdb.DuckDBPyConnection, batch: TraceBatch) -> pl.DataFrame:
    """One row a span, in order: `row`, `span_id`, `parent_span_id`."""
    shown = cursor.sql(queries.text("units/shown_spans")).pl()
    row = pl.Series("row", batch.spans.rows_of(shown["span_row"].to_numpy()))
    return shown.select(row, "span_id", "parent_span_id").sort("row")


def _request_pieces(batch: TraceBatch, partition: Partition, facts: pl.DataFrame) -> pl.DataFrame:
    """Owned pieces: `row`, `part`, `stage`, whether its window changed it (`is_changed`), interval."""
    pieces = owned_pieces(partition, batch.operations.parts, window_cuts(facts))
    mapped = np.where(
        pieces.part == NO_PART,
        _stage_codes(batch, partition)[pieces.row],
        np.append(batch.operations.parts.stage, 0)[pieces.part],
    )
    has_tokens = facts["first_token_ns"].is_not_null().to_numpy()[partition.key[pieces.row]]
    window = np.where(has_tokens, pieces.window, WINDOW_NAMES.index("e2e"))
    stage = stage_in_windows(batch)[window, mapped]
    return pl.DataFrame(
        {
            "row": pieces.row,
            "part": pieces.part,
            "stage": batch.operations.codes.decode(stage),
            "is_changed": stage != mapped,
            "start_ns": pieces.start_ns,
            "end_ns": pieces.end_ns,
        }
    )


def _step_pieces(batch: TraceBatch, segments: pl.DataFrame) -> pl.DataFrame:
    """The segments of steps that spans of this trace own, as pieces."""
    known = segments.filter(pl.col("span_row").is_in(pl.Series(batch.spans.span_row).implode()))
    return known.select(
        pl.Series("row", batch.spans.rows_of(known["span_row"].to_numpy())),
        pl.lit(NO_PART, dtype=pl.Int64).alias("part"),
        "stage",
        pl.col("is_wait").alias("is_changed"),
        "start_ns",
        "end_ns",
    )


def _stage_codes(batch: TraceBatch, partition: Partition) -> NDArray[np.int32]:
    """Stage code of every row, `<missing>` nodes included."""
    missing = np.full(partition.row_count - partition.given_rows, batch.operations.codes.code(UNATTRIBUTED))
    return np.concatenate([batch.operations.stage, missing]).astype(np.int32)


def _span_rows(batch: TraceBatch, partition: Partition, ids: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """A row a span, and one a parent that did not arrive."""
    codes = batch.operations.codes
    missing = np.full(partition.row_count - partition.given_rows, codes.code(MISSING), dtype=np.int32)
    spans = pl.DataFrame(
        {
            "row": np.arange(partition.row_count),
            "operation": codes.decode(np.concatenate([batch.operations.operation, missing])),
            "mapped": codes.decode(_stage_codes(batch, partition)),
            "start_ns": partition.start_ns,
            "end_ns": partition.end_ns,
            "source": np.where(partition.is_missing, "gap", "span"),
        }
    )
    conflicts = batch.operations.facts.select("row", is_conflict=pl.col("conflicts").is_not_null())
    own = pieces.filter((pl.col("part") == NO_PART) & ~pl.col("is_changed"))
    return (
        spans.join(_with_missing(ids, partition), on="row", how="left")
        .join(conflicts, on="row", how="left")
        .join(_owned(own, "row", "stage"), on="row", how="left")
        .with_columns(stage=pl.coalesce("stage", "mapped"))
        .with_columns(quality=_quality(pl.col("is_conflict").fill_null(False), pl.col("source") == "gap"))
        .select(_UNOWNED)
    )


def _with_missing(ids: pl.DataFrame, partition: Partition) -> pl.DataFrame:
    """Ids of spans, and of the parents that did not arrive; those hang on the root of their trace."""
    row = np.flatnonzero(partition.is_missing)
    root = partition.root_row[partition.key[row]]
    missing = pl.DataFrame(
        {
            "row": row,
            "span_id": [f"{number:016x}" for number in partition.missing_parent_id.tolist()],
            "parent_span_id": ids["span_id"].gather(root),
        },
        schema=ids.schema,
    )
    return pl.concat([ids, missing])


def _owned(pieces: pl.DataFrame, *by: str) -> pl.DataFrame:
    """The intervals of pieces as a list."""
    by_time = pieces.sort("start_ns").group_by(*by, maintain_order=True)
    return by_time.agg(owned=pl.struct("start_ns", "end_ns"))


def _quality(is_conflict: pl.Expr, is_derived: pl.Expr) -> pl.Expr:
    return (
        pl.when(is_conflict)
        .then(pl.lit("conflict"))
        .when(pl.col("stage").str.starts_with("unsplit("))
        .then(pl.lit("unsplit"))
        .when(is_derived)
        .then(pl.lit("derived"))
        .otherwise(pl.lit("observed"))
    )


def _inner_rows(batch: TraceBatch, partition: Partition, ids: pl.DataFrame, pieces: pl.DataFrame) -> pl.DataFrame:
    """A row a part of a span, and one a stage that a span or part has only in a window or while it waits."""
    parts = _part_rows(batch, partition).join(
        _owned(pieces.filter((pl.col("part") != NO_PART) & ~pl.col("is_changed")), "part"),
        on="part",
        how="left",
    )
    changed = _owned(pieces.filter("is_changed"), "row", "part", "stage").with_columns(
        start_ns=pl.col("owned").list.first().struct.field("start_ns"),
        end_ns=pl.col("owned").list.last().struct.field("end_ns"),
        source=pl.lit("gap"),
        quality=pl.lit("derived"),
    )
    changed = changed.join(_operation_names(batch, partition), on=["row", "part"], how="left")
    holders = ids.select("row", parent_span_id="span_id", span_id=pl.lit(None, dtype=pl.String))
    return pl.concat([parts.select(changed.columns), changed]).join(holders, on="row", how="left").select(_UNOWNED)


def _part_rows(batch: TraceBatch, partition: Partition) -> pl.DataFrame:
    """Parts of spans on the clock of the root, inside their span."""
    parts, codes = batch.operations.parts, batch.operations.codes
    shift_ns = partition.shift_ns[parts.placed_by]
    low_ns, high_ns = partition.start_ns[parts.row], partition.end_ns[parts.row]
    is_open = parts.start_ns == EARLIEST_NS, parts.end_ns == LATEST_NS
    start_ns = np.where(is_open[0], low_ns, np.where(is_open[0], 0, parts.start_ns) + shift_ns)
    end_ns = np.where(is_open[1], high_ns, np.where(is_open[1], 0, parts.end_ns) + shift_ns)
    return pl.DataFrame(
        {
            "row": parts.row,
            "part": np.arange(len(parts.row)),
            "operation": codes.decode(parts.operation),
            "stage": codes.decode(parts.stage),
            "start_ns": np.clip(start_ns, low_ns, high_ns),
            "end_ns": np.clip(end_ns, low_ns, high_ns),
            "source": codes.decode(parts.source),
            "quality": codes.decode(parts.quality),
        }
    )


def _operation_names(batch: TraceBatch, partition: Partition) -> pl.DataFrame:
    """Names of the operations of spans and parts: `row`, `part`, `operation`."""
    operations, codes = batch.operations, batch.operations.codes
    parts = operations.parts
    spans = {
        "row": np.arange(partition.given_rows),
        "part": np.full(partition.given_rows, NO_PART),
        "operation": codes.decode(operations.operation),
    }
    inner = {"row": parts.row, "part": np.arange(len(parts.row)), "operation": codes.decode(parts.operation)}
    return pl.concat([pl.DataFrame(spans), pl.DataFrame(inner)])


def _finished(cursor: duckdb.DuckDBPyConnection, rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with the owner of their stage, in order of time."""
    stages = rows["stage"].unique().to_list()
    owners = cursor.sql(queries.text("tail/stage_owners"), params={"stages": stages}).pl()
    empty = pl.lit([], dtype=_SCHEMA["owned"])
    return (
        rows.join(owners.select("stage", "owner"), on="stage", how="left")
        .with_columns(pl.col("owned").fill_null(empty))
        .sort("start_ns", "span_id", "operation", "stage", nulls_last=True)
        .select(pl.col(name).cast(kind) for name, kind in _SCHEMA.items())
    )
