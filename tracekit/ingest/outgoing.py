"""Files that are read here and stored by another process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tracekit.ingest.pipeline import Progress
from tracekit.ingest.report import FileReport
from tracekit.ingest.sources import Source, reason

_PIECE_BYTES = 1 << 18


@dataclass(slots=True)
class OutgoingFiles:
    """Reads sources one after the other, and keeps what went wrong with the one that was read last."""

    total_bytes: int
    progress: Progress | None = None
    _done_bytes: int = 0
    _fault: str | None = None

    def pieces(self, source: Source) -> Iterator[bytes]:
        """The bytes of a source; where it cannot be read further they end, and `reported` says why."""
        self._fault = source.error
        if source.error is not None:
            return
        try:
            with source.open() as stream:
                while piece := stream.read(_PIECE_BYTES):
                    yield piece
                    self._show(len(piece))
        except OSError as error:
            self._fault = reason(error)

    def reported(self, report: FileReport) -> FileReport:
        """The other process's report of what it got, with the fault that it could not see."""
        return report if self._fault is None else replace(report, error=self._fault)

    def _show(self, size_bytes: int) -> None:
        self._done_bytes += size_bytes
        if self.progress is not None:
            self.progress(self._done_bytes, max(self._done_bytes, self.total_bytes))
