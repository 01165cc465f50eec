"""What failed first, in sentences."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis import FailuresAnswer, JobFailures, words_for
from tracekit.wording.job_goodput import hours_text, nothing_text
from tracekit.wording.numbers import duration_text

_NAMED = 3
_RULES = {
    "evidence": "",
    "stopped_first": "it ended before all others without a word",
    "silent": "it said nothing while all others waited",
    "absent": "it alone never told how it ended",
    "unknown": "",
}


@words_for(JobFailures)
def job_failures_summary(answer: JobFailures) -> str:
    """How many attempts of jobs failed, what they cost, and the dearest of them; empty for none."""
    return incidents_sentence(answer.incidents)


@words_for(FailuresAnswer)
def failures_summary(answer: FailuresAnswer) -> str:
    """What failed in jobs and in requests; of a job that is not here that, and which are."""
    said = [part.summary for part in (answer.training, answer.serving) if part is not None and part.summary]
    if said:
        return "\n".join(said)
    is_here = answer.job is None or not answer.known_jobs or answer.job in answer.known_jobs
    return "No attempt of a job failed." if is_here else nothing_text(answer.job, answer.known_jobs)


def incidents_sentence(incidents: pl.DataFrame) -> str:
    """How many failures there were, what they cost, and the dearest of them."""
    if incidents.is_empty():
        return ""
    known = incidents["lost_ns"].drop_nulls()
    took = f" and took {hours_text(int(known.sum()))}" if known.len() else ""
    count = "1 attempt" if incidents.height == 1 else f"{incidents.height} attempts"
    dearest = incidents.sort("lost_ns", descending=True).head(_NAMED)
    has_several = incidents["job_id"].n_unique() > 1
    named = "; ".join(incident_text(row, with_job=has_several) for row in dearest.iter_rows(named=True))
    rest = incidents.height - dearest.height
    more = f"; and {rest} more" if rest else ""
    return f"{count} failed{took}: {named}{more}."


def incident_text(row: dict[str, Any], *, with_job: bool = False) -> str:
    """One failure: who was first, why that is known, who followed, what it took, and whether the restart was sound."""
    # Dumps do not tell attempts: their hangs are numbered.
    which = f"hang {row['attempt'] + 1}" if row["source"] == "flight_recorder" else f"attempt {row['attempt']}"
    which = f"job {row['job_id']!r}, {which}" if with_job else which
    followed = f"{row['blast_radius']:,} processes followed" if row["blast_radius"] != 1 else "1 process followed"
    noticed = duration_text(row["declared_ns"] - row["onset_ns"])
    parts = [f"{which}: {first_cause_text(row)}", followed, f"noticed after {noticed}"]
    if row["lost_ns"] is not None:
        parts.append(f"{hours_text(int(row['lost_ns']))} lost")
    if row["recovery"] == "unsaved":
        parts.append(f"resumed behind step {row['resumed_step']}, of which no save was seen")
    return ", ".join(parts)


def first_cause_text(row: dict[str, Any]) -> str:
    """Whom a failure is charged to and by what evidence."""
    who = _who(row)
    if row["rule"] == "unknown":
        return "no first cause can be told"
    if row["source"] == "flight_recorder":
        return str(row["message"]).rstrip(".")
    why = f"“{row['message']}”" if row["rule"] == "evidence" else _RULES[row["rule"]]
    return f"{row['kind']} failure of {who}: {why}" if row["kind"] != "unknown" else f"{who}: {why}"


def _who(row: dict[str, Any]) -> str:
    ranks = f"rank {row['ranks'][0]}" if len(row["ranks"]) == 1 else f"{len(row['ranks'])} ranks"
    hosts = ", ".join(row["hosts"])
    if not row["ranks"]:
        return hosts or "the scheduler"
    return f"{ranks} ({hosts})" if hosts else ranks
