"""How many spans of called services arrived for the calls that should have one."""

from __future__ import annotations

import polars as pl

from tracekit.analysis.checks import Finding, found
from tracekit.store import Database

COVERAGE_SCHEMA = {
    "caller": pl.String, "callee": pl.String, "operation": pl.String, "target": pl.String, "caller_host": pl.String,
    "expected_count": pl.Int64, "arrived_count": pl.Int64, "first_missing_ns": pl.Int64, "last_missing_ns": pl.Int64,
    "between_count": pl.Int64,
}  # fmt: skip

LOOKED_AT_TRACES = 20_000
"""An answer looks at about so many traces, and says so; `quality` looks at all."""


def coverage_frame(database: Database, *, every: int = 1) -> pl.DataFrame:
    """Calls and the spans that they should have led to; rows of `queries/quality/coverage.sql`.

    Looks at one trace of `every`. No rows for pairs of services where nothing is missing.
    """
    return database.query("quality/coverage", every=every).cast(COVERAGE_SCHEMA)  # type: ignore[arg-type]


def coverage_findings(database: Database, *, unit_count: int) -> list[Finding]:
    """What of it a question about this many units has to live with."""
    every = 1 + unit_count // LOOKED_AT_TRACES
    checks = coverage_checks(coverage_frame(database, every=every))
    if every > 1:
        sampled = pl.format("{} in a sample of one trace in {}", "check_name", pl.lit(every)).alias("check_name")
        checks = checks.with_columns(sampled)
    return [found(*row) for row in checks.iter_rows()]


def coverage_checks(frame: pl.DataFrame) -> pl.DataFrame:
    """One row a caller and callee: `check_name`, `finding_count` (calls without the span), `total_count`."""
    pairs = frame.group_by("caller", "callee").agg(
        finding_count=(pl.col("expected_count") - pl.col("arrived_count")).sum(),
        total_count=pl.col("expected_count").sum(),
    )
    name = pl.format("unseen_callees:{}->{}", "caller", "callee").alias("check_name")
    return pairs.select(name, "finding_count", "total_count").sort("check_name")
