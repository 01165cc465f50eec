"""Tables of operations as spans of tracekit's own convention: one trace a step, a root for each rank, its work below.

A table that says no absolute time is laid from `ORIGIN_NS` on, and that is told.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.errors import UnknownFormatError
from tracekit.importers.tables import rejects, resources, scope
from tracekit.records import Batch, Input, Piece, Reason, documents_at

if TYPE_CHECKING:
    import polars as pl

    from tracekit.importers.operation_tables import OperationTable

SCOPE = "tracekit.importers.operation_tables"

ORIGIN_NS = 1_704_067_200_000_000_000
"""Where steps without absolute time are laid: 2024-01-01."""

_STEPS_A_PIECE = 32
_CSV_HEAD_BYTES = 4096
_RANK_KEYS = {
    "host.name": "host",
    "tracekit.parallel.dp": "data_parallel_rank",
    "tracekit.parallel.tp": "tensor_parallel_rank",
    "tracekit.parallel.pp": "pipeline_stage",
}
_SPAN_KEYS = {
    "tracekit.stage": "stage",
    "tracekit.step": "step",
    "tracekit.microbatch": "microbatch",
    "tracekit.collective.name": "collective",
    "tracekit.collective.group": "group",
    "tracekit.collective.seq": "collective_sequence",
    "tracekit.collective.bytes": "bytes",
    "tracekit.operation.sequence": "sequence",
    "tracekit.operation.chunk": "chunk",
    "tracekit.operation.model_chunk": "model_chunk",
}


class OperationTableFile:
    """Tables with one row an operation; `tracekit.importers.operation_tables` documents the columns."""

    name = "operation table"
    expects = "an operation table (Parquet or CSV)"

    def recognise(self, source: Input) -> bool:
        """Whether it is Parquet or CSV with the columns of a table of operations."""
        head = source.peek(_CSV_HEAD_BYTES)
        if source.path is None or not (head[:4] == b"PAR1" or _may_be_csv(head)):
            return False
        from tracekit.importers.operation_tables import recognises

        return recognises(source.path)

    def read(self, source: Input, *, chunk_bytes: int) -> Iterator[Piece]:
        """The operations as spans, some steps at a time. Raises `UnknownFormatError` where the file cannot be read."""
        from tracekit.importers.operation_tables import read_operations

        if source.path is None:
            raise UnknownFormatError("a table of operations must be an uncompressed file")
        table = read_operations(source.path)
        # The bytes belong to the columns' reader; the window only has to be at its end.
        while source.read(chunk_bytes):
            pass
        faults = _faults(table)
        yield Piece(Batch.of(rejects=faults, documents=documents_at([0])), self.name)
        for batch in _batches(table):
            yield Piece(batch, self.name)


def _may_be_csv(head: bytes) -> bool:
    first = head.split(b"\n", 1)[0]
    return b"step" in first and b"rank" in first and b"{" not in first


def _faults(table: OperationTable) -> pa.Table:
    notes = dict.fromkeys(table.notes, table.operations.height)
    return pa.concat_tables([
        rejects("traces", "rejected", Reason.ROW_INCOMPLETE, table.rejected),
        rejects("traces", "note", Reason.ASSUMED, notes),
    ])  # fmt: skip


def _batches(table: OperationTable) -> Iterator[Batch]:
    import polars as pl

    operations = table.operations
    if table.is_relative:
        operations = operations.with_columns(pl.col("start_ns", "end_ns") + ORIGIN_NS)
    steps = operations.select("job", "attempt", "step").unique().sort("job", "attempt", "step")
    for first in range(0, steps.height, _STEPS_A_PIECE):
        chosen = steps.slice(first, _STEPS_A_PIECE)
        yield _batch(operations.join(chosen, on=["job", "attempt", "step"], how="semi"))


_KEY = ["job", "attempt", "step", "rank"]


def _batch(operations: pl.DataFrame) -> Batch:
    import polars as pl

    windows = operations.group_by(_KEY).agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    return step_batch(operations, windows, scope_name=SCOPE)


def step_batch(
    operations: pl.DataFrame, windows: pl.DataFrame, *, scope_name: str, more: Mapping[str, Any] | None = None
) -> Batch:
    """Spans of operations (columns of `OPERATION_SCHEMA`) below a root for each window of a step.

    `windows`: `job`, `attempt`, `step`, `rank`, `start_ns`, `end_ns`. `more`: further attributes of each rank.
    """
    import polars as pl

    senders = operations.group_by("job", "attempt", "rank").agg(pl.col(*_RANK_KEYS.values()).first())
    senders = senders.sort("job", "attempt", "rank").with_row_index("resource_row").cast({"resource_row": pl.Int32})
    key = _KEY
    roots = windows.with_columns(
        operation=pl.lit("step"), stage=pl.lit("step"), sequence=pl.lit(None, pl.Int32)
    )  # fmt: skip
    below = operations.with_columns(pl.col("operation", "stage").cast(pl.String))
    spans = pl.concat([below.with_columns(is_root=pl.lit(value=False)), roots.with_columns(is_root=pl.lit(value=True))],
                      how="diagonal_relaxed")  # fmt: skip
    spans = spans.join(
        senders.select("job", "attempt", "rank", "resource_row"), on=["job", "attempt", "rank"], how="left"
    )
    spans = spans.sort(*key, "start_ns", "operation", "sequence", "is_root")
    return Batch.of(
        resources=resources([_resource(row) | dict(more or {}) for row in senders.iter_rows(named=True)]),
        scopes=scope(scope_name),
        spans=_spans(spans, key),
        documents=documents_at([0]),
    )


def _resource(row: dict[str, Any]) -> dict[str, Any]:
    whose = {"tracekit.job.id": row["job"], "tracekit.attempt": row["attempt"], "tracekit.rank": row["rank"]}
    return {"service.name": "trainer", **whose, **{key: row[name] for key, name in _RANK_KEYS.items()}}


def _spans(spans: pl.DataFrame, key: list[str]) -> pa.Table:
    """Spans with ids made of whose they are, so that the same table gives the same ids."""
    import polars as pl

    count = len(spans)
    trace = spans.select(high=pl.struct(key[:3]).hash(seed=1), low=pl.struct(key[:3]).hash(seed=2))
    own = pl.struct(*key, "operation", "sequence", "start_ns", "is_root")
    ids = spans.select(own=own.hash(seed=3), root=pl.struct(*key).hash(seed=4), is_root=pl.col("is_root"))
    span_id = ids.select(pl.when("is_root").then("root").otherwise("own")).to_series()
    parent = ids.select(pl.when(~pl.col("is_root")).then("root")).to_series()
    told = spans.select(pl.col(name).alias(key) for key, name in _SPAN_KEYS.items())
    zeros = np.zeros(count, np.uint32)
    return pa.table({
        "resource_row": spans["resource_row"].to_arrow(), "scope_row": np.zeros(count, np.int32),
        "trace_id": _sixteen_bytes(trace["high"].to_numpy(), trace["low"].to_numpy()),
        "span_id": span_id.to_arrow(), "parent_span_id": parent.to_arrow(), "trace_state": pa.nulls(count, pa.string()),
        "flags": zeros, "name": spans["operation"].cast(pl.String).to_arrow().cast(pa.string()),
        "kind": np.ones(count, np.uint8),
        "start_ns": spans["start_ns"].to_arrow(), "end_ns": spans["end_ns"].to_arrow(),
        "attributes": _objects(told).to_arrow().cast(pa.string()), "dropped_attributes_count": zeros,
        "dropped_events_count": zeros, "dropped_links_count": zeros, "status_code": np.zeros(count, np.uint8),
        "status_message": pa.nulls(count, pa.string()), "document_row": np.zeros(count, np.int32),
    })  # fmt: skip


def _objects(columns: pl.DataFrame) -> pl.Series:
    """JSON objects of the columns of each row, those without value left out."""
    import polars as pl

    texts = [
        pl.when(pl.col(name).is_not_null()).then(
            pl.format('"{}":{}', pl.lit(name), pl.col(name) if kind.is_numeric() else _quoted(name))
        )
        for name, kind in columns.schema.items()
    ]  # fmt: skip
    members = pl.concat_str(texts, separator=",", ignore_nulls=True)
    return columns.select(pl.concat_str(pl.lit("{"), members, pl.lit("}"))).to_series()


def _quoted(name: str) -> pl.Expr:
    import polars as pl

    text = (
        pl.col(name)
        .cast(pl.String)
        .str.replace_all("\\", "\\\\", literal=True)
        .str.replace_all('"', '\\"', literal=True)
    )
    return pl.concat_str(pl.lit('"'), text.str.replace_all(r"[\x00-\x1f]", " "), pl.lit('"'))


def _sixteen_bytes(high: NDArray[np.uint64], low: NDArray[np.uint64]) -> pa.Array:
    words = np.stack([high, low | 1], axis=1).astype(">u8")
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(words), [None, pa.py_buffer(words.tobytes())])
