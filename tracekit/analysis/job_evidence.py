"""What the records of jobs can bear."""

from __future__ import annotations

from tracekit.analysis.checks import Finding, severity
from tracekit.analysis.evidence import Evidence
from tracekit.store import Database


def job_evidence(database: Database) -> Evidence:
    """What was noticed about the jobs of the store; the ledger takes it into account, so it is no reason to doubt."""
    noticed = database.query("quality/job_checks")
    findings = tuple(
        Finding(name, severity(name, count, total), count, total) for name, count, total in noticed.iter_rows()
    )
    return Evidence("good", findings, {"job_count": int(noticed["total_count"].max() or 0)})  # type: ignore[arg-type]
