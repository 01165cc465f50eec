"""The answer to "what changed between A and B"."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import polars as pl

from tracekit.analysis.answer import BaseAnswer, registered
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.tail.whose import WHOSE_SCHEMA

Verdict = Literal[
    "regressed",
    "improved",
    "mixed",
    "stage_slower",
    "load_or_slowness",
    "no_change",
    "too_few_blocks",
    "too_few_units",
    "no_units",
    "refused",
]
"""regressed: a metric, goodput or failures are worse beyond chance. improved: better, and nothing is worse.
mixed: some are worse and others better. stage_slower: no whole metric is worse beyond chance, but a stage is.
load_or_slowness: more work arrived after, and what takes longer does so where requests wait for each other.
no_change: nothing beyond chance. too_few_units, too_few_blocks: the figures are exact, but nothing follows from them.
no_units: a side is empty. refused: the data are too damaged to bear a conclusion.
"""


_CHANGE = {
    "before_ns": pl.Int64, "after_ns": pl.Int64, "excess_ns": pl.Int64, "low_ns": pl.Int64, "high_ns": pl.Int64,
    "significant": pl.Boolean, "relative": pl.Float64,
}  # fmt: skip
METRIC_SCHEMA = {"metric": pl.String, **_CHANGE, "mix_ns": pl.Int64} | dict.fromkeys(
    (
        "before_p50_ns", "after_p50_ns", "before_p99_ns", "after_p99_ns",
        "before_count", "after_count", "matched_before", "matched_after",
    ),
    pl.Int64,
)  # fmt: skip
STAGE_SCHEMA = {"metric": pl.String, "stage": pl.String, **_CHANGE}
OUTCOME_SCHEMA = {"outcome": pl.String} | dict.fromkeys(("before", "after", "change", "low", "high"), pl.Float64) | {
    "significant": pl.Boolean
}  # fmt: skip


@registered("compare", rows="stages", title="What changed?")
@dataclass(frozen=True)
class CompareAnswer(BaseAnswer):
    """Requests before and after, metric by metric and stage by stage, at the same mix.

    before, after, where: the question. before_count, after_count: requests of the sides.
    metrics: one row a metric (`metric`, `before_ns`, `after_ns`, `excess_ns`, `low_ns`, `high_ns`, `significant`,
        `relative`, `mix_ns`, `before_count`, `after_count`, `matched_before`, `matched_after`); means at the common
        mix, `excess_ns` is their difference with its 95 % interval, and `mix_ns` what other kinds and sizes of
        requests add to the difference of the plain means. Medians and 99th percentiles (`before_p50_ns`, ...) are
        those of all requests that have the metric, whatever the mix.
    stages: one row a metric and stage with the same columns; the rows of a metric sum to it.
    outcomes: one row a way to end (`outcome`, `before`, `after`, `change`, `low`, `high`, `significant`); shares of
        what was attempted. With an SLO also `good`.
    load: work that arrived each second (`work`, `before_per_s`, `after_per_s`, `factor`; `is_usual`: as much arrived in
        times before that are as long).
    whose: hosts, models and other values whose requests have more of the excess of a stage that takes longer than the
        others, beyond chance (as in the answer to `tail`).
    method, block_counts: how chance was judged. All rows are judged together: if nothing changed, the chance that
        any row is called significant is 5 %.
    left_out: requests of both sides that no answer counts with these, by reason; seen_from: the layer that these are
        seen from, None where they call no model.
    kind_attribute: the attribute by whose values requests were classed too, because other ones came than before and it
        tells how long they take.
    evidence: what the requests of both sides can bear. units: their ids, those before as `baseline` and those after as
        `selection`; of two stores only those of the second.
    verdict, summary: the conclusion.
    """

    schema: ClassVar = {
        "metrics": METRIC_SCHEMA,
        "stages": STAGE_SCHEMA,
        "outcomes": OUTCOME_SCHEMA,
        "whose": WHOSE_SCHEMA,
    }

    before: str | None
    after: str | None
    where: str | None
    before_count: int
    after_count: int
    metrics: pl.DataFrame
    stages: pl.DataFrame
    outcomes: pl.DataFrame
    load: pl.DataFrame
    whose: pl.DataFrame
    method: str
    block_counts: list[int]
    verdict: Verdict
    evidence: Evidence
    units: pl.DataFrame
    left_out: dict[str, int] = field(default_factory=dict)
    seen_from: str | None = None
    kind_attribute: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, stages inside their metric."""
        outcomes = {row["outcome"]: row for row in self.outcomes.to_dicts()}
        return {
            "before": self.before,
            "after": self.after,
            "where": self.where,
            "before_count": self.before_count,
            "after_count": self.after_count,
            "metrics": [
                row | {"stages": self.stages.filter(metric=row["metric"]).drop("metric").to_dicts()}
                for row in self.metrics.iter_rows(named=True)
            ],
            "goodput": outcomes.get("good"),
            "failures": {name: row for name, row in outcomes.items() if name != "good"},
            "load": self.load.to_dicts(),
            "whose": self.whose.to_dicts(),
            "method": self.method,
            "block_counts": self.block_counts,
            "left_out": self.left_out,
            "seen_from": self.seen_from,
            "kind_attribute": self.kind_attribute,
            "verdict": self.verdict,
            "summary": self.summary,
            "quality": self.evidence.as_dict(),
        }

    def regressions(self, share: float) -> list[str]:
        """What is worse beyond chance and by at least this share: of its metric before, or of what was attempted.

        A stage counts by its part of its metric; goodput by what it lost of what was good before.
        """
        wholes = dict(self.metrics.select("metric", "before_ns").iter_rows())
        found = [
            f"{row['metric']}: {row['relative']:+.1%}"
            for row in self.metrics.filter("significant").iter_rows(named=True)
            if row["excess_ns"] >= share * row["before_ns"] and row["excess_ns"] > 0
        ]
        found += [
            f"{row['metric']}, {row['stage']}: {row['excess_ns'] / wholes[row['metric']]:+.1%} of it"
            for row in self.stages.filter("significant").iter_rows(named=True)
            if row["excess_ns"] > 0 and row["excess_ns"] >= share * wholes[row["metric"]]
        ]
        return found + [
            f"{row['outcome']}: {row['before']:.2%} to {row['after']:.2%}"
            for row in self.outcomes.filter("significant").iter_rows(named=True)
            if _is_worse(row, share)
        ]


def _is_worse(row: dict[str, Any], share: float) -> bool:
    if row["outcome"] == "good":
        return bool(row["before"] - row["after"] >= share * row["before"])
    return bool(row["change"] > 0 and row["change"] >= share * max(row["before"], 0.0))
