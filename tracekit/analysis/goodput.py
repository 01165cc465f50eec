"""Where paid time went: of serving, how many requests met their targets; of training, the ledger of accelerators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tracekit.analysis.job_goodput import JobGoodput, job_goodput
from tracekit.store import Database


@dataclass(frozen=True)
class GoodputAnswer:
    """serving: None where it was not asked for. training: the ledgers of jobs. summary: a sentence each."""

    serving: Any
    training: JobGoodput
    verdict: str
    summary: str

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, as `tracekit goodput --json` prints it."""
        serving = None if self.serving is None else self.serving.as_dict()
        return {
            "serving": serving,
            "training": self.training.as_list(),
            "verdict": self.verdict,
            "summary": self.summary,
        }


def goodput(database: Database, *, job: str | None = None, price: float | None = None, **usage: Any) -> GoodputAnswer:
    """Goodput of what the store holds; see `job_goodput` for the options."""
    training = job_goodput(database, job=job, price=price, **usage)
    verdict = "ledger" if training.jobs.height else "no_jobs"
    return GoodputAnswer(None, training, verdict, training.summary or _nothing(database, job))


def _nothing(database: Database, job: str | None) -> str:
    known = [] if job is None else database.query("jobs/jobs", job=None)["job_id"].to_list()
    if not known:
        return "The store holds no training job."
    return f"The store holds no job {job!r}; there are {', '.join(map(repr, known))}."
