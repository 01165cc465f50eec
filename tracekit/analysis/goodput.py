"""Where paid time went: of serving, how many requests met their targets; of training, the ledger of accelerators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from tracekit.analysis.answer import BaseAnswer, question, registered
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.exact import machine
from tracekit.analysis.job_evidence import job_evidence
from tracekit.analysis.jobs.goodput import LEAVES_SCHEMA, JobGoodput, job_goodput
from tracekit.analysis.request_evidence import request_evidence
from tracekit.analysis.requests.goodput import request_goodput
from tracekit.analysis.requests.goodput_answer import Mode, RequestGoodput
from tracekit.analysis.requests.slo import SloSet
from tracekit.errors import UsageError
from tracekit.schema import GoodputVerdict
from tracekit.store import Database


@registered("goodput", rows="leaves", title="Where did the paid accelerator time go?")
@dataclass(frozen=True)
class GoodputAnswer(BaseAnswer):
    """Goodput of what a store holds.

    serving: requests against an SLO, None where none was given. training: the ledgers of jobs. job, known_jobs: the job
    that was asked for, and all there are where it is none of them. silent_jobs: where there is no
    ledger, jobs of which no span says where they are in their life. units: None, jobs have units of their own.
    """

    schema: ClassVar = {"leaves": LEAVES_SCHEMA}

    serving: RequestGoodput | None
    training: JobGoodput
    verdict: GoodputVerdict
    evidence: Evidence
    job: str | None = None
    known_jobs: tuple[str, ...] = ()
    silent_jobs: tuple[str, ...] = ()
    units: None = None

    @property
    def leaves(self) -> pl.DataFrame:
        """One row a job and leaf, as `training.leaves`; numbers as machines read them."""
        return machine(self.training.leaves)

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, as `tracekit goodput --json` prints it."""
        return {
            "serving": None if self.serving is None else self.serving.as_dict(),
            "training": self.training.as_list(),
            "verdict": self.verdict,
            "summary": self.summary,
            "quality": self.evidence.as_dict(),
        }


@question("goodput")
def goodput(
    database: Database,
    *,
    job: str | None = None,
    price: float | None = None,
    flops_per_token: float | None = None,
    device: str | None = None,
    precision: str = "bf16",
    slo: str | SloSet | Mapping[str, Any] | None = None,
    where: str | None = None,
    mode: Mode = "tracekit",
    objective: float | None = None,
) -> GoodputAnswer:
    """Goodput of what the store holds; see `job_goodput` for the options of jobs, and `request_goodput` for the others.

    Requests are judged where an `slo` says by what. Raises `UsageError` where `where` or `objective` comes without.
    """
    if slo is None and (where is not None or objective is not None):
        raise UsageError("say what a good request is: slo='ttft=2s,tpot=50ms'", option="slo")
    training = job_goodput(
        database, job=job, price=price, flops_per_token=flops_per_token, device=device, precision=precision
    )
    has_jobs = bool(training.jobs.height)
    known = () if has_jobs or job is None else tuple(database.query("jobs/jobs", job=None)["job_id"].to_list())
    verdict: GoodputVerdict = "ledger" if has_jobs else "no_jobs"
    serving = None if slo is None else request_goodput(database, slo, where=where, mode=mode, objective=objective)
    evidence = job_evidence(database) if serving is None else request_evidence(database)
    silent = () if has_jobs else tuple(database.query("jobs/silent")["job_id"].to_list())
    return GoodputAnswer(serving, training, verdict, evidence, job=job, known_jobs=known, silent_jobs=silent)
