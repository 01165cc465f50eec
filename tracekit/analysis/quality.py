"""How good the data of a store are: defects counted, and a verdict."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, ClassVar

import polars as pl

from tracekit import queries
from tracekit.analysis.answer import BaseAnswer, question, registered
from tracekit.analysis.checks import CLOCK_LIMITS, Finding, check_of, severity
from tracekit.analysis.coverage import COVERAGE_SCHEMA, coverage_checks, coverage_frame
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.population import OTHER_LAYER, population_of
from tracekit.schema import FUTURE_TOLERANCE_NS, PAST_TOLERANCE_NS, QualityVerdict
from tracekit.store import Database

_FINDING_SCHEMA = {
    "check": pl.String,
    "severity": pl.String,
    "count": pl.Int64,
    "total": pl.Int64,
    "share": pl.Float64,
}
QUALITY_SCHEMA = _FINDING_SCHEMA | {"message": pl.String, "look": pl.String}


@registered("quality", rows="checks", title="Quality")
@dataclass(frozen=True)
class QualityAnswer(BaseAnswer):
    """What is in a store that answers have to live with.

    findings: one row a check (`check`, `severity`, `count`, `total`, `share`), the worst first; `severity` is ok,
        note, warning or error.
    verdict: `good` (no warning), `usable` (warnings), `poor` (an error: answers may be wrong or are refused).
    coverage: calls of each service and how many have the span of the service that they called, by host, with when spans
        are missing (`caller`, `callee`, `operation`, `target`, `caller_host`, `expected_count`, `arrived_count`,
        `first_missing_ns`, `last_missing_ns`, `between_count`); only calls of which some have one and some have none.
    units: None, all of the store.
    """

    schema: ClassVar = {"checks": QUALITY_SCHEMA}

    findings: pl.DataFrame
    verdict: QualityVerdict
    coverage: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=COVERAGE_SCHEMA))
    units: None = None

    @property
    def checks(self) -> pl.DataFrame:
        """The findings with their `message`, and `look`: a statement that shows them."""
        judged = [Finding(*row) for row in self.findings.drop("share").iter_rows()]
        words = pl.Series("message", [finding.message for finding in judged], dtype=pl.String)
        looks = pl.Series("look", [check_of(finding.check).look for finding in judged], dtype=pl.String)
        return self.findings.with_columns(words, looks)

    @property
    def reasons(self) -> list[str]:
        """Messages of the checks that made the verdict."""
        return self.evidence.reasons

    @property
    def evidence(self) -> Evidence:
        """The verdict with the findings that made it."""
        named = self.findings.filter(pl.col("severity").is_in(["error", "warning"])).drop("share")
        return Evidence(self.verdict, tuple(Finding(*row) for row in named.iter_rows()), {})

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, the frame as a list of rows."""
        return {
            "verdict": self.verdict,
            "reasons": self.reasons,
            "summary": self.summary,
            "checks": self.checks.to_dicts(),
            "coverage": self.coverage.to_dicts(),
        }


@question("quality")
def quality(database: Database) -> QualityAnswer:
    """Count every known defect of the data in a store and judge whether it can bear answers."""
    coverage = coverage_frame(database)
    counted = pl.concat(
        [
            coverage_checks(coverage),
            database.query("quality/unit_checks"),
            database.query(
                "quality/span_checks",
                future_tolerance_ns=FUTURE_TOLERANCE_NS,
                past_tolerance_ns=PAST_TOLERANCE_NS,
            ),
            _other_layers(database),
            database.query("quality/arrival_checks", signal=None),
            database.query("quality/signal_checks"),
            database.query("quality/job_checks"),
            database.query("quality/host_clocks", jobs=None, has_hosts=_has_rank_hosts(database), **CLOCK_LIMITS),
        ]
    )
    findings = pl.DataFrame([_row(*row) for row in counted.iter_rows()], schema=_FINDING_SCHEMA)
    ranked = findings.sort(
        pl.col("severity").replace_strict({"error": 0, "warning": 1, "note": 2, "ok": 3}),
        pl.col("share").fill_null(0),
        "check",
        descending=[False, True, False],
    )
    return QualityAnswer(ranked, _verdict(ranked["severity"].to_list()), coverage)


def _has_rank_hosts(database: Database) -> bool:
    known = "SELECT 1 FROM base.resources WHERE job_id IS NOT NULL AND host_name IS NOT NULL LIMIT 1"
    return not database.sql(known).is_empty()


def _other_layers(database: Database) -> pl.DataFrame:
    """Requests that no answer counts with the others, because another layer saw them: as the answers leave them out."""
    known = "unit_id, kind, service_name, name, outcome, flags, seen_from"
    candidates = f"SELECT 0 AS side, {known}, outcome = 'ok' AS is_measured FROM units"
    with closing(database.cursor()) as cursor:
        population_of(cursor, f"{candidates} WHERE kind = 'request'")
        return cursor.sql(queries.text("quality/other_layers"), params={"prefix": OTHER_LAYER}).pl()


def _row(name: str, count: int, total: int) -> dict[str, object]:
    return {
        "check": name,
        "severity": severity(name, count, total),
        "count": count,
        "total": total,
        "share": count / total if total else None,
    }


def _verdict(severities: list[str]) -> QualityVerdict:
    if "error" in severities:
        return "poor"
    return "usable" if "warning" in severities else "good"
