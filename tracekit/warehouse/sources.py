"""The sources of a build: those that the warehouse does not have yet, always in the same order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import UsageError
from tracekit.ingest import STANDARD_INPUT, Source, find
from tracekit.warehouse.decoding import digest_of
from tracekit.warehouse.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Chosen:
    """Sources to read in the order in which they are read, and how many others there are."""

    new: list[Source]
    known_count: int
    """Of those that were read by an earlier build, and are as they were."""
    left_out_count: int
    """Of those that were last changed too long ago."""


def choose(paths: Iterable[str | Path], known: Manifest, *, since_ns: int | None = None) -> Chosen:
    """The sources behind paths by name, without those that a warehouse was built from and that are as they were.

    `since_ns` leaves out files that were last changed before. A file that grew is new as a whole: what it had before
    is found to be there already. Raises `UsageError` for standard input, which cannot be read again.
    """
    asked = [str(path) for path in paths]
    if STANDARD_INPUT in asked:
        raise UsageError(
            "a build reads files, which it must find again; save standard input to a file first", option="sources"
        )
    found = {source.name: source for source in find(asked)}
    recent = [found[name] for name in sorted(found) if _is_recent(found[name], since_ns)]
    new = [source for source in recent if not _is_known(source, known)]
    return Chosen(new, known_count=len(recent) - len(new), left_out_count=len(found) - len(recent))


def _is_recent(source: Source, since_ns: int | None) -> bool:
    if since_ns is None or source.error is not None or source.path is None:
        return True
    return source.path.stat().st_mtime_ns >= since_ns


def _is_known(source: Source, known: Manifest) -> bool:
    """Whether a source is read already: it has the name, the size and the content of one that was."""
    alike = [entry for entry in known.sources if (entry.name, entry.size_bytes) == (source.name, source.size_bytes)]
    return bool(alike) and digest_of(source) in {entry.digest for entry in alike} - {None}
