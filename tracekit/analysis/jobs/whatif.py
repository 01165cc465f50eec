"""What the steps of a job would take under a change, asked of a store."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import polars as pl

from tracekit.analysis.answer import UNITS_SCHEMA, BaseAnswer, question, registered
from tracekit.analysis.evidence import Evidence, evidence
from tracekit.analysis.replay.change import Change
from tracekit.analysis.replay.effects import RANK_SCHEMA
from tracekit.analysis.replay.what_if import WhatIf, what_if
from tracekit.analysis.selection import Selection
from tracekit.store import Database

LEFT_OUT_SCHEMA = {"step": pl.Int64, "reason": pl.String}


@registered("whatif", rows="by_rank", title="What would a change give back?")
@dataclass(frozen=True)
class WhatIfAnswer(WhatIf, BaseAnswer):
    """What a change would give, by replay; its fields are those of `WhatIf`, and whose steps they are.

    A counterfactual: it stands beside the ledger and is never added to it.

    job: whose steps they are. other_jobs: where none was named, jobs that are not looked at.
    """

    schema: ClassVar = {"by_rank": RANK_SCHEMA, "left_out": LEFT_OUT_SCHEMA}
    not_in_json: ClassVar = BaseAnswer.not_in_json | {"other_jobs"}

    evidence: Evidence
    units: pl.DataFrame | None
    job: str | None
    other_jobs: list[str]


@question("whatif")
def whatif(database: Database, change: str, *, job: str | None = None) -> WhatIfAnswer:
    """Replay the steps of a job under a change such as `without=rank:21`.

    Without `job` the one with the most steps is taken. Raises `UsageError` where the change cannot be understood or
    names what is not there.
    """
    parsed = Change.parsed(change)
    jobs = database.query("stragglers/jobs", job=job).sort("step_count", "job_id", descending=[True, False])
    chosen: str | None = jobs["job_id"].to_list()[0] if len(jobs) else job
    judged = step_evidence(database, chosen)
    operations = database.query("whatif/step_operations", job=chosen or None)
    if operations.is_empty():
        return _nothing(parsed, judged, job)
    found = what_if(operations, parsed)
    return WhatIfAnswer(
        **{**vars(found), "verdict": "refused" if judged.verdict == "refused" else found.verdict},
        evidence=judged,
        units=database.query("stragglers/units", job=chosen or None)
        .with_columns(cohort=pl.lit("selection"))
        .cast(UNITS_SCHEMA),  # type: ignore[arg-type]
        job=chosen,
        other_jobs=jobs["job_id"].to_list()[1:],
    )


def step_evidence(database: Database, job: str | None) -> Evidence:
    """What the steps of a job, or of all, can bear: a replay needs to know who came last to each collective."""
    with Selection(database, "step", where=_condition(job)) as selection:
        return _on_one_clock(evidence(selection))


def _on_one_clock(judged: Evidence) -> Evidence:
    """Refuse where clocks of hosts are further apart than a step is long: who came last is not known."""
    apart = [each for each in judged.findings if each.check == "host_clocks" and each.severity == "error"]
    if not apart:
        return judged
    others = (each for each in judged.findings if each not in apart)
    return replace(judged, verdict="refused", findings=(*apart, *others))


def _condition(job: str | None) -> str | None:
    return None if not job else "job_id = '" + job.replace("'", "''") + "'"


def _nothing(change: Change, judged: Evidence, job: str | None) -> WhatIfAnswer:
    return WhatIfAnswer(
        change=change.text, metric="step", before=0.0, after=0.0, low=0.0, high=0.0, saving=0.0, steps=0,
        left_out=pl.DataFrame(schema=LEFT_OUT_SCHEMA), by_rank=pl.DataFrame(schema=RANK_SCHEMA), assumptions=[],
        verdict="no_steps", evidence=judged, units=pl.DataFrame(schema=UNITS_SCHEMA), job=job, other_jobs=[],
    )  # fmt: skip
