"""One decoded batch into the tables of a store, inside the caller's transaction."""

from __future__ import annotations

from dataclasses import dataclass, field

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.records import Batch
from tracekit.schema import exchanged
from tracekit.store.columns import as_uuid, numbered, numbers, replaced
from tracekit.store.dedup_cache import DedupCache
from tracekit.store.known_numbers import KnownNumbers
from tracekit.store.merging import MergedBatch, merge_batches, sort_by_service
from tracekit.store.numbering import resource_ids, scope_ids, stream_ids, with_sender, with_stream
from tracekit.store.spans import SpanFates, write_spans
from tracekit.store.statements import run

# Stands for "the store has it" where a number is remembered for each content.
_STORED = 1


@exchanged("reject")
@dataclass(frozen=True, slots=True)
class Reject:
    """Records of one reason: not stored (`rejected`), or stored with something set aside (`note`)."""

    kind: str
    signal: str | None
    reason: str
    record_count: int
    first_offset: int | None
    example: str | None
    document_row: int | None = None


@exchanged("write_counts")
@dataclass(frozen=True, slots=True)
class WriteCounts:
    """What became of the records of one or more batches; `rejects` has a row a document and reason."""

    spans: int = 0
    metric_points: int = 0
    logs: int = 0
    duplicates: int = 0
    rejects: tuple[Reject, ...] = field(default=(), repr=False)

    @property
    def rejected(self) -> int:
        """Records that were not stored because they are wrong."""
        return sum(reject.record_count for reject in self.rejects if reject.kind == "rejected")


def write_batch(
    cursor: duckdb.DuckDBPyConnection, batch: Batch | MergedBatch, *, ingest_id: int, cache: DedupCache
) -> WriteCounts:
    """Store what is new in a decoded batch and count the rest.

    The same span (trace id and span id), metric point or log record is stored once, whether it comes twice
    in the batch or is in the store already. A span whose id is taken by a different span is rejected with
    reason `span_id_conflict`; the first one stays. A batch that is not merged yet is first put in order.
    `cache` is that of the store; numbers that it notes are right only once the transaction is committed.
    """
    ready = batch if isinstance(batch, MergedBatch) else merge_batches([sort_by_service(batch)])
    batch = ready.batch
    resources = resource_ids(cursor, batch.resources, cache.numbers)
    scopes = scope_ids(cursor, batch.scopes, cache.numbers)
    ingest_ids = np.full(batch.spans.num_rows, ingest_id, np.int64)
    fates = write_sent_spans(cursor, ready, resources, scopes, ingest_ids=ingest_ids, cache=cache)
    streams = stream_ids(cursor, with_sender(batch.metric_streams, resources, scopes), cache.numbers)
    points, repeated_points = _write_points(cursor, batch, streams, ingest_id=ingest_id)
    logs = _write_logs(cursor, with_sender(batch.logs, resources, scopes), ingest_id=ingest_id)
    cache.rows_written += points + logs
    return WriteCounts(
        spans=int(np.count_nonzero(fates.stored)),
        metric_points=points,
        logs=logs,
        duplicates=fates.duplicate_count + repeated_points + batch.logs.num_rows - logs,
        rejects=(*decoder_rejects(batch.rejects), *conflicts(batch.spans, fates)),
    )


def write_sent_spans(
    cursor: duckdb.DuckDBPyConnection,
    ready: MergedBatch,
    resources: NDArray[np.int64],
    scopes: NDArray[np.int64],
    *,
    ingest_ids: NDArray[np.int64],
    cache: DedupCache,
) -> SpanFates:
    """Store the new spans of a batch, each of the ingest that `ingest_ids` has for it; what became of each.

    `resources` and `scopes` are the numbers of those of the batch.
    """
    batch = ready.batch
    fates = write_spans(
        cursor,
        with_sender(batch.spans, resources, scopes),
        first_rows=ready.first_rows,
        recent=cache.spans,
        events=batch.span_events,
        links=batch.span_links,
        ingest_ids=ingest_ids,
    )
    _write_span_keys(cursor, batch.span_keys, resources, cache.numbers)
    cache.rows_written += int(np.count_nonzero(fates.stored))
    return fates


def _write_span_keys(
    cursor: duckdb.DuckDBPyConnection, span_keys: pa.Table, resources: NDArray[np.int64], known: KnownNumbers
) -> None:
    ids = resources[numbers(span_keys["resource_row"])]
    pairs = list(zip(ids.tolist(), span_keys["key"].to_pylist(), strict=True))
    if known.find("span_keys", pairs) is None:
        columns = {"resource_id": pa.array(ids)}
        tables = {"incoming_keys": replaced(span_keys, columns, without=("resource_row",))}
        run(cursor, "store/add_span_attribute_keys", tables=tables)
        known.note("span_keys", pairs, [_STORED] * len(pairs))


def _write_points(
    cursor: duckdb.DuckDBPyConnection, batch: Batch, ids: NDArray[np.int64], *, ingest_id: int
) -> tuple[int, int]:
    """Store points and exemplars of series with these numbers; how many points were stored, and how many
    were there already.
    """
    tables = {
        "metric_points": batch.metric_points,
        "metric_histograms": batch.metric_histograms,
        "metric_summaries": batch.metric_summaries,
    }
    stored = sum(
        _insert(cursor, name, incoming_points=with_stream(table, ids), ingest_id=ingest_id)
        for name, table in tables.items()
    )
    exemplars = replaced(batch.exemplars, {"trace_id": as_uuid(batch.exemplars["trace_id"])})
    _insert(cursor, "exemplars", incoming_points=with_stream(exemplars, ids), ingest_id=ingest_id)
    return stored, sum(table.num_rows for table in tables.values()) - stored


def _write_logs(cursor: duckdb.DuckDBPyConnection, logs: pa.Table, *, ingest_id: int) -> int:
    logs = replaced(logs, {"trace_id": as_uuid(logs["trace_id"])})
    return _insert(cursor, "logs", incoming_logs=logs, ingest_id=ingest_id)


def _insert(cursor: duckdb.DuckDBPyConnection, name: str, *, ingest_id: int, **table: pa.Table) -> int:
    """Run `store/add_<name>` over the one table given; the number of rows stored."""
    ((source, rows),) = table.items()
    if rows.num_rows == 0:
        return 0
    stored = run(cursor, f"store/add_{name}", parameters={"ingest_id": ingest_id}, tables={source: numbered(rows)})
    return int(stored[0][0])


def decoder_rejects(rejects: pa.Table) -> list[Reject]:
    """The decoder's report (`tracekit.records.REJECTS`) as rejects."""
    return [
        Reject(
            kind=row["kind"],
            signal=row["signal"],
            reason=row["reason"],
            record_count=row["count"],
            first_offset=row["offset"],
            example=row["example"],
            document_row=row["document_row"],
        )
        for row in rejects.to_pylist()
    ]


def conflicts(spans: pa.Table, fates: SpanFates) -> list[Reject]:
    """One reject a document for spans whose id another span has taken."""
    rows = np.flatnonzero(fates.conflicting)
    documents, first, counts = np.unique(numbers(spans["document_row"])[rows], return_index=True, return_counts=True)
    return [
        Reject(
            kind="rejected",
            signal="traces",
            reason="span_id_conflict",
            record_count=int(count),
            first_offset=None,
            example=_conflict_example(spans, int(rows[index])),
            document_row=int(document),
        )
        for document, index, count in zip(documents, first, counts, strict=True)
    ]


def _conflict_example(spans: pa.Table, row: int) -> str:
    trace_id = spans["trace_id"][row].as_py().hex()
    return (
        f"span {spans['span_id'][row].as_py():016x} of trace {trace_id} came again with another "
        "time, name, kind or status; the first one is kept, give each span its own id"
    )
