"""The answer to "which stage made the slow ones slow"."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import polars as pl

from tracekit.analysis.evidence import Evidence

Verdict = Literal[
    "excess_explained",
    "excess_unattributed",
    "excess_spread",
    "stage_slower",
    "mix_not_slowness",
    "size_or_slowness",
    "load_or_slowness",
    "improved",
    "no_excess",
    "too_few_blocks",
    "too_few_units",
    "no_units",
    "refused",
]
"""What a tail answer concludes.

excess_explained: the excess is more than chance and its largest stage is named.
excess_unattributed: so, but most of it is time that no span or attribute explains.
excess_spread: the excess is more than chance, but no single stage is.
stage_slower: the excess as a whole could be chance, but a stage is slower beyond it.
mix_not_slowness: the tail holds other units (larger ones), not slower ones.
size_or_slowness: most of the excess is in larger units than the baseline has any of, so that their size and
slowness cannot be told apart.
load_or_slowness: more work arrived at once than in the baseline, and most of the excess is where requests
    wait for each other, so that load and slowness cannot be told apart.
improved: the selection is faster than the baseline.
no_excess: there is nothing to explain beyond chance.
too_few_blocks, too_few_units: the split is exact for these units, but nothing follows for others.
no_units: nothing to compare. refused: the data are too damaged to bear an answer.
"""


@dataclass(frozen=True)
class TailAnswer:
    """The slow units against a baseline, split exactly by stage.

    Durations are integer nanoseconds (for tpot: per generated token after the first), means over units.
    `sum(stages.excess_ns) == excess_ns == tail_mean_ns - baseline_mean_ns` always.

    metric, unit: what was asked (`ttft`, `tpot`, `e2e`, `step`) and of what (`request`, `step`).
    quantile, where, baseline, outcome: the question. quantile_asked: None where the quantile was chosen.
    comparison: `body` (the tail against the middle of the same units) or `selection` (the tail of the
        selection against that of the baseline selection at the same quantile; 0 compares all with all).
    stored_count: units of this kind in the store.
    count, baseline_selection_count: units of the two selections that entered.
    tail_count, baseline_count: units that are compared; threshold_ns, baseline_threshold_ns: their quantiles.
    excess_ns, low_ns, high_ns, significant: the excess with its 95 % interval; None where there is none.
    method, block_counts, block_ns: how chance was judged (`windows`, `blocks`, `none`).
    clock_resolution_ns: largest power of ten that all times are multiples of.
    stages: one row a stage; excess, share, interval, significance, owner, ambiguity, mix, rate, calls, per
        call.
    operations: the spans inside each stage that the time belongs to; rows sum to their stage.
    causes: for steps, who was waited for and what it was doing; rows sum to `step.straggler_wait`.
    classes: mix and rate by class of unit; rows sum to the excess.
    size: more tokens or more time a token, by window.
    load: with a baseline selection, the work that arrived each second on both sides.
    levels: with a baseline selection, the same split between the middles and between all units.
    differences: attribute values that are more frequent in the tail than in the middle of the selection; of requests
        also the hosts that served them, by service (`host of SERVICE`).
    attributes_set_aside: attributes with too many values, or nested ones, that were not compared.
    exemplars: the units of the tail with the most time in each stage.
    left_out: units that did not enter, by side and reason.
    verdict, summary: the conclusion as a stable code and as sentences. evidence: what the data can bear.
    """

    metric: str
    unit: str
    quantile: float
    quantile_asked: float | None
    where: str | None
    baseline: str
    outcome: str
    comparison: Literal["body", "selection"]
    stored_count: int
    count: int
    baseline_selection_count: int
    tail_count: int
    baseline_count: int
    threshold_ns: int | None
    baseline_threshold_ns: int | None
    tail_mean_ns: int
    baseline_mean_ns: int
    excess_ns: int
    low_ns: int | None
    high_ns: int | None
    significant: bool | None
    method: str
    block_counts: list[int]
    block_ns: list[int]
    clock_resolution_ns: int
    stages: pl.DataFrame
    operations: pl.DataFrame
    causes: pl.DataFrame
    classes: pl.DataFrame
    size: pl.DataFrame
    load: pl.DataFrame
    levels: pl.DataFrame
    differences: pl.DataFrame
    attributes_set_aside: list[str]
    exemplars: pl.DataFrame
    left_out: pl.DataFrame
    evidence: Evidence
    shortage: str | None = None
    verdict: Verdict = "no_units"
    summary: str = field(default="")

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values: frames as lists of rows, `quality` for the evidence."""
        values = {name: _plain(getattr(self, name)) for name in self.__dataclass_fields__ if name != "evidence"}
        return values | {"quality": self.evidence.as_dict()}


def _plain(value: object) -> object:
    return value.to_dicts() if isinstance(value, pl.DataFrame) else value
