"""The first step of a build: a source to batches, with the names by which its traces belong together."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import pyarrow as pa

from tracekit import clickhouse, objects
from tracekit.ingest import Decoded, Ended, Source, decoded_as_read
from tracekit.records import Batch, empty_table
from tracekit.store import Database, Reject, WriteCounts, added, decoder_rejects, sort_by_service
from tracekit.warehouse.exchange import Stretch, StretchWriter
from tracekit.warehouse.lookback import Hours, count_before, hours_of
from tracekit.warehouse.names import Names, all_names, names_of

_SENDERS = ("resources", "scopes", "span_keys", "metric_streams")
_PIECE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class DecodeTask:
    """A source to decode, and the folder for what is read from it."""

    source: Source
    folder: str
    late_before_ns: int | None = None
    """Spans that begin before are counted as late."""


@dataclass(frozen=True, slots=True)
class DecodedBatch:
    """A batch as it was read: all of it, and who sent it alone."""

    whole: Stretch
    senders: Stretch
    record_count: int


@dataclass(frozen=True, slots=True)
class DecodedSource:
    """What was read of a source.

    traces: `trace_id` of each of its traces. counts: what was set aside before anything is stored.
    hours: those in which its spans lie. late_count: spans that begin longer ago than the build looks back.
    """

    source: Source
    digest: str | None
    received_ns: int
    format: str | None
    batches: tuple[DecodedBatch, ...]
    traces: pa.Table
    names: Names
    counts: WriteCounts
    ended: Ended
    hours: Hours = ()
    late_count: int = 0


def digest_of(source: Source) -> str | None:
    """SHA-256 of the bytes of a source; of an object its entity tag, of a day of a table what the server makes of its
    rows. None where they cannot be read.
    """
    digest = hashlib.sha256()
    try:
        if source.is_object and (tag := objects.entity_tag(source.name, endpoint=source.endpoint)) is not None:
            return f"etag:{tag}"
        if source.is_table:
            return clickhouse.rows_digest(source.name)
        with source.open() as stream:
            while piece := stream.read(_PIECE_BYTES):
                digest.update(piece)
    except OSError:
        return None
    return digest.hexdigest()


def decode_source(task: DecodeTask) -> DecodedSource:
    """Read a source to its end, as an ingest does, into files that the next step reads."""
    received_ns = time.time_ns()
    # Before it is read: a source that grows meanwhile is another one to the next build, which reads it again.
    digest = None if task.source.error else digest_of(task.source)
    batches: list[DecodedBatch] = []
    names: list[Names] = []
    traces: list[pa.Table] = []
    hours: set[tuple[int, int]] = set()
    late_count = 0
    format, counts, ended = None, WriteCounts(), Ended(task.source)
    with StretchWriter(Path(task.folder), "decoded") as writer:
        for item in decoded_as_read(task.source):
            if isinstance(item, Ended):
                ended = item
                continue
            batch = _with_span_keys(item.batch)
            format = item.format
            names.append(names_of(batch, _scratch()))
            traces.append(_distinct(batch.spans.select(["trace_id"])))
            counts = added(counts, WriteCounts(rejects=_rejects(item)))
            hours.update(hours_of(batch.spans))
            late_count += count_before(batch.spans, task.late_before_ns)
            batches.append(_written(writer, batch))
    distinct = _distinct(pa.concat_tables([empty_table("spans").select(["trace_id"]), *traces]))
    return DecodedSource(
        source=task.source,
        digest=digest,
        received_ns=received_ns,
        format=format,
        batches=tuple(batches),
        traces=distinct,
        names=all_names(names),
        counts=counts,
        ended=ended,
        hours=tuple(sorted(hours)),
        late_count=late_count,
    )


@cache
def _scratch() -> Database:
    """A store in memory to compute in, one for all sources of this process: to make one takes 50 ms."""
    return Database.open(None)


def _distinct(traces: pa.Table) -> pa.Table:
    return traces.group_by(["trace_id"]).aggregate([])


def _rejects(item: Decoded[Batch]) -> tuple[Reject, ...]:
    return (*decoder_rejects(item.batch.rejects), *item.faults)


def _written(writer: StretchWriter, batch: Batch) -> DecodedBatch:
    records = replace(batch, rejects=empty_table("rejects"))
    senders = Batch.of(**{name: getattr(batch, name) for name in _SENDERS})
    return DecodedBatch(writer.write(records), writer.write(senders), batch.record_count)


def _with_span_keys(batch: Batch) -> Batch:
    """The batch with the attribute keys of its spans, which not every format notes."""
    if batch.span_keys.num_rows or not batch.spans.num_rows:
        return batch
    return replace(batch, span_keys=sort_by_service(batch).batch.span_keys)
