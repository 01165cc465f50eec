"""What can be wrong with data, and from which share on it matters; how it is said: `tracekit.wording`."""

from __future__ import annotations

from dataclasses import dataclass

from tracekit.analysis.worded import in_words
from tracekit.schema import UNATTRIBUTED, Severity, exchanged

CLOCK_LIMITS = {"minimum_count": 8, "spread_share": 0.1}
"""Collectives that a host must have been seen in, and how constant its distance must be, to be its clock."""

REFUSAL_SHARE = 0.10
"""Above this share of wall time that is orphaned or was cut off, an answer is refused."""

DOUBT_SHARE = 0.01
"""Above this share a defect is named as a reason."""


@dataclass(frozen=True)
class Check:
    """From which share on the findings of a check are a warning or an error.

    `look` is a statement that shows the findings. A share of 1 is never exceeded.
    """

    look: str
    warning_share: float = DOUBT_SHARE
    error_share: float = 1.0


@exchanged("finding")
@dataclass(frozen=True)
class Finding:
    """What a check found: `count` of `total`; nanoseconds for checks that end in `_ns`, and for `host_clocks`.

    `check`: a name in `CHECKS`, `rejected:REASON`, `note:REASON`, `other_layer:LAYER` or
    `unseen_callees:CALLER->CALLEE`, or a check that only an
    answer has: `damaged_ns`, `missing_metric`, `vantages`.
    """

    check: str
    severity: Severity
    count: int
    total: int

    @property
    def message(self) -> str:
        """The finding in words."""
        return in_words(self)


CHECKS = {
    "incomplete_units": Check("FROM units WHERE orphan_count > 0"),
    "orphan_ns": Check("FROM units WHERE orphan_ns > 0 ORDER BY orphan_ns DESC", error_share=REFUSAL_SHARE),
    "outside_ns": Check("FROM units WHERE outside_ns > 0 ORDER BY outside_ns DESC", error_share=REFUSAL_SHARE),
    "post_root_ns": Check("FROM units WHERE post_root_ns > 0 ORDER BY post_root_ns DESC", warning_share=0.1),
    "unattributed_ns": Check(
        f"SELECT operation, sum(self_ns) FROM unit_stages WHERE stage = '{UNATTRIBUTED}' GROUP BY ALL ORDER BY 2 DESC",
        warning_share=0.25,
    ),
    "conflicting_units": Check("FROM units WHERE conflict_count > 0", error_share=0.5),
    "shifted_units": Check("FROM units WHERE shift_ns != 0", warning_share=0.1),
    "extra_roots": Check("FROM units WHERE flags LIKE '%extra_roots%'"),
    "beginning_missing": Check("FROM units WHERE flags LIKE '%root_parent_missing%'"),
    "repeated_spans": Check(
        "SELECT trace_id, service_name, name, start_ns, count(*), list(span_id) FROM spans "
        "GROUP BY trace_id, service_name, name, start_ns, parent_span_id, end_ns, kind "
        "HAVING count(*) BETWEEN 2 AND 3 ORDER BY start_ns"
    ),
    "several_step_spans": Check(
        "FROM units WHERE flags LIKE '%several_step_spans%' ORDER BY job_id, attempt, step, rank", error_share=0.5
    ),
    "unmatched_collectives": Check(
        "FROM units WHERE flags LIKE '%ranks_missing%' ORDER BY job_id, attempt, step, rank"
    ),
    "collective_sizes": Check(
        "FROM units WHERE flags LIKE '%odd_collective_sizes%' ORDER BY job_id, attempt, step, rank"
    ),
    "several_calls": Check("FROM units WHERE flags LIKE '%several_calls%'", warning_share=1.0),
    "joined_units": Check("FROM joined_spans ORDER BY request_trace_id, trace_id, span_id", warning_share=1.0),
    "ambiguous_joins": Check("FROM units WHERE flags LIKE '%ambiguous_join%'"),
    "shared_request_ids": Check("FROM units WHERE flags LIKE '%shared_request_id%' ORDER BY start_ns"),
    "asynchronous_units": Check("FROM units WHERE regexp_matches(flags, '(^|,)async(,|$)')", warning_share=1.0),
    "unknown_outcomes": Check("FROM units WHERE outcome = 'unknown'"),
    "negative_durations": Check("FROM spans WHERE end_ns < start_ns", warning_share=0.0, error_share=0.1),
    "dropped_attributes": Check("FROM spans WHERE dropped_attributes_count > 0"),
    "dropped_events": Check("FROM spans WHERE dropped_events_count > 0"),
    "dropped_links": Check("FROM spans WHERE dropped_links_count > 0"),
    "implausible_times": Check(
        "FROM spans WHERE start_ns < epoch_ns(now()) - 630720000000000000 OR end_ns > epoch_ns(now()) + 86400000000000 "
        "ORDER BY start_ns, end_ns DESC",
        warning_share=0.0,
        error_share=0.1,
    ),
    "implausible_units": Check("FROM units WHERE flags LIKE '%implausible_times%'", warning_share=0.0),
    "other_layer": Check("SELECT seen_from, count(*) FROM units GROUP BY ALL ORDER BY 2 DESC", warning_share=0.0),
    "unseen_callees": Check(
        "SELECT calls.service_name, calls.name, calls.start_ns, calls.trace_id FROM spans AS calls "
        "ANTI JOIN spans AS below ON below.trace_id = calls.trace_id AND below.parent_span_id = calls.span_id "
        "WHERE calls.kind IN ('CLIENT', 'PRODUCER') ORDER BY calls.start_ns"
    ),
    "spans_without_unit": Check(
        "SELECT service_name, name, count(*) FROM spans GROUP BY ALL ORDER BY 3 DESC", warning_share=0.5
    ),
    "missing_parents": Check(
        "SELECT service_name, name, count(*) FROM spans "
        "ANTI JOIN (SELECT trace_id, span_id AS parent_span_id FROM spans) USING (trace_id, parent_span_id) "
        "WHERE parent_span_id IS NOT NULL GROUP BY ALL ORDER BY 3 DESC"
    ),
    "rootless_traces": Check("SELECT trace_id FROM spans GROUP BY trace_id HAVING count(*) = count(parent_span_id)"),
    "duplicates": Check("FROM ingests WHERE duplicates > 0", warning_share=1.0),
    "unbuilt_spans": Check(
        "FROM ingests WHERE ingest_id > (SELECT coalesce(max(ingest_id), 0) FROM base.built_through)", error_share=0.1
    ),
    "failed_files": Check("FROM ingests WHERE error IS NOT NULL", warning_share=0.0),
    "rejected": Check("FROM ingest_rejects", warning_share=0.0, error_share=0.1),
    "note": Check("FROM ingest_rejects"),
    "job": Check("FROM job_notes", warning_share=1.0),
    "missing_ranks": Check(
        "SELECT job_id, attempt, step, count(*) FROM units WHERE kind = 'step' GROUP BY ALL", error_share=0.5
    ),
    "host_clocks": Check(
        "SELECT resource_attributes['host.name']::VARCHAR AS host_name, "
        "max(end_ns) AS end_ns, span_attributes['tracekit.collective.seq']::VARCHAR AS seq FROM spans "
        "WHERE span_attributes['tracekit.collective.seq'] IS NOT NULL GROUP BY ALL ORDER BY seq, host_name"
    ),
    "unspecified_temporality": Check("FROM metric_streams WHERE temporality = 'UNSPECIFIED'", warning_share=0.0),
}
"""Every check with its thresholds; `host_clocks` is in nanoseconds, as a share of a step.

`rejected`, `note` and `job` stand for one check a reason.
"""

DOUBTFUL_NOTES = ("attempts_overlap", "job_id_missing", "several_runs", "world_exceeded")
"""What was noticed about a job that leaves time out of an answer, or shares it between jobs: a warning each."""


def severity(name: str, count: int, total: int) -> Severity:
    """How bad the findings of a check are; `ok` where there are none or nothing was looked at."""
    check = check_of(name)
    if name.removeprefix("job:") in DOUBTFUL_NOTES:
        return "warning" if count else "ok"
    if count == 0 or total == 0:
        return "ok"
    # Background work may last longer than all requests together: its share is above 1, and still no error.
    if check.error_share < 1 and count / total > check.error_share:
        return "error"
    return "warning" if count / total > check.warning_share else "note"


def found(name: str, count: int, total: int) -> Finding:
    """What a check found, judged by its own limits."""
    return Finding(name, severity(name, count, total), count, total)


def check_of(name: str) -> Check:
    """The check behind a name like `orphan_ns` or `rejected:time_zero`."""
    return CHECKS[name.partition(":")[0]]
