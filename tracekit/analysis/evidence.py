"""What the data behind an answer can bear: a verdict with its reasons and counts."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import duckdb
import polars as pl

from tracekit.analysis.measured import rows

REFUSAL_SHARE = 0.10
"""Above this share of wall time that is orphaned or was cut off, an answer is refused."""

DOUBT_SHARE = 0.01
"""Above this share a defect is named as a reason."""

EvidenceVerdict = Literal["good", "usable", "poor", "refused"]


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
    """Judge the units that `select_units` left on the cursor; `left_out` are rows of `tail/left_out.sql`."""
    counts = rows(cursor, "quality/answer_units").row(0, named=True)
    missing = left_out.filter(~pl.col("reason").str.starts_with("outcome "))["unit_count"].sum()
    return evidence_of(counts, left_out_count=int(left_out["unit_count"].sum()), missing_count=int(missing))


def evidence_of(counts: dict[str, int], *, left_out_count: int, missing_count: int) -> Evidence:
    """Judge the units of an answer by the counts of `queries/quality/answer_units.sql`.

    `left_out_count`: units that were selected but did not enter; `missing_count`: those of them that have no
    value of the metric at all (others were left out by their outcome, which is what was asked for).
    """
    all_counts = counts | {"left_out_count": left_out_count, "missing_metric_count": missing_count}
    wall_ns, unit_count = max(counts["wall_ns"], 1), max(counts["unit_count"], 1)
    damaged = (counts["orphan_ns"] + counts["outside_ns"]) / wall_ns
    incomplete, conflicting = (counts[f"{kind}_count"] for kind in ("incomplete", "conflict"))
    candidates = {
        f"{damaged:.1%} of the time belongs to spans without a parent or was cut off": damaged,
        f"{incomplete:,} of {unit_count:,} units have spans whose parent is missing": incomplete / unit_count,
        f"{conflicting:,} of {unit_count:,} units report values that cannot be, not used": conflicting
        / unit_count,
        f"{missing_count:,} units have no value of the metric": missing_count / (unit_count + missing_count),
        f"the units were seen from {counts['vantage_count']} vantage points": counts["vantage_count"] > 1,
    }
    reasons = [reason for reason, share in candidates.items() if share > DOUBT_SHARE]
    return Evidence(_verdict(damaged, list(candidates.values())), reasons, all_counts)


def _verdict(damaged: float, defects: list[float]) -> EvidenceVerdict:
    if damaged > REFUSAL_SHARE:
        return "refused"
    if damaged > REFUSAL_SHARE / 2:
        return "poor"
    return "usable" if any(share > DOUBT_SHARE for share in defects) else "good"
