"""What the records of jobs can bear."""

from __future__ import annotations

from tracekit.analysis.checks import Finding, severity
from tracekit.analysis.evidence import Evidence
from tracekit.store import Database


def job_evidence(database: Database) -> Evidence:
    """What was noticed about the jobs of the store; most of it the ledger takes into account."""
    noticed = database.query("quality/job_checks")
    findings = tuple(
        Finding(name, severity(name, count, total), count, total) for name, count, total in noticed.iter_rows()
    )
    is_doubtful = any(finding.severity in ("warning", "error") for finding in findings)
    counts = {"job_count": int(noticed["total_count"].max() or 0)}  # type: ignore[arg-type]
    return Evidence("usable" if is_doubtful else "good", findings, counts)
