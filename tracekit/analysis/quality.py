"""What the data in a store can bear: every known defect counted, and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tracekit.analysis.checks import CLOCK_LIMITS, check_of, message, severity
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


@dataclass(frozen=True)
class QualityAnswer:
    """What is in a store that answers have to live with.

    checks: one row a check (`check`, `severity`, `count`, `total`, `share`, `message`, `look`), the worst
        first; `severity` is ok, note, warning or error; `look` is a statement that shows the findings.
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
            database.query("quality/arrival_checks", signal=None),
            database.query("quality/signal_checks"),
            database.query("quality/job_checks"),
            database.query("quality/host_clocks", jobs=None, **CLOCK_LIMITS),
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
    return {
        "check": name,
        "severity": severity(name, count, total),
        "count": count,
        "total": total,
        "share": count / total if total else None,
        "message": message(name, count, total),
        "look": check_of(name).look,
    }


def _verdict(severities: list[str]) -> Literal["good", "usable", "poor"]:
    if "error" in severities:
        return "poor"
    return "usable" if "warning" in severities else "good"


def _summary(verdict: str, reasons: list[str]) -> str:
    if not reasons:
        return "The data are good: nothing was found that answers have to live with."
    return f"The data are {verdict}: " + "; ".join(reasons) + "."
