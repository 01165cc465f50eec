"""Small sources of spans, stored many at a time: as few large row groups, in one transaction, an ingest each."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tracekit.errors import StoreError
from tracekit.store.columns import numbered, numbers, replaced
from tracekit.store.connection import is_refusal
from tracekit.store.database import Database
from tracekit.store.ingests import (
    IngestWriter,
    add_rejects,
    added,
    ingest_transaction,
    next_ingest_id,
    placed,
)
from tracekit.store.merging import MergedBatch, SortedBatch, merge_batches
from tracekit.store.numbering import resource_ids, scope_ids
from tracekit.store.spans import SpanFates
from tracekit.store.statements import run
from tracekit.store.writing import Reject, WriteCounts, conflicts, decoder_rejects, write_sent_spans


@dataclass(frozen=True, slots=True)
class SmallSource:
    """All that a source holds, read to its end: spans with what belongs to them, and no other records."""

    source: str
    format: str
    parts: tuple[SortedBatch, ...]
    faults: tuple[Reject, ...]
    """What was found before decoding."""
    received_ns: int = field(default_factory=time.time_ns)


def has_only_spans(part: SortedBatch) -> bool:
    """Whether a batch can be part of a `SmallSource`."""
    batch = part.batch
    return batch.metric_streams.num_rows == 0 and batch.record_count == batch.spans.num_rows


def merge_sources(sources: Sequence[SmallSource]) -> MergedBatch:
    """The spans of all sources in the order in which they are best stored; their documents name the source."""
    return merge_batches([_numbered(part, row) for row, source in enumerate(sources) for part in source.parts])


def _numbered(part: SortedBatch, row: int) -> SortedBatch:
    documents = part.batch.documents
    column = pa.array(np.full(documents.num_rows, row, np.int32))
    return replace(part, batch=replace(part.batch, documents=replaced(documents, {"source_row": column})))


def write_sources(database: Database, sources: Sequence[SmallSource], merged: MergedBatch) -> list[WriteCounts]:
    """Store sources as a whole ingest each, in one transaction, and return what became of each.

    `merged` is what `merge_sources` made of them. Where the schema refuses a record, each source is stored by itself,
    as `IngestWriter` does. Raises `StoreFullError` or `StoreError` where the store cannot be written; then nothing is
    stored.
    """
    try:
        return _together(database, sources, merged)
    except StoreError as fault:
        if not is_refusal(fault):
            raise
    return [_alone(database, source) for source in sources]


def _alone(database: Database, source: SmallSource) -> WriteCounts:
    writer = IngestWriter(database, source=source.source, format=source.format)
    writer.write(merge_batches(source.parts), rejects=source.faults)
    return writer.finish()


def _together(database: Database, sources: Sequence[SmallSource], merged: MergedBatch) -> list[WriteCounts]:
    batch, cache = merged.batch, database.dedup_cache
    with ingest_transaction(database) as cursor:
        first_id = next_ingest_id(cursor)
        resources = resource_ids(cursor, batch.resources, cache.numbers)
        scopes = scope_ids(cursor, batch.scopes, cache.numbers)
        origins = _sources_of(merged)
        fates = write_sent_spans(cursor, merged, resources, scopes, ingest_ids=first_id + origins, cache=cache)
        found = _counted(sources, merged, origins, fates)
        _note(cursor, sources, found, first_id)
    return found


def _sources_of(merged: MergedBatch) -> NDArray[np.int64]:
    """The row of the source that each span came from."""
    return numbers(merged.batch.documents["source_row"])[numbers(merged.batch.spans["document_row"])].astype(np.int64)


def _counted(
    sources: Sequence[SmallSource], merged: MergedBatch, origins: NDArray[np.int64], fates: SpanFates
) -> list[WriteCounts]:
    """What became of the records of each source."""

    def per_source(chosen: NDArray[np.bool_]) -> list[int]:
        return np.bincount(origins[chosen], minlength=len(sources)).tolist()

    documents = numbers(merged.batch.documents["source_row"])
    in_conflict: list[list[Reject]] = [[] for _ in sources]
    for reject in placed(conflicts(merged.batch.spans, fates), merged):
        in_conflict[documents[reject.document_row]].append(reject)
    stored, duplicates = per_source(fates.stored), per_source(~fates.stored & ~fates.conflicting)
    return [
        added(WriteCounts(), WriteCounts(spans=spans, duplicates=known, rejects=(*_decoder_rejects(source), *taken)))
        for source, spans, known, taken in zip(sources, stored, duplicates, in_conflict, strict=True)
    ]


def _decoder_rejects(source: SmallSource) -> Iterable[Reject]:
    for part in source.parts:
        yield from placed(decoder_rejects(part.batch.rejects), part.batch)
    yield from source.faults


def _note(
    cursor: duckdb.DuckDBPyConnection, sources: Sequence[SmallSource], found: Sequence[WriteCounts], first_id: int
) -> None:
    """Make the row of each ingest, with what it did not take."""
    rows = [
        {
            "ingest_id": ingest_id, "source": source.source, "format": source.format, "received_ns": source.received_ns,
            "spans": counts.spans, "metric_points": 0, "logs": 0, "duplicates": counts.duplicates,
            "rejected": counts.rejected, "error": None,
        }
        for ingest_id, (source, counts) in enumerate(zip(sources, found, strict=True), first_id)
    ]  # fmt: skip
    run(cursor, "store/add_ingests", tables={"incoming_ingests": numbered(pa.Table.from_pylist(rows))})
    for ingest_id, counts in enumerate(found, first_id):
        add_rejects(cursor, ingest_id, counts.rejects)
