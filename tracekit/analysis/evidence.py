"""What the data behind an answer can bear: a verdict with its reasons and counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import duckdb
import polars as pl

from tracekit.analysis.checks import CLOCK_LIMITS, DOUBT_SHARE, REFUSAL_SHARE, message, severity
from tracekit.analysis.measured import rows

EvidenceVerdict = Literal["good", "usable", "poor", "refused"]

_CHECKS = {
    "incomplete_units": ("incomplete_count", "unit_count"),
    "conflicting_units": ("conflict_count", "unit_count"),
    "extra_roots": ("extra_root_count", "unit_count"),
    "shifted_units": ("shifted_count", "unit_count"),
    "unknown_outcomes": ("unknown_outcome_count", "selected_count"),
    "missing_ranks": ("missing_rank_count", "step_count"),
    "post_root_ns": ("post_root_ns", "wall_ns"),
    "unattributed_ns": ("unattributed_ns", "wall_ns"),
}
"""Checks of `quality` that can be made of the units of an answer alone, with their columns."""


@dataclass(frozen=True)
class Evidence:
    """How far an answer can be trusted.

    verdict: `good`, `usable` (some defects, all counted), `poor` (defects that may change the answer), or
    `refused` (more than 10 % of the time is orphaned or was cut off). reasons: sentences. counts: what was
    counted, times in nanoseconds.
    """

    verdict: EvidenceVerdict
    reasons: list[str]
    counts: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        return asdict(self)


def evidence(cursor: duckdb.DuckDBPyConnection, left_out: pl.DataFrame) -> Evidence:
    """Judge the units that `select_units` left on the cursor; `left_out` are rows of `tail/left_out.sql`.

    What did not arrive may have belonged to them, so files that failed and spans that were refused count too.
    """
    counts = rows(cursor, "quality/answer_units").row(0, named=True)
    # Units without a known outcome are left out, and may well have been some that were asked for.
    unknown = int(left_out.filter(reason="outcome unknown")["unit_count"].sum())
    counts["selected_count"] = counts["unit_count"] + unknown
    counts["unknown_outcome_count"] += unknown
    shared = [rows(cursor, "quality/arrival_checks", {"signal": "traces"})]
    if jobs := rows(cursor, "quality/answer_jobs")["job_id"].to_list():
        shared.append(rows(cursor, "quality/host_clocks", {"jobs": jobs, **CLOCK_LIMITS}))
    missing = left_out.filter(~pl.col("reason").str.starts_with("outcome "))["unit_count"].sum()
    return evidence_of(
        counts,
        pl.concat(shared),
        left_out_count=int(left_out["unit_count"].sum()),
        missing_count=int(missing),
    )


def evidence_of(counts: dict[str, int], shared: pl.DataFrame, *, left_out_count: int, missing_count: int) -> Evidence:
    """Judge the units of an answer by the same checks and limits as the whole store.

    `counts`: a row of `queries/quality/answer_units.sql`; `shared`: findings that concern these units among
    others (`quality/arrival_checks.sql`, `quality/host_clocks.sql`).
    `left_out_count`: units that were selected but did not enter; `missing_count`: those of them that have no
    value of the metric at all (others were left out by their outcome, which is what was asked for).
    """
    damaged = (counts["orphan_ns"] + counts["outside_ns"]) / max(counts["wall_ns"], 1)
    found = [(name, counts[count], counts[total]) for name, (count, total) in _CHECKS.items()]
    # What was stored already is no defect of what is there.
    found += [row for row in shared.iter_rows() if row[0] != "duplicates"]
    judged = [(message(*row), severity(*row)) for row in found]
    reasons = [reason for reason, severity_ in judged if severity_ in ("warning", "error")]
    reasons = [*_own_reasons(counts, damaged, missing_count), *reasons]
    has_error = any(severity_ == "error" for _, severity_ in judged)
    all_counts = counts | {"left_out_count": left_out_count, "missing_metric_count": missing_count}
    return Evidence(_verdict(damaged, has_error=has_error, is_doubtful=bool(reasons)), reasons, all_counts)


def _own_reasons(counts: dict[str, int], damaged: float, missing_count: int) -> list[str]:
    """Defects that only an answer has, or that it sums up."""
    asked_count = counts["unit_count"] + missing_count
    candidates = {
        f"{damaged:.1%} of the time belongs to spans without a parent or was cut off": damaged > DOUBT_SHARE,
        f"{missing_count:,} of {asked_count:,} units have no value of the metric": missing_count
        > DOUBT_SHARE * asked_count,
        f"the units were seen from {counts['vantage_count']} vantage points": counts["vantage_count"] > 1,
    }
    return [reason for reason, applies in candidates.items() if applies]


def _verdict(damaged: float, *, has_error: bool, is_doubtful: bool) -> EvidenceVerdict:
    if damaged > REFUSAL_SHARE:
        return "refused"
    if damaged > REFUSAL_SHARE / 2 or has_error:
        return "poor"
    return "usable" if is_doubtful else "good"
