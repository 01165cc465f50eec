"""What an open store remembers of what it holds, so that a batch need not ask for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from tracekit.store.known_numbers import KnownNumbers
from tracekit.store.recent_spans import RecentSpans


@dataclass(slots=True)
class DedupCache:
    """Numbers given to senders, and in a served store the spans that came last.

    `rows_written` counts spans, points and log records since the file was opened.
    Belongs to whoever holds the lock for writing.
    """

    numbers: KnownNumbers = field(default_factory=KnownNumbers)
    spans: RecentSpans | None = None
    rows_written: int = 0
