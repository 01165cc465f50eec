"""What an ingest did, file by file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracekit.schema import exchanged
from tracekit.store import Reject, WriteCounts

COUNTS = ("spans", "metric_points", "logs", "duplicates", "rejected")


@exchanged("file_report")
@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file: records stored, known already and refused, and why it ended early."""

    path: str
    format: str | None
    """Encoding and framing that were recognised; None if nothing was."""
    counts: WriteCounts
    error: str | None = None
    is_skipped: bool = False
    """Whether it was found in a folder and is none of the known formats, so that `error` is no failure."""

    def as_dict(self) -> dict[str, Any]:
        """The entry of this file in the JSON of `tracekit ingest`."""
        numbers = {name: getattr(self.counts, name) for name in COUNTS}
        rejects = [_reject_as_dict(reject) for reject in self.counts.rejects]
        head = {"path": self.path, "format": self.format}
        return head | numbers | {"error": self.error, "skipped": self.is_skipped, "rejects": rejects}


@exchanged("ingest_report")
@dataclass(frozen=True, slots=True)
class IngestReport:
    """What an ingest did; the counts are over all files."""

    files: tuple[FileReport, ...]

    @property
    def spans(self) -> int:
        """Spans stored."""
        return self._total("spans")

    @property
    def metric_points(self) -> int:
        """Metric points of all kinds stored."""
        return self._total("metric_points")

    @property
    def logs(self) -> int:
        """Log records stored."""
        return self._total("logs")

    @property
    def duplicates(self) -> int:
        """Records that the store held already."""
        return self._total("duplicates")

    @property
    def rejected(self) -> int:
        """Records that were refused, by reason in each file's `counts.rejects`."""
        return self._total("rejected")

    @property
    def is_complete(self) -> bool:
        """Whether every file that was asked for was read to its end and no record was refused."""
        return self.rejected == 0 and all(file.error is None or file.is_skipped for file in self.files)

    def as_dict(self) -> dict[str, Any]:
        """The JSON of `tracekit ingest`: the counts, and `files` with the same counts for each."""
        totals: dict[str, Any] = {name: self._total(name) for name in COUNTS}
        return totals | {"files": [file.as_dict() for file in self.files]}

    def _total(self, name: str) -> int:
        return sum(getattr(file.counts, name) for file in self.files)


def _reject_as_dict(reject: Reject) -> dict[str, Any]:
    return {
        "kind": reject.kind,
        "signal": reject.signal,
        "reason": reject.reason,
        "count": reject.record_count,
        "first_offset": reject.first_offset,
        "example": reject.example,
    }
