"""What failed first: incidents of training jobs and of requests, each with one first cause."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from tracekit.analysis.answer import BaseAnswer, question, registered
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.exact import machine
from tracekit.analysis.job_evidence import job_evidence
from tracekit.analysis.jobs.failures import INCIDENT_SCHEMA, JobFailures, job_failures
from tracekit.analysis.request_evidence import request_evidence
from tracekit.analysis.requests.failures import request_failures
from tracekit.analysis.requests.failures_answer import RequestFailures
from tracekit.schema import FailuresVerdict
from tracekit.store import Database


@registered("failures", rows="incidents", title="What failed first?")
@dataclass(frozen=True)
class FailuresAnswer(BaseAnswer):
    """Failures of what a store holds.

    failed: attempts and requests that failed; counts: requests that were aborted, rejected or invalid. training:
    failures of jobs. serving: failures of requests, None where there are none to tell. units: None, jobs have units of
    their own. job, known_jobs: the job that was asked for and, where nothing of it failed, those that there are.
    """

    schema: ClassVar = {"incidents": INCIDENT_SCHEMA}

    failed: int
    training: JobFailures
    verdict: FailuresVerdict
    evidence: Evidence
    serving: RequestFailures | None = None
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("aborted", "rejected", "invalid"), 0))
    units: None = None
    job: str | None = None
    known_jobs: tuple[str, ...] = ()

    @property
    def incidents(self) -> pl.DataFrame:
        """One row a failure, as `training.incidents`; ranks and hosts as lists in text."""
        return machine(self.training.incidents).with_columns(
            pl.col("ranks").cast(pl.List(pl.String)).list.join(","), pl.col("hosts").list.join(",")
        )

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, as `tracekit failures --json` prints it."""
        requests = [] if self.serving is None else self.serving.as_list()
        told = {} if self.serving is None else self.serving.counts_and_refusals()
        return {
            "failed": self.failed,
            "incidents": [*self.training.as_list(), *requests],
            **self.counts,
            **told,
            "verdict": self.verdict,
            "summary": self.summary,
            "quality": self.evidence.as_dict(),
        }


@question("failures")
def failures(
    database: Database, *, job: str | None = None, price: float | None = None, where: str | None = None
) -> FailuresAnswer:
    """First causes of all failures in the store, or of those of `job`; `price` as for `goodput`.

    `where` selects requests by a condition over the view `units`; requests are left out where a job is asked for.
    """
    training = job_failures(database, job=job, price=price)
    serving = None if job is not None else request_failures(database, where=where)
    if serving is not None and not serving.attempted:
        serving = None
    failed = training.failed + (serving.failed if serving else 0)
    counts = {name: getattr(serving, name, 0) for name in ("aborted", "rejected", "invalid")}
    counts["rejected"] += serving.shed if serving else 0
    verdict: FailuresVerdict = "failures" if failed else "no_failures"
    evidence = job_evidence(database) if serving is None else request_evidence(database)
    known = () if job is None or failed else tuple(database.query("jobs/jobs", job=None)["job_id"].to_list())
    return FailuresAnswer(failed, training, verdict, evidence, serving, counts, job=job, known_jobs=known)
