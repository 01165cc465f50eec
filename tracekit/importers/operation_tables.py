"""Tables with one row an operation of a training step: Parquet or CSV, from profilers that write no spans.

Two layouts are recognised by their columns.

tracekit's own, of which the first four and an end are needed:

    step, rank                      numbers of the training step and of the global rank
    operation                       what was done, for example forward, backward, all_reduce
    start_ns                        when it began; `_us`, `_ms` and `_s` instead of `_ns` for other units
    end_ns or duration_ns           when it ended or how long it took, in the same units
    job, attempt, host              whose step it was (default: the file's name, 0, none)
    data_parallel_rank, tensor_parallel_rank, pipeline_stage      coordinates in the mesh
    microbatch, chunk, model_chunk  micro-batch, and model chunk in the stage and in the whole model
    sequence                        number among the operations of this name, rank and step by start (default: counted)
    stage                           tracekit's stage code, or a short word as in `tracekit.stage`
    collective, group, collective_sequence, bytes    of communication: what matches it between ranks

and that of the OSDI 2025 what-if analysis (ByteDance-Seed/StragglerAnalysis): `dp_rank`, `stage`, `rank`, `step`,
`optype`, `start_ts` and `duration` in seconds, `seq_id`, `mc`, `gmc`, `mb_id`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.errors import UnknownFormatError

Layout = Literal["operations", "osdi25"]

OPERATION_SCHEMA: dict[str, pl.DataType] = {
    "job": pl.Categorical(),
    "attempt": pl.Int32(),
    "step": pl.Int64(),
    "rank": pl.Int32(),
    "data_parallel_rank": pl.Int32(),
    "tensor_parallel_rank": pl.Int32(),
    "pipeline_stage": pl.Int32(),
    "host": pl.Categorical(),
    "operation": pl.Categorical(),
    "stage": pl.Categorical(),
    "sequence": pl.Int32(),
    "microbatch": pl.Int32(),
    "chunk": pl.Int32(),
    "model_chunk": pl.Int32(),
    "collective": pl.Categorical(),
    "group": pl.Categorical(),
    "collective_sequence": pl.Int64(),
    "bytes": pl.Int64(),
    "start_ns": pl.Int64(),
    "end_ns": pl.Int64(),
}
"""Columns of `OperationTable.operations`; instead of a categorical it can be an enumeration. `stage` is tracekit's
code; null is what the table does not say."""

EPOCH_NS = 10**18
"""Times before this (September 2001) count from some other origin than the Unix epoch."""

_UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_NEEDED = ("step", "rank", "operation")
_OSDI25 = ("dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "gmc", "mb_id")
_NUMBERS = (
    "attempt", "data_parallel_rank", "tensor_parallel_rank", "pipeline_stage", "sequence", "microbatch", "chunk",
    "model_chunk", "collective_sequence", "bytes",
)  # fmt: skip
_TEXTS = ("job", "host", "stage", "collective", "group")

OSDI25_KINDS: dict[str, tuple[str, str | None, str | None]] = {
    "forward-compute": ("step.compute", None, None),
    "backward-compute": ("step.compute", None, None),
    "optimizer": ("step.compute", None, None),
    "gc": ("step.host_bound", None, None),
    "forward-send": ("step.exposed_comm", "send_recv", "forward"),
    "forward-recv": ("step.exposed_comm", "send_recv", "forward"),
    "backward-send": ("step.exposed_comm", "send_recv", "backward"),
    "backward-recv": ("step.exposed_comm", "send_recv", "backward"),
    "params-all-gather": ("step.exposed_comm", "all_gather", "params"),
    "grads-reduce-scatter": ("step.exposed_comm", "reduce_scatter", "grads"),
    "separate-grads-all-reduce": ("step.exposed_comm", "all_reduce", "separate-grads"),
    "layernorm-grads-all-reduce": ("step.exposed_comm", "all_reduce", None),
    "embedding-grads-all-reduce": ("step.exposed_comm", "all_reduce", "embedding"),
    "optimizer-clip-main-grad": ("step.exposed_comm", "all_reduce", "world"),
}
"""Kinds of operations of the OSDI'25 layout: stage, collective, and over whom it goes."""


@dataclass(frozen=True, eq=False)
class OperationTable:
    """The operations of a file.

    layout: which one it had. operations: columns of `OPERATION_SCHEMA`. rejected: rows set aside, by reason.
    notes: what was assumed of the others.
    """

    layout: Layout
    operations: pl.DataFrame
    rejected: dict[str, int]
    notes: tuple[str, ...]

    @property
    def is_relative(self) -> bool:
        """Whether times count from some other origin than the Unix epoch."""
        return not self.operations.is_empty() and int(self.operations["start_ns"].max()) < EPOCH_NS  # type: ignore[arg-type]


def layout_of(columns: Collection[str]) -> Layout | None:
    """The layout of a table with these columns; None where it is no table of operations."""
    if all(name in columns for name in _OSDI25):
        return "osdi25"
    has_times = any(f"start_{unit}" in columns and _end_column(columns, unit) for unit in _UNITS)
    return "operations" if has_times and all(name in columns for name in _NEEDED) else None


def recognises(path: Path) -> bool:
    """Whether a file is a Parquet or CSV table of operations, by its own description of its columns."""
    try:
        return layout_of(_scan(path).collect_schema().names()) is not None
    except (pl.exceptions.PolarsError, OSError, UnknownFormatError):
        return False


def read_operations(path: Path, *, job: str | None = None) -> OperationTable:
    """The operations of a Parquet or CSV file; `job` names the job where the table does not.

    Rows without a step, rank, operation or time, and those that end before they start, are set aside and counted.
    Raises `UnknownFormatError` where it is no table of operations, cannot be read, or its times cannot be told.
    """
    try:
        scanned = _scan(path)
        layout = layout_of(scanned.collect_schema().names())
        if layout is None:
            raise UnknownFormatError(
                f"{path} has no columns of a table of operations: {', '.join(_NEEDED)}, start_ns and end_ns are needed",
                path=path,
            )
        rows = _osdi25(scanned) if layout == "osdi25" else _operations(scanned).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise UnknownFormatError(f"{path} cannot be read as a table of operations: {error}", path=path) from error
    kept, rejected = _kept(rows)
    notes: list[str] = []
    placed = _placed(kept, notes)
    return OperationTable(layout, _finished(placed, job or path.stem), rejected, tuple(notes))


def _scan(path: Path) -> pl.LazyFrame:
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    return pl.scan_parquet(path) if is_parquet else pl.scan_csv(path, infer_schema_length=10_000)


def _end_column(columns: Collection[str], unit: str) -> str | None:
    return next((name for name in (f"end_{unit}", f"duration_{unit}") if name in columns), None)


def _operations(table: pl.LazyFrame) -> pl.LazyFrame:
    schema = table.collect_schema()
    unit = next(unit for unit in _UNITS if f"start_{unit}" in schema and _end_column(schema.names(), unit))
    end = _end_column(schema.names(), unit) or ""
    _check_precision(schema[f"start_{unit}"], f"start_{unit}", table, _UNITS[unit])
    start_ns, last = _nanoseconds(f"start_{unit}", schema, unit), _nanoseconds(end, schema, unit)
    given = {name: pl.col(name).cast(pl.Int64, strict=False) for name in _NUMBERS if name in schema}
    texts = {name: pl.col(name).cast(pl.String) for name in _TEXTS if name in schema}
    return table.select(
        pl.col("step", "rank").cast(pl.Int64, strict=False),
        pl.col("operation").cast(pl.String),
        start_ns=start_ns,
        end_ns=last if end.startswith("end") else start_ns + last,
        **given,
        **texts,
    )


def _nanoseconds(name: str, schema: pl.Schema, unit: str) -> pl.Expr:
    if schema[name].is_float():
        scaled = (pl.col(name).cast(pl.Float64) * _UNITS[unit]).round()
        return pl.when(scaled.is_finite()).then(scaled).cast(pl.Int64, strict=False)
    return pl.col(name).cast(pl.Int64, strict=False) * _UNITS[unit]


def _check_precision(kind: pl.DataType, name: str, table: pl.LazyFrame, unit_ns: int) -> None:
    """Raises `UnknownFormatError` where single precision cannot tell a millisecond at the times it holds."""
    if kind != pl.Float32:
        return
    largest = table.select(pl.col(name).abs().max()).collect().item() or 0.0
    step_ns = largest * 2.0**-23 * unit_ns
    if step_ns > 1_000_000:
        raise UnknownFormatError(
            f"{name} is in single precision, exact to {step_ns / 1e9:.3g} s only: write whole nanoseconds instead"
        )


def _osdi25(table: pl.LazyFrame) -> pl.DataFrame:
    schema = table.collect_schema()
    _check_precision(schema["start_ts"], "start_ts", table, _UNITS["s"])
    # The end of the artifact: added before rounding, in the precision of the file.
    end_ns = ((pl.col("start_ts") + pl.col("duration")).cast(pl.Float64) * _UNITS["s"]).round()
    rows = table.select(
        pl.col("step").cast(pl.Int64),
        pl.col("rank").cast(pl.Int32),
        operation=pl.col("optype").cast(pl.Categorical),
        start_ns=_nanoseconds("start_ts", schema, "s"),
        end_ns=pl.when(end_ns.is_finite()).then(end_ns).cast(pl.Int64, strict=False),
        data_parallel_rank=pl.col("dp_rank").cast(pl.Int32),
        pipeline_stage=pl.col("stage").cast(pl.Int32),
        sequence=pl.col("seq_id").cast(pl.Int32),
        microbatch=pl.when(pl.col("mb_id") >= 0).then(pl.col("mb_id").cast(pl.Int32)),
        chunk=pl.col("mc").cast(pl.Int32),
        model_chunk=pl.col("gmc").cast(pl.Int32),
    ).collect()
    return rows.with_columns(_osdi25_collectives(rows))


def _osdi25_collectives(rows: pl.DataFrame) -> list[pl.Series]:
    """Stage, collective, group and its sequence of each row, computed once a kind and place in the mesh."""
    kinds = rows["operation"].unique().drop_nulls().cast(pl.String).sort().to_list()
    kind = rows["operation"].cast(pl.Enum(kinds)).to_physical().cast(pl.Int64).fill_null(len(kinds)).to_numpy()
    told = [OSDI25_KINDS.get(name, (None, None, None)) for name in kinds] + [(None, None, None)]
    replica, stage = (rows[name].fill_null(0).to_numpy() for name in ("data_parallel_rank", "pipeline_stage"))
    # A message downstream leaves the lower of two stages if it is forward, the upper one if it is backward.
    is_upper = np.array([name in ("forward-recv", "backward-send") for name in [*kinds, ""]], np.int32)
    width = 2 + int(stage.max(initial=0))
    place = (kind * (1 + int(replica.max(initial=0))) + replica) * width + (stage - is_upper[kind] + 1)
    first, place_of_row = _distinct(place)
    groups = [_osdi25_group(told[kind[at]][2], int(replica[at]), int(stage[at] - is_upper[kind[at]])) for at in first]
    has_group = np.array([group is not None for group in groups], np.bool_)[place_of_row]
    return [
        _spread([each[0] for each in told], kind).alias("stage"),
        _spread([each[1] for each in told], kind).alias("collective"),
        _spread(groups, place_of_row).alias("group"),
        rows["sequence"].cast(pl.Int64).zip_with(pl.Series(has_group), pl.Series([None], dtype=pl.Int64))
        .alias("collective_sequence"),
    ]  # fmt: skip


def _distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each of some small numbers first is, and the place of each value among them."""
    first = np.full(int(values.max(initial=0)) + 1, -1, np.int64)
    first[values[::-1]] = np.arange(len(values))[::-1]
    distinct = np.flatnonzero(first >= 0)
    number = np.zeros(len(first), np.int64)
    number[distinct] = np.arange(len(distinct))
    return first[distinct], number[values]


def _spread(names: Sequence[str | None], number: NDArray[Any]) -> pl.Series:
    """The name of each row by its number, as a categorical."""
    known = sorted({name for name in names if name is not None})
    code = np.array([known.index(name) if name is not None else len(known) for name in names], np.uint32)[number]
    codes = pl.Series(code, dtype=pl.UInt32)
    return (
        codes.set(codes == len(known), None).cat.to(pl.Enum(known))
        if known
        else codes.set(codes >= 0, None).cast(pl.String)
    )


def _osdi25_group(over: str | None, replica: int, stage: int) -> str | None:
    if over is None or over == "world":
        return over
    if over == "embedding":
        return f"{over}.{replica}"
    place = f"{replica}.{stage}" if over in ("forward", "backward") else f"{stage}"
    return f"{over}.{place}"


def _kept(rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows that can be placed, and how many cannot by reason."""
    is_whole = pl.all_horizontal(pl.col(name).is_not_null() for name in (*_NEEDED, "start_ns", "end_ns"))
    is_ordered = pl.col("end_ns") >= pl.col("start_ns")
    counts = rows.select(
        whole=is_whole.sum(), ordered=(is_whole & is_ordered.fill_null(value=False)).sum()
    ).row(0)  # fmt: skip
    rejected = {
        "a step, rank, operation or time is missing": rows.height - counts[0],
        "it ends before it starts": counts[0] - counts[1],
    }
    kept = rows if counts[1] == rows.height else rows.filter(is_whole & is_ordered)
    return kept, {reason: count for reason, count in rejected.items() if count}


def _placed(rows: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    """Rows in absolute time: those that count from the start of each step are laid one step behind the other."""
    if rows.is_empty() or int(rows["start_ns"].max()) >= EPOCH_NS:  # type: ignore[arg-type]
        return rows
    steps = rows.group_by("step").agg(first_ns=pl.col("start_ns").min(), last_ns=pl.col("end_ns").max()).sort("step")
    restarts = steps.select((pl.col("first_ns") < pl.col("last_ns").shift()).any()).item()
    if not restarts:
        notes.append("times do not count from the Unix epoch: they are kept as they are")
        return rows
    notes.append("times count from the start of each step: the steps are laid one behind the other, without gaps")
    begins_ns = steps["last_ns"].cum_sum().shift(1, fill_value=0).to_numpy()
    begun_ns = pl.Series(begins_ns[np.searchsorted(steps["step"].to_numpy(), rows["step"].to_numpy())])
    return rows.with_columns(pl.col("start_ns", "end_ns") + begun_ns)


def _finished(rows: pl.DataFrame, job: str) -> pl.DataFrame:
    """All columns of the schema, with what the table leaves out counted or null."""
    given = {name for name in rows.columns if name in OPERATION_SCHEMA}
    missing = [pl.lit(None).alias(name) for name in OPERATION_SCHEMA if name not in given]
    whole = rows.with_columns(missing).with_columns(
        job=pl.col("job").cast(pl.Categorical).fill_null(job) if "job" in given else pl.lit(job, pl.Categorical),
        attempt=pl.col("attempt").fill_null(0) if "attempt" in given else pl.lit(0),
    )
    if "sequence" not in given:
        by_start = pl.col("start_ns").rank("ordinal").over("job", "attempt", "step", "rank", "operation")
        whole = whole.with_columns(sequence=by_start.cast(pl.Int64) - 1)
    return whole.select(
        pl.col(name) if isinstance(whole.schema[name], pl.Enum) else pl.col(name).cast(kind, strict=False)
        for name, kind in OPERATION_SCHEMA.items()
    )
