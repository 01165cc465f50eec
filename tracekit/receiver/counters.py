"""What a receiver counts about itself."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tracekit.receiver.export import Export
from tracekit.receiver.groups import Written
from tracekit.receiver.outcome import Accepted, Outcome

Labels: TypeAlias = tuple[tuple[str, str], ...]

COMMIT_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


@dataclass(frozen=True, slots=True)
class Series:
    """One metric of the receiver with its values now, by labels. Units are UCUM codes as in OpenTelemetry."""

    name: str
    description: str
    unit: str
    kind: Literal["sum", "gauge"]
    values: dict[Labels, int]


@dataclass(slots=True)
class CommitTimes:
    """A histogram of the seconds that commits took; `counts` has one more entry than `COMMIT_BOUNDS_S`."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(COMMIT_BOUNDS_S) + 1))
    sum_s: float = 0.0

    @property
    def count(self) -> int:
        """Commits so far."""
        return sum(self.counts)


class Counters:
    """Counts what arrived and what became of it. Any thread may add."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: Counter[Labels] = Counter()
        self._records: Counter[Labels] = Counter()
        self._rejected: Counter[Labels] = Counter()
        self._commits = CommitTimes()
        self._gauges: dict[str, tuple[str, str, Callable[[], int]]] = {}

    def add_gauge(self, name: str, *, unit: str, description: str, value: Callable[[], int]) -> None:
        """Show a value that is read when somebody looks."""
        self._gauges[name] = (unit, description, value)

    def add_answer(self, export: Export, outcome: Outcome) -> None:
        """Count one request that was read whole, by transport, signal and answer."""
        self.add_request(export.transport, export.signal, outcome)

    def add_request(self, transport: str, signal: str, outcome: Outcome) -> None:
        """Count one request by its answer: `success`, `partial`, or the reason why it was refused."""
        if isinstance(outcome, Accepted):
            answer = "partial" if outcome.rejected_count else "success"
        else:
            answer = outcome.why.name.lower()
        with self._lock:
            self._requests[("transport", transport), ("signal", signal), ("answer", answer)] += 1

    def add_written(self, written: Written) -> None:
        """Count the records of one transaction."""
        with self._lock:
            for signal, counts in written.counts:
                stored = counts.spans + counts.metric_points + counts.logs
                self._records[("signal", signal), ("fate", "stored")] += stored
                self._records[("signal", signal), ("fate", "duplicate")] += counts.duplicates
                for reject in counts.rejects:
                    labels = (
                        ("signal", reject.signal or signal),
                        ("reason", reject.reason),
                        ("kind", reject.kind),
                    )
                    self._rejected[labels] += reject.record_count

    def observe_commit(self, seconds: float) -> None:
        """Count one commit and the time that it took, decoding included."""
        with self._lock:
            self._commits.counts[bisect_left(COMMIT_BOUNDS_S, seconds)] += 1
            self._commits.sum_s += seconds

    def commit_times(self) -> CommitTimes:
        """A copy of the histogram of commit times."""
        with self._lock:
            return CommitTimes(list(self._commits.counts), self._commits.sum_s)

    def series(self) -> list[Series]:
        """All metrics but the commit times, as they are now."""
        with self._lock:
            sums = [
                Series(
                    "tracekit.receiver.requests",
                    "Export requests by answer",
                    "{request}",
                    "sum",
                    dict(self._requests),
                ),
                Series(
                    "tracekit.receiver.records",
                    "Spans, data points and log records by what became of them",
                    "{record}",
                    "sum",
                    dict(self._records),
                ),
                Series(
                    "tracekit.receiver.rejects",
                    "Records not stored (rejected) or stored with a note, by reason",
                    "{record}",
                    "sum",
                    dict(self._rejected),
                ),
            ]
        gauges = [
            Series(name, description, unit, "gauge", {(): value()})
            for name, (unit, description, value) in self._gauges.items()
        ]
        return sums + gauges
