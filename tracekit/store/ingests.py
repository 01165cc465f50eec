"""The record of what arrived: one source's batches on their way in, each one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import duckdb
import pyarrow as pa

from tracekit.errors import StoreError
from tracekit.records import Batch
from tracekit.store.columns import numbered
from tracekit.store.connection import is_refusal
from tracekit.store.database import Database
from tracekit.store.isolating import isolate
from tracekit.store.merging import MergedBatch
from tracekit.store.statements import run
from tracekit.store.writing import Reject, WriteCounts, decoder_rejects, write_batch

_UNFINISHED = "did not finish: ingest the source again to complete it, what is stored is not stored twice"
_COUNTS = ("spans", "metric_points", "logs", "duplicates", "rejected")
_REJECT_SCHEMA = pa.schema(
    [
        ("kind", pa.string()),
        ("signal", pa.string()),
        ("reason", pa.string()),
        ("record_count", pa.uint64()),
        ("first_offset", pa.int64()),
        ("example", pa.string()),
    ]
)


class IngestWriter:
    """Writes the batches of one source (a file, a stream, a request) and keeps its row in `ingests`.

    Each batch is durable when `write` returns. A process that dies in between leaves whole batches and a row
    whose `error` says that it did not finish. Writers of one Database may work at the same time.
    """

    def __init__(self, database: Database, *, source: str, format: str | None = None) -> None:
        self.source = source
        self.format = format
        self.counts = WriteCounts()
        self.ingest_id: int | None = None
        self._database = database
        self._received_ns = time.time_ns()

    def write(self, batch: Batch | MergedBatch, *, rejects: Iterable[Reject] = ()) -> WriteCounts:
        """Store a batch in one transaction and return what became of it.

        `rejects` are faults found before decoding. Records that the schema refuses are found, counted and set aside
        (`refused_by_store`), the others stored, in several transactions then. Raises `StoreFullError` or `StoreError`
        where the store itself cannot be written; then nothing of the transaction is stored.
        """
        (counts,) = self._written([(batch, rejects)], error=_UNFINISHED)
        return counts

    def write_all(self, parts: Sequence[tuple[Batch | MergedBatch, Iterable[Reject]]]) -> list[WriteCounts]:
        """Store several batches as one whole ingest in one transaction, and return what became of each.

        Beside each batch stand the faults found before decoding. Refused records and errors as `write`.
        """
        return self._written(parts, error=None)

    def _written(
        self, parts: Sequence[tuple[Batch | MergedBatch, Iterable[Reject]]], *, error: str | None
    ) -> list[WriteCounts]:
        held = [(batch, tuple(rejects)) for batch, rejects in parts]
        try:
            return self._transacted(held, error=error)
        except StoreError as fault:
            if not is_refusal(fault):
                raise
        return [self._isolated(batch, rejects, error=error) for batch, rejects in held]

    def _transacted(
        self, parts: Sequence[tuple[Batch | MergedBatch, tuple[Reject, ...]]], *, error: str | None
    ) -> list[WriteCounts]:
        """Store batches, or none of them, each with faults beside its own."""
        with ingest_transaction(self._database) as cursor:
            ingest_id = self._begun(cursor)
            total, written = self.counts, []
            for batch, rejects in parts:
                counts = write_batch(cursor, batch, ingest_id=ingest_id, cache=self._database.dedup_cache)
                counts = replace(counts, rejects=(*placed(counts.rejects, batch), *rejects))
                written.append(counts)
                total = added(total, counts)
            self._save(cursor, ingest_id, total, error=error)
        self.ingest_id, self.counts = ingest_id, total
        return written

    def _isolated(self, batch: Batch | MergedBatch, rejects: tuple[Reject, ...], *, error: str | None) -> WriteCounts:
        """Store the good records of a batch that the schema refused as a whole."""
        whole = batch.batch if isinstance(batch, MergedBatch) else batch
        found = isolate(whole, lambda part: self._transacted([(part, ())], error=error)[0])
        beside = (*decoder_rejects(whole.rejects), *placed(found.refused, whole), *rejects)
        self.counts = added(self.counts, WriteCounts(rejects=beside))
        with ingest_transaction(self._database) as cursor:
            ingest_id = self._begun(cursor)
            self._save(cursor, ingest_id, self.counts, error=error)
        self.ingest_id = ingest_id
        return replace(found.counts, rejects=(*beside, *found.counts.rejects))

    def finish(self, *, error: str | None = None, rejects: Iterable[Reject] = ()) -> WriteCounts:
        """Close the row of this ingest, with `error` if it ended early, and return its counts."""
        total = added(self.counts, WriteCounts(rejects=tuple(rejects)))
        with ingest_transaction(self._database) as cursor:
            ingest_id = self._begun(cursor)
            self._save(cursor, ingest_id, total, error=error)
        self.ingest_id, self.counts = ingest_id, total
        return total

    def _begun(self, cursor: duckdb.DuckDBPyConnection) -> int:
        """The number of this ingest, the next free one where it has none yet."""
        return self.ingest_id if self.ingest_id is not None else next_ingest_id(cursor)

    def _save(
        self, cursor: duckdb.DuckDBPyConnection, ingest_id: int, counts: WriteCounts, *, error: str | None
    ) -> None:
        values = {name: getattr(counts, name) for name in _COUNTS}
        values |= {"ingest_id": ingest_id, "format": self.format, "error": error}
        if self.ingest_id is None:
            values |= {"source": self.source, "received_ns": self._received_ns}
            run(cursor, "store/add_ingest", parameters=values)
        else:
            run(cursor, "store/update_ingest", parameters=values)
            run(cursor, "store/remove_ingest_rejects", parameters={"ingest_id": ingest_id})
        add_rejects(cursor, ingest_id, counts.rejects)


@contextmanager
def ingest_transaction(database: Database) -> Iterator[duckdb.DuckDBPyConnection]:
    """A transaction that may number senders; the numbers are remembered when it is committed."""
    with database.writing, database.dedup_cache.numbers.transaction(), database.transaction() as cursor:
        yield cursor


def next_ingest_id(cursor: duckdb.DuckDBPyConnection) -> int:
    """The number that no ingest has yet."""
    return int(cursor.execute("SELECT coalesce(max(ingest_id), 0) + 1 FROM base.ingests").fetchall()[0][0])


def add_rejects(cursor: duckdb.DuckDBPyConnection, ingest_id: int, rejects: Sequence[Reject]) -> None:
    """Note what an ingest did not take."""
    if rejects:
        rows = [{name: getattr(reject, name) for name in _REJECT_SCHEMA.names} for reject in rejects]
        tables = {"incoming_rejects": numbered(pa.Table.from_pylist(rows, schema=_REJECT_SCHEMA))}
        run(cursor, "store/add_ingest_rejects", parameters={"ingest_id": ingest_id}, tables=tables)


def placed(rejects: Iterable[Reject], batch: Batch | MergedBatch) -> list[Reject]:
    """Rejects without an offset get the one of their document."""
    documents = (batch.batch if isinstance(batch, MergedBatch) else batch).documents
    return [
        replace(reject, first_offset=documents["offset"][reject.document_row].as_py())
        if reject.first_offset is None and reject.document_row is not None and documents.num_rows
        else reject
        for reject in rejects
    ]


def added(total: WriteCounts, more: WriteCounts) -> WriteCounts:
    """The sum; of rejects that share kind, signal and reason the first offset and example stay."""
    merged: dict[tuple[str, str | None, str], Reject] = {}
    for reject in (*total.rejects, *more.rejects):
        key = (reject.kind, reject.signal, reject.reason)
        known = merged.get(key)
        merged[key] = replace(known, record_count=known.record_count + reject.record_count) if known else reject
    return WriteCounts(
        spans=total.spans + more.spans,
        metric_points=total.metric_points + more.metric_points,
        logs=total.logs + more.logs,
        duplicates=total.duplicates + more.duplicates,
        rejects=tuple(merged.values()),
    )
