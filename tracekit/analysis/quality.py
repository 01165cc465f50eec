"""What the data in a store can bear: every known defect counted, and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tracekit.analysis.durations import duration_text
from tracekit.analysis.evidence import DOUBT_SHARE, REFUSAL_SHARE
from tracekit.store import Database

FUTURE_TOLERANCE_NS = 86_400_000_000_000
"""A span that starts more than a day after its arrival has a wrong clock."""

PAST_TOLERANCE_NS = 20 * 365 * 86_400_000_000_000
"""A span that ended more than twenty years before its arrival has a wrong clock or a wrong unit."""

QUALITY_SCHEMA = {
    "check": pl.String,
    "severity": pl.String,
    "count": pl.Int64,
    "total": pl.Int64,
    "share": pl.Float64,
    "message": pl.String,
    "look": pl.String,
}

Severity = Literal["ok", "note", "warning", "error"]


@dataclass(frozen=True)
class Check:
    """What a check means and from which share on its findings are a warning or an error.

    `message` completes the sentence "12 of 100 ...", or "3.4 % of unit time ..." for nanoseconds. `look` is
    a statement that shows the findings. A share of 1 is never exceeded.
    """

    message: str
    look: str
    warning_share: float = DOUBT_SHARE
    error_share: float = 1.0


CHECKS = {
    "incomplete_units": Check(
        "units have spans whose parent is missing", "FROM units WHERE orphan_count > 0"
    ),
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
        "SELECT operation, sum(self_ns) FROM unit_stages WHERE stage = 'unattributed' "
        "GROUP BY ALL ORDER BY 2 DESC",
        warning_share=0.25,
    ),
    "conflicting_units": Check(
        "units report values that cannot be (impossible, or against each other), not used",
        "FROM units WHERE conflict_count > 0",
        error_share=0.5,
    ),
    "shifted_units": Check(
        "units had a clock corrected", "FROM units WHERE shift_ns != 0", warning_share=0.1
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
    "duplicates": Check(
        "records had been stored already", "FROM ingests WHERE duplicates > 0", warning_share=1.0
    ),
    "failed_files": Check(
        "files could not be read to the end", "FROM ingests WHERE error IS NOT NULL", warning_share=0.0
    ),
    "rejected": Check(
        "records were refused: {reason}", "FROM ingest_rejects", warning_share=0.0, error_share=0.1
    ),
    "note": Check("records were stored with something set aside: {reason}", "FROM ingest_rejects"),
    "missing_ranks": Check(
        "training steps lack ranks of their world",
        "SELECT job_id, attempt, step, count(*) FROM units WHERE kind = 'step' GROUP BY ALL",
        error_share=0.5,
    ),
    "unspecified_temporality": Check(
        "metric streams do not say whether they are cumulative",
        "FROM metric_streams WHERE temporality = 'UNSPECIFIED'",
        warning_share=0.0,
    ),
}
"""Every check with its thresholds; `rejected` and `note` stand for one check a reason."""


@dataclass(frozen=True)
class QualityAnswer:
    """What is in a store that answers have to live with.

    checks: one row a check (`check`, `severity`, `count`, `total`, `share`, `message`, `look`), the worst
        first;
        `severity` is ok, note, warning or error; `look` is a statement that shows the findings.
    verdict: `good` (no warning), `usable` (warnings), `poor` (an error: answers may be wrong or are refused).
    reasons: messages of the checks that made the verdict. summary: the verdict in a sentence.
    """

    checks: pl.DataFrame
    verdict: Literal["good", "usable", "poor"]
    reasons: list[str]
    summary: str

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, the frame as a list of rows."""
        return {
            "verdict": self.verdict,
            "reasons": self.reasons,
            "summary": self.summary,
            "checks": self.checks.to_dicts(),
        }


def quality(database: Database) -> QualityAnswer:
    """Count every known defect of the data in a store and judge whether it can bear answers."""
    found = pl.concat(
        [
            database.query("quality/unit_checks"),
            database.query(
                "quality/span_checks",
                future_tolerance_ns=FUTURE_TOLERANCE_NS,
                past_tolerance_ns=PAST_TOLERANCE_NS,
            ),
            database.query("quality/arrival_checks"),
            database.query("quality/signal_checks"),
        ]
    )
    checks = pl.DataFrame([_row(*row) for row in found.iter_rows()], schema=QUALITY_SCHEMA)
    ranked = checks.sort(
        pl.col("severity").replace_strict({"error": 0, "warning": 1, "note": 2, "ok": 3}),
        pl.col("share").fill_null(0),
        "check",
        descending=[False, True, False],
    )
    reasons = ranked.filter(pl.col("severity").is_in(["error", "warning"]))["message"].to_list()
    verdict = _verdict(ranked["severity"].to_list())
    return QualityAnswer(ranked, verdict, reasons, _summary(verdict, reasons))


def _row(name: str, count: int, total: int) -> dict[str, object]:
    kind, _, reason = name.partition(":")
    check = CHECKS[kind]
    share = count / total if total else None
    return {
        "check": name,
        "severity": _severity(count, share, check),
        "count": count,
        "total": total,
        "share": share,
        "message": f"{_amount(name, count, total)} {check.message.format(reason=reason)}",
        "look": check.look,
    }


def _amount(name: str, count: int, total: int) -> str:
    if not name.endswith("_ns"):
        return f"{count:,} of {total:,}"
    return f"{count / max(total, 1):.1%} of unit time ({duration_text(count)})"


def _severity(count: int, share: float | None, check: Check) -> Severity:
    if count == 0 or share is None:
        return "ok"
    if share > check.error_share:
        return "error"
    return "warning" if share > check.warning_share else "note"


def _verdict(severities: list[str]) -> Literal["good", "usable", "poor"]:
    if "error" in severities:
        return "poor"
    return "usable" if "warning" in severities else "good"


def _summary(verdict: str, reasons: list[str]) -> str:
    if not reasons:
        return "The data are good: nothing was found that answers have to live with."
    return f"The data are {verdict}: " + "; ".join(reasons) + "."
