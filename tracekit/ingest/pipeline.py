"""Files into the store: one thread reads and decodes, one writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from tracekit.errors import StoreError, StoreFullError
from tracekit.ingest.ahead import ahead
from tracekit.ingest.decoding import Decoded, Together, decoded
from tracekit.ingest.reading import Ended
from tracekit.ingest.report import FileReport, IngestReport
from tracekit.ingest.sources import Source, find
from tracekit.store import Database, IngestWriter, MergedBatch, WriteCounts, write_sources

Progress = Callable[[int, int], None]


def ingest(
    database: Database,
    paths: Iterable[str | Path],
    *,
    progress: Progress | None = None,
    after: Callable[[Database], object] | None = None,
) -> IngestReport:
    """Read files, folders, glob patterns or `-` (standard input) into the store.

    Formats are recognised from content. A file that cannot be read, or not to its end, does not stop the
    others: its report says why. Everything in the report is durable. `progress` is called with bytes read and
    bytes in all; `after` with the database when all files are in, to bring up to date what is computed from
    them. Raises `StoreFullError` or `StoreError` when the store cannot be written: what is stored stays, and
    ingesting the same files again completes it.
    """
    return ingest_sources(database, find(paths), progress=progress, after=after)


def ingest_sources(
    database: Database,
    sources: Sequence[Source],
    *,
    progress: Progress | None = None,
    after: Callable[[Database], object] | None = None,
) -> IngestReport:
    """Read sources that were found already; see `ingest`."""
    run = _Run(database, progress=progress, total_bytes=sum(source.size_bytes for source in sources))
    with closing(ahead(decoded(sources))) as items:
        for item in items:
            run.take(item)
    if after is not None:
        after(database)
    return IngestReport(files=tuple(run.reports))


@dataclass
class _Run:
    """The state of one ingest: the writer of the current source, and the reports of those before."""

    database: Database
    progress: Progress | None
    total_bytes: int
    reports: list[FileReport] = field(default_factory=list)
    writer: IngestWriter | None = None
    ended_bytes: int = 0

    def take(self, item: Decoded[MergedBatch] | Ended | Together) -> None:
        try:
            if isinstance(item, Together):
                self._write_together(item)
            elif isinstance(item, Decoded):
                self._write(item)
            else:
                self._end(item)
        except StoreFullError as error:
            raise StoreFullError(f"{error}; {self._stored()}") from error
        except StoreError as error:
            raise StoreError(f"{error}; {self._stored()}") from error

    def _write(self, item: Decoded[MergedBatch]) -> None:
        if self.writer is None:
            self.writer = IngestWriter(self.database, source=item.source.name)
        self.writer.format = item.format
        self.writer.write(item.batch, rejects=item.faults)
        self._show(item.consumed_bytes)

    def _write_together(self, item: Together) -> None:
        found = write_sources(self.database, item.contents, item.batch)
        for source, content, counts in zip(item.sources, item.contents, found, strict=True):
            self.reports.append(FileReport(path=source.name, format=content.format, counts=counts))
            self.ended_bytes += source.size_bytes
        self._show(0)

    def _end(self, item: Ended) -> None:
        writer, self.writer = self.writer, None
        counts = writer.finish(error=item.error) if writer else WriteCounts()
        self.reports.append(
            FileReport(
                path=item.source.name,
                format=writer.format if writer else None,
                counts=counts,
                error=item.error,
                is_skipped=item.is_unknown and writer is None and not item.source.is_named,
            )
        )
        self.ended_bytes += item.source.size_bytes
        self._show(0)

    def _show(self, current_bytes: int) -> None:
        if self.progress is not None:
            done = self.ended_bytes + current_bytes
            self.progress(done, max(done, self.total_bytes))

    def _stored(self) -> str:
        spans = sum(report.counts.spans for report in self.reports)
        current = self.writer.counts.spans if self.writer else 0
        return (
            f"this ingest stored {spans + current} spans and read {len(self.reports)} files to their end; "
            "repeat it to complete it, nothing is stored twice"
        )
