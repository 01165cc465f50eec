"""What failed first: incidents of training jobs and of requests, each with one first cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tracekit.analysis.job_failures import JobFailures, job_failures
from tracekit.store import Database


@dataclass(frozen=True)
class FailuresAnswer:
    """failed: attempts and requests that failed; the others count requests that were aborted, rejected or invalid.

    training: failures of jobs. serving: failures of requests, None where there are none to tell.
    """

    failed: int
    training: JobFailures
    verdict: str
    summary: str
    serving: Any = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("aborted", "rejected", "invalid"), 0))

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, as `tracekit failures --json` prints it."""
        requests = [] if self.serving is None else self.serving.as_list()
        return {
            "failed": self.failed,
            "incidents": [*self.training.as_list(), *requests],
            **self.counts,
            "verdict": self.verdict,
            "summary": self.summary,
        }


def failures(database: Database, *, job: str | None = None, price: float | None = None) -> FailuresAnswer:
    """First causes of all failures in the store, or of those of `job`."""
    training = job_failures(database, job=job, price=price)
    verdict = "failures" if training.failed else "no_failures"
    return FailuresAnswer(training.failed, training, verdict, training.summary or "No attempt of a job failed.")
