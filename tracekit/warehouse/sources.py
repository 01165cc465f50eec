"""The sources of a build: those that the warehouse does not have yet, always in the same order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tracekit.errors import UsageError
from tracekit.ingest import STANDARD_INPUT, Source, find
from tracekit.warehouse.decoding import digest_of
from tracekit.warehouse.manifest import Manifest, SourceEntry

_AT_ONCE = 16
"""Sources that are looked at at once: what is asked of an object store is waited for."""
_SETTLED_NS = 5_000_000_000
"""Age from which the time of an object, in whole seconds and by another clock, tells it from one written later."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Sources to read in the order in which they are read, and how many others there are."""

    new: list[Source]
    known_count: int
    """Of those that were read by an earlier build, and are as they were."""
    left_out_count: int
    """Of those that were last changed too long ago."""


def choose(
    paths: Iterable[str | Path], known: Manifest, *, since_ns: int | None = None, endpoint: str | None = None
) -> Chosen:
    """The sources behind paths by name, without those that a warehouse was built from and that are as they were.

    `since_ns` leaves out files that were last changed before. A file that grew is new as a whole: what it had before
    is found to be there already. Raises `UsageError` for standard input, which cannot be read again.
    """
    asked = [str(path) for path in paths]
    if STANDARD_INPUT in asked:
        raise UsageError(
            "a build reads files, which it must find again; save standard input to a file first", option="sources"
        )
    found = {source.name: source for source in find(asked, endpoint=endpoint)}
    recent = [found[name] for name in sorted(found) if _is_recent(found[name], since_ns)]
    by_name: defaultdict[str, list[SourceEntry]] = defaultdict(list)
    for entry in known.sources:
        by_name[entry.name].append(entry)
    with ThreadPoolExecutor(_AT_ONCE) as asking:
        known_already = asking.map(lambda source: _is_known(source, by_name.get(source.name, ())), recent)
        new = [source for source, is_known in zip(recent, known_already, strict=True) if not is_known]
    return Chosen(new, known_count=len(recent) - len(new), left_out_count=len(found) - len(recent))


def _is_recent(source: Source, since_ns: int | None) -> bool:
    return since_ns is None or source.modified_ns is None or source.modified_ns >= since_ns


def _is_known(source: Source, entries: Sequence[SourceEntry]) -> bool:
    """Whether a source is read already: one of its name and size has its content, as those of `entries`."""
    alike = [entry for entry in entries if entry.size_bytes == source.size_bytes and entry.digest is not None]
    if any(_is_untouched(source, entry) for entry in alike):
        return True
    return bool(alike) and digest_of(source) in {entry.digest for entry in alike}


def _is_untouched(source: Source, entry: SourceEntry) -> bool:
    """Whether an object is the one that was read, by its time alone: a known one then costs no request.

    Object stores tell seconds, so that an object which changed while it was read may have the same time.
    """
    read = (entry.modified_ns, entry.endpoint)
    is_same = source.is_object and source.modified_ns is not None and read == (source.modified_ns, source.endpoint)
    return is_same and entry.received_ns - (source.modified_ns or 0) > _SETTLED_NS
