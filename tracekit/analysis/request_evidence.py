"""What the data behind an answer about all requests can bear."""

from __future__ import annotations

import polars as pl

from tracekit.analysis.checks import Finding, found
from tracekit.analysis.coverage import coverage_findings
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.job_evidence import job_evidence
from tracekit.store import Database

_NOT_ABOUT_ENDINGS = ("unattributed_ns", "unbuilt_spans", "duplicates")
"""Checks that say nothing about how many requests ended how."""


def request_evidence(database: Database) -> Evidence:
    """The checks of `quality` that concern requests, with its limits and its verdict, and what jobs had to say."""
    counted = pl.concat(
        [database.query("quality/unit_checks"), database.query("quality/arrival_checks", signal="traces")]
    )
    judged = [found(*row) for row in counted.iter_rows() if row[0] not in _NOT_ABOUT_ENDINGS]
    units = int(counted.filter(check_name="incomplete_units")["total_count"].item())
    judged += coverage_findings(database, unit_count=units)
    return _with(judged, job_evidence(database))


def _with(judged: list[Finding], jobs: Evidence) -> Evidence:
    named = tuple(finding for finding in judged if finding.severity in ("warning", "error"))
    verdict = "poor" if any(one.severity == "error" for one in named) else "usable" if named else jobs.verdict
    return Evidence(verdict, (*named, *jobs.findings), jobs.counts)
