"""Findings of checks, in words."""

from __future__ import annotations

from tracekit.analysis import Finding, words_for
from tracekit.records import ADVICE, Reason
from tracekit.wording.numbers import duration_text, share_text

MESSAGES = {
    "incomplete_units": "units have spans whose parent is missing",
    "orphan_ns": "belongs to spans whose parent is missing",
    "outside_ns": "lies outside the time of the parent span and was cut off",
    "post_root_ns": "is how long spans went on after their root had ended",
    "unattributed_ns": "is explained by no span or attribute",
    "conflicting_units": "units report values that cannot be (impossible, or against each other), not used",
    "shifted_units": "units had a clock corrected",
    "extra_roots": "units have further root spans, whose time is not looked at",
    "beginning_missing": "units hang below a span that did not arrive: what happened around them is not known",
    "repeated_spans": "units have spans that were recorded more than once under other ids; each is counted once",
    "several_step_spans": "parts of ranks in steps are there more than once under one number (attempts that are not "
    "told, or several jobs of one name): only the first of each is looked at",
    "unmatched_collectives": "parts of ranks in steps have collectives that lack partners: waiting and transfer are "
    "not told apart there",
    "collective_sizes": "parts of ranks in steps have collectives whose sizes cannot be or disagree between ranks: "
    "bandwidth does without them",
    "several_calls": "units call a model several times, so that they have no time to first token of their own",
    "joined_units": "units came over several traces, which an id of the request or a link joins",
    "ambiguous_joins": "units have parts from several traces of one kind beside each other: which of them the request "
    "waited for is not known",
    "shared_request_ids": "units name a request by an id that others have too; those are not joined",
    "asynchronous_units": "units have spans that nobody waited for; their time is not looked at",
    "unknown_outcomes": "units have no known outcome",
    "negative_durations": "spans end before they start",
    "dropped_attributes": "spans lost attributes at their sender",
    "dropped_events": "spans lost events at their sender",
    "dropped_links": "spans lost links at their sender",
    "implausible_times": "spans start or end a day after their arrival, or decades before it",
    "implausible_units": "units have spans with times that cannot be (another clock, or longer than a day): no answer "
    "counts them",
    "other_layer": "requests are seen from the {reason} only and may be the same as others: no answer counts both",
    "unseen_callees": "calls {reason} have no span of the service that was called: it was not sent, or got lost",
    "spans_without_unit": "spans belong to no request and no training step",
    "missing_parents": "spans name a parent that did not arrive",
    "rootless_traces": "traces have no root span",
    "duplicates": "records had been stored already",
    "unbuilt_spans": "spans are in no unit yet: their units are being made, or that broke off, "
    "and the next `tracekit ingest` or `tracekit serve` makes up for it",
    "failed_files": "files could not be read to the end",
    "rejected": "records were refused: {reason}",
    "note": "records were stored with something set aside: {reason}",
    "job": "training jobs: {reason}",
    "missing_ranks": "training steps lack ranks of their world",
    "host_clocks": "clocks of hosts differ by about {duration}; waiting of steps is not corrected",
    "unspecified_temporality": "metric streams do not say whether they are cumulative",
    # Checks that only the units of an answer have.
    "damaged_ns": "{share} of the time belongs to spans without a parent or was cut off",
    "missing_metric": "{count:,} of {total:,} units have no value of the metric",
    "vantages": "the units were seen from {count} vantage points",
}
"""What completes the sentence "12 of 100 ...", or "3.4 % of unit time ..." for checks that end in `_ns`.

A message with a place for `{share}`, `{count}` or `{duration}` is the whole sentence.
"""

JOB_NOTES = {
    "attempts_inferred": "attempts are not told and are cut where ranks or steps begin again",
    "job_not_ended": "the end was not seen, so that they count until the last thing seen",
    "job_id_missing": "processes do not name their job; the ledger knows it by their spans, and their "
    "steps are looked at apart",
    "clocks_apart": "clocks of hosts were moved, because they are apart",
    "release_unseen": "the release was not seen, so that they count until the last thing seen",
    "grants_unseen": "nothing but a gauge tells when attempts were granted their accelerators",
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
    "world_exceeded": "more processes trained than their world has ranks; those beyond it are in no sum",
}
"""What was noticed about jobs, by its code in the view `job_notes`."""

_WHOLE_SENTENCES = ("{share}", "{count", "{duration}")


@words_for(Finding)
def finding_text(finding: Finding) -> str:
    """What a check found; nanoseconds as a share of unit time."""
    name, _, reason = finding.check.partition(":")
    template = MESSAGES[name]
    count, total = finding.count, finding.total
    words = template.format(
        reason=_reason_words(reason),
        duration=duration_text(_rounded(count)),
        share=share_text(count / max(total, 1)),
        count=count,
        total=total,
    )
    if any(place in template for place in _WHOLE_SENTENCES):
        return words
    if name.endswith("_ns"):
        return f"{share_text(count / max(total, 1))} of unit time ({duration_text(count)}) {words}"
    return f"{count:,} of {total:,} {words}"


def _rounded(duration_ns: int) -> int:
    """An estimated duration to two digits."""
    return round(duration_ns, 2 - len(str(abs(duration_ns))))


def _reason_words(reason: str) -> str:
    """What is wrong, without what to do about it, and the code by which it can be looked up."""
    if reason in JOB_NOTES:
        return f"{JOB_NOTES[reason]} ({reason})"
    if reason.upper() not in Reason.__members__:
        return reason
    return f"{ADVICE[Reason[reason.upper()]].split(';')[0]} ({reason})"
