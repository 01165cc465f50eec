"""How far back a build looks: which old parts may hold spans of the requests that arrive now."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tracekit.warehouse.manifest import Manifest, Part

_HOUR_NS = 3_600_000_000_000
Hours = tuple[tuple[int, int], ...]
"""The first and the last hour of spans, each pair once; hours since the epoch."""


@dataclass(frozen=True, slots=True)
class LookBack:
    """A build looks for what belongs with a new span within `reach_ns` before and after it; everywhere for None."""

    reach_ns: int | None = None

    def late_before_ns(self, old: Manifest) -> int | None:
        """Spans that begin before this are late: longer than the look-back before the newest; None where none is."""
        newest_ns = old.newest_ns
        return None if self.reach_ns is None or newest_ns is None else newest_ns - self.reach_ns

    def near(self, old: Manifest, hours: Iterable[tuple[int, int]]) -> tuple[Part, ...]:
        """The parts with spans that may belong to requests or jobs of new spans.

        Training jobs are built as wholes, so parts that have some are near whenever they were.
        """
        parts = old.of_kind("spans")
        if self.reach_ns is None:
            return parts
        spans = np.array(list(hours), np.float64).reshape(-1, 2) * _HOUR_NS
        first_ns, last_ns = spans[:, 0] - self.reach_ns, spans[:, 1] + _HOUR_NS + self.reach_ns
        return tuple(part for part in parts if part.has_jobs or _overlaps(part, first_ns, last_ns))


def _overlaps(part: Part, first_ns: np.ndarray, last_ns: np.ndarray) -> bool:
    if part.first_ns is None or part.last_ns is None:
        return any(file.table == "spans" for file in part.files)
    return bool(np.any((first_ns <= part.last_ns) & (last_ns >= part.first_ns)))


def hours_of(spans: pa.Table) -> Hours:
    """The hours in which spans lie."""
    start, end = (spans[name].fill_null(0).to_numpy().astype(np.int64) // _HOUR_NS for name in ("start_ns", "end_ns"))
    first, last = np.minimum(start, end), np.maximum(start, end)
    # All hours of 64 bits of nanoseconds are 23 bits, so two of them are one number, which sorts fast.
    pairs = np.unique((first << 32) + (last - first))
    return tuple((int(pair >> 32), int((pair >> 32) + (pair & 0xFFFFFFFF))) for pair in pairs)


def count_before(spans: pa.Table, time_ns: int | None) -> int:
    """How many spans begin before a time, none for None."""
    if time_ns is None:
        return 0
    starts = spans["start_ns"].fill_null(0).to_numpy().astype(np.int64)
    return int(np.count_nonzero(starts < time_ns))
