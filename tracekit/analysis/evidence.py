"""What the data behind an answer can bear: a verdict with its findings and counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.analysis.checks import CLOCK_LIMITS, DOUBT_SHARE, REFUSAL_SHARE, Finding, found
from tracekit.analysis.coverage import coverage_findings
from tracekit.analysis.population import IMPLAUSIBLE, OTHER_LAYER
from tracekit.analysis.selection import Selection
from tracekit.schema import EvidenceVerdict, UnitKind, exchanged

_CHECKS = {
    "incomplete_units": ("incomplete_count", "unit_count"),
    "conflicting_units": ("conflict_count", "unit_count"),
    "extra_roots": ("extra_root_count", "unit_count"),
    "beginning_missing": ("beginning_missing_count", "unit_count"),
    "repeated_spans": ("repeated_span_count", "unit_count"),
    "ambiguous_joins": ("ambiguous_join_count", "unit_count"),
    "shared_request_ids": ("shared_request_id_count", "unit_count"),
    "shifted_units": ("shifted_count", "unit_count"),
    "several_step_spans": ("several_step_count", "unit_count"),
    "collective_sizes": ("odd_size_count", "unit_count"),
    "unmatched_collectives": ("unmatched_collective_count", "unit_count"),
    "unknown_outcomes": ("unknown_outcome_count", "selected_count"),
    "missing_ranks": ("missing_rank_count", "step_count"),
    "post_root_ns": ("post_root_ns", "wall_ns"),
    "unattributed_ns": ("unattributed_ns", "wall_ns"),
}
"""Checks of `quality` that can be made of the units of an answer alone, with their columns."""


@exchanged("evidence")
@dataclass(frozen=True)
class Evidence:
    """How far an answer can be trusted.

    verdict: `good`, `usable` (some defects, all counted), `poor` (defects that may change the answer), or
    `refused` (more than 10 % of the time is orphaned or was cut off). findings: the defects behind the verdict.
    counts: what was counted, times in nanoseconds.
    """

    verdict: EvidenceVerdict
    findings: tuple[Finding, ...]
    counts: dict[str, int]

    @property
    def reasons(self) -> list[str]:
        """The findings in words."""
        return [finding.message for finding in self.findings]

    def as_dict(self) -> dict[str, Any]:
        """Plain Python values."""
        return {"verdict": self.verdict, "reasons": self.reasons, "counts": dict(self.counts)}


def evidence(selection: Selection) -> Evidence:
    """Judge the units that enter a question.

    What did not arrive may have belonged to them, so files that failed and spans that were refused count too.
    """
    left_out = selection.left_out
    counts = selection.rows("quality/answer_units").row(0, named=True)
    # Units without a known outcome are left out, and may well have been some that were asked for.
    unknown = int(left_out.filter(reason="outcome unknown")["unit_count"].sum())
    counts["selected_count"] = counts["unit_count"] + unknown
    counts["unknown_outcome_count"] += unknown
    shared = [selection.rows("quality/arrival_checks", signal="traces")]
    if jobs := selection.rows("quality/answer_jobs")["job_id"].to_list():
        shared.append(selection.rows("quality/host_clocks", jobs=jobs, has_hosts=True, **CLOCK_LIMITS))
    implausible = pl.col("reason") == IMPLAUSIBLE
    counts["implausible_count"] = int(left_out.filter(implausible)["unit_count"].sum())
    # Another outcome or layer, a first step, no call of a model, or work that a message started (or not) was not asked
    # for; all else should have been there.
    is_other = pl.col("reason").str.contains("^(outcome|without|seen|first step|started|not started) ")
    other_layers = left_out.filter(pl.col("reason").str.starts_with(OTHER_LAYER))
    missing = left_out.filter(~is_other & ~implausible)["unit_count"].sum()
    return evidence_of(
        counts,
        pl.concat(shared),
        left_out_count=int(left_out["unit_count"].sum()),
        missing_count=int(missing),
        unseen=coverage_findings(selection.database, unit_count=selection.stored_count)
        if selection.metric.unit_kind == UnitKind.REQUEST
        else [],
        other_layers=dict(other_layers.group_by("reason").agg(pl.col("unit_count").sum()).sort("reason").iter_rows()),
    )


def evidence_of(
    counts: dict[str, int],
    shared: pl.DataFrame,
    *,
    left_out_count: int,
    missing_count: int,
    other_layers: Mapping[str, int] | None = None,
    unseen: Sequence[Finding] = (),
) -> Evidence:
    """Judge the units of an answer by the same checks and limits as the whole store.

    `counts`: a row of `queries/quality/answer_units.sql`; `shared`: findings that concern these units among
    others (`quality/arrival_checks.sql`, `quality/host_clocks.sql`).
    `left_out_count`: units that were selected but did not enter; `missing_count`: those of them that have no
    value of the metric at all (others were left out by their outcome, which is what was asked for);
    `other_layers`: those that are seen from another layer, by reason;
    `unseen`: calls without a span of the service that they called.
    """
    judged = [found(name, counts[count], counts[total]) for name, (count, total) in _CHECKS.items()]
    # What was stored already is no defect of what is there.
    judged += [found(*row) for row in shared.iter_rows() if row[0] != "duplicates"]
    held_out = counts.get("implausible_count", 0)
    judged.append(found("implausible_units", held_out, counts["unit_count"] + held_out))
    judged += [
        found(f"other_layer:{reason.removeprefix(OTHER_LAYER)}", count, counts["unit_count"] + count)
        for reason, count in (other_layers or {}).items()
    ]
    judged += unseen
    has_error = any(finding.severity == "error" for finding in judged)
    named = [finding for finding in judged if finding.severity in ("warning", "error")]
    findings = (*_own_findings(counts, missing_count), *named)
    all_counts = counts | {"left_out_count": left_out_count, "missing_metric_count": missing_count}
    damaged = _damaged_ns(counts) / max(counts["wall_ns"], 1)
    return Evidence(_verdict(damaged, has_error=has_error, is_doubtful=bool(findings)), findings, all_counts)


def _damaged_ns(counts: dict[str, int]) -> int:
    return counts["orphan_ns"] + counts["outside_ns"]


def _own_findings(counts: dict[str, int], missing_count: int) -> list[Finding]:
    """Defects that only an answer has, or that it sums up."""
    asked_count = counts["unit_count"] + missing_count
    wall_ns, vantages = max(counts["wall_ns"], 1), counts["vantage_count"]
    candidates = {
        Finding("damaged_ns", "warning", _damaged_ns(counts), wall_ns): _damaged_ns(counts) / wall_ns > DOUBT_SHARE,
        Finding("missing_metric", "warning", missing_count, asked_count): missing_count > DOUBT_SHARE * asked_count,
        Finding("vantages", "warning", vantages, vantages): vantages > 1,
    }
    return [finding for finding, applies in candidates.items() if applies]


def _verdict(damaged: float, *, has_error: bool, is_doubtful: bool) -> EvidenceVerdict:
    if damaged > REFUSAL_SHARE:
        return "refused"
    if damaged > REFUSAL_SHARE / 2 or has_error:
        return "poor"
    return "usable" if is_doubtful else "good"
