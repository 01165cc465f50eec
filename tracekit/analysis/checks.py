"""What can be wrong with data, from which share on it matters, and how it is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tracekit.analysis.durations import duration_text
from tracekit.otlp.reasons import ADVICE, Reason

Severity = Literal["ok", "note", "warning", "error"]

CLOCK_LIMITS = {"minimum_count": 8, "spread_share": 0.1}
"""Collectives that a host must have been seen in, and how constant its distance must be, to be its clock."""

REFUSAL_SHARE = 0.10
"""Above this share of wall time that is orphaned or was cut off, an answer is refused."""

DOUBT_SHARE = 0.01
"""Above this share a defect is named as a reason."""


@dataclass(frozen=True)
class Check:
    """What a check means and from which share on its findings are a warning or an error.

    `message` completes the sentence "12 of 100 ...", or "3.4 % of unit time ..." for checks that end in
    `_ns`; with `{duration}` it is the whole sentence. `look` is a statement that shows the findings. A share
    of 1 is never exceeded.
    """

    message: str
    look: str
    warning_share: float = DOUBT_SHARE
    error_share: float = 1.0


CHECKS = {
    "incomplete_units": Check("units have spans whose parent is missing", "FROM units WHERE orphan_count > 0"),
    "orphan_ns": Check(
        "belongs to spans whose parent is missing",
        "FROM units WHERE orphan_ns > 0 ORDER BY orphan_ns DESC",
        error_share=REFUSAL_SHARE,
    ),
    "outside_ns": Check(
        "lies outside the parent span and was cut off",
        "FROM units WHERE outside_ns > 0 ORDER BY outside_ns DESC",
        error_share=REFUSAL_SHARE,
    ),
    "post_root_ns": Check(
        "is how long spans went on after their root had ended",
        "FROM units WHERE post_root_ns > 0 ORDER BY post_root_ns DESC",
        warning_share=0.1,
    ),
    "unattributed_ns": Check(
        "is explained by no span or attribute",
        "SELECT operation, sum(self_ns) FROM unit_stages WHERE stage = 'unattributed' GROUP BY ALL ORDER BY 2 DESC",
        warning_share=0.25,
    ),
    "conflicting_units": Check(
        "units report values that cannot be (impossible, or against each other), not used",
        "FROM units WHERE conflict_count > 0",
        error_share=0.5,
    ),
    "shifted_units": Check("units had a clock corrected", "FROM units WHERE shift_ns != 0", warning_share=0.1),
    "extra_roots": Check(
        "units have further root spans, whose time is not looked at",
        "FROM units WHERE flags LIKE '%extra_roots%'",
    ),
    "several_calls": Check(
        "units call a model several times, so that they have no time to first token of their own",
        "FROM units WHERE flags LIKE '%several_calls%'",
        warning_share=1.0,
    ),
    "asynchronous_units": Check(
        "units have spans that nobody waited for; their time is not looked at",
        "FROM units WHERE regexp_matches(flags, '(^|,)async(,|$)')",
        warning_share=1.0,
    ),
    "unknown_outcomes": Check("units have no known outcome", "FROM units WHERE outcome = 'unknown'"),
    "negative_durations": Check(
        "spans end before they start",
        "FROM spans WHERE end_ns < start_ns",
        warning_share=0.0,
        error_share=0.1,
    ),
    "dropped_attributes": Check(
        "spans lost attributes at their sender", "FROM spans WHERE dropped_attributes_count > 0"
    ),
    "dropped_events": Check("spans lost events at their sender", "FROM spans WHERE dropped_events_count > 0"),
    "dropped_links": Check("spans lost links at their sender", "FROM spans WHERE dropped_links_count > 0"),
    "implausible_times": Check(
        "spans start a day after their arrival or ended decades before it",
        "FROM spans ORDER BY start_ns DESC",
        warning_share=0.0,
        error_share=0.1,
    ),
    "spans_without_unit": Check(
        "spans belong to no request and no training step",
        "SELECT service_name, name, count(*) FROM spans GROUP BY ALL ORDER BY 3 DESC",
        warning_share=0.5,
    ),
    "missing_parents": Check(
        "spans name a parent that did not arrive",
        "SELECT service_name, name, count(*) FROM spans "
        "ANTI JOIN (SELECT trace_id, span_id AS parent_span_id FROM spans) USING (trace_id, parent_span_id) "
        "WHERE parent_span_id IS NOT NULL GROUP BY ALL ORDER BY 3 DESC",
    ),
    "rootless_traces": Check(
        "traces have no root span",
        "SELECT trace_id FROM spans GROUP BY trace_id HAVING count(*) = count(parent_span_id)",
    ),
    "duplicates": Check("records had been stored already", "FROM ingests WHERE duplicates > 0", warning_share=1.0),
    "unbuilt_spans": Check(
        "spans are in no unit yet: their units are being made, or that broke off, and the next `tracekit ingest` "
        "or `tracekit serve` makes up for it",
        "FROM ingests WHERE ingest_id > (SELECT coalesce(max(ingest_id), 0) FROM base.built_through)",
        error_share=0.1,
    ),
    "failed_files": Check(
        "files could not be read to the end", "FROM ingests WHERE error IS NOT NULL", warning_share=0.0
    ),
    "rejected": Check("records were refused: {reason}", "FROM ingest_rejects", warning_share=0.0, error_share=0.1),
    "note": Check("records were stored with something set aside: {reason}", "FROM ingest_rejects"),
    "job": Check("training jobs: {reason}", "FROM job_notes", warning_share=1.0),
    "missing_ranks": Check(
        "training steps lack ranks of their world",
        "SELECT job_id, attempt, step, count(*) FROM units WHERE kind = 'step' GROUP BY ALL",
        error_share=0.5,
    ),
    "host_clocks": Check(
        "clocks of hosts differ by about {duration}; waiting of steps is not corrected",
        "SELECT resource_attributes['host.name']::VARCHAR AS host_name, max(end_ns) AS end_ns, "
        "span_attributes['tracekit.collective.seq']::VARCHAR AS seq FROM spans "
        "WHERE span_attributes['tracekit.collective.seq'] IS NOT NULL GROUP BY ALL ORDER BY seq, host_name",
    ),
    "unspecified_temporality": Check(
        "metric streams do not say whether they are cumulative",
        "FROM metric_streams WHERE temporality = 'UNSPECIFIED'",
        warning_share=0.0,
    ),
}
"""Every check with its thresholds; `host_clocks` is in nanoseconds, as a share of a step.

`rejected`, `note` and `job` stand for one check a reason.
"""

JOB_NOTES = {
    "attempts_inferred": "attempts are not told and are cut where ranks or steps begin again",
    "job_not_ended": "the end was not seen, so that they count until the last thing seen",
    "job_id_missing": "processes do not name their job",
    "clocks_apart": "clocks of hosts were moved, because they are apart",
    "attempts_overlap": "attempts go on after the next one began",
    "attempts_without_root": "attempts have no span of their own",
    "attempts_without_steps": "attempts tell of no step",
    "onset_unsure": "nothing tells when a failure began, up to half a step",
    "steps_skipped": "step numbers are missing between others",
    "steps_repeated": "a rank repeats a step inside one attempt",
    "steps_overlap": "steps of a rank overlap, and what they share counts once",
    "processes_missing": "accelerators of their world sent no span",
    "world_changed": "attempts run with different numbers of accelerators",
    "several_runs": "several runs have one name",
    "collectives_unmatched": "collectives lack partners, or their sizes disagree",
}
"""What was noticed about jobs, by its code in the view `job_notes`."""


def severity(name: str, count: int, total: int) -> Severity:
    """How bad the findings of a check are; `ok` where there are none or nothing was looked at."""
    check = check_of(name)
    if count == 0 or total == 0:
        return "ok"
    if count / total > check.error_share:
        return "error"
    return "warning" if count / total > check.warning_share else "note"


def message(name: str, count: int, total: int) -> str:
    """The findings of a check in words; nanoseconds as a share of unit time."""
    template = check_of(name).message
    words = template.format(reason=_reason_words(name.partition(":")[2]), duration=duration_text(_rounded(count)))
    if "{duration}" in template:
        return words
    if name.endswith("_ns"):
        return f"{count / max(total, 1):.1%} of unit time ({duration_text(count)}) {words}"
    return f"{count:,} of {total:,} {words}"


def _rounded(duration_ns: int) -> int:
    """An estimated duration to two digits."""
    return round(duration_ns, 2 - len(str(abs(duration_ns))))


def check_of(name: str) -> Check:
    """The check behind a name like `orphan_ns` or `rejected:time_zero`."""
    return CHECKS[name.partition(":")[0]]


def _reason_words(reason: str) -> str:
    """What is wrong, without what to do about it, and the code by which it can be looked up."""
    if reason in JOB_NOTES:
        return f"{JOB_NOTES[reason]} ({reason})"
    if reason.upper() not in Reason.__members__:
        return reason
    return f"{ADVICE[Reason[reason.upper()]].split(';')[0]} ({reason})"
