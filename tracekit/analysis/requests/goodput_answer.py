"""The answer to "how much of what clients asked for was good"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tracekit.analysis.answer import plain
from tracekit.analysis.requests.slo import SloSet
from tracekit.analysis.worded import Drawn, in_words
from tracekit.schema import BUCKETS as BUCKETS
from tracekit.schema import exchanged

LATE = ("late_ttft", "late_tpot", "late_e2e")

Verdict = Literal["met", "missed", "unjudged", "no_requests"]
"""met: the objective is reached. missed: it is not. unjudged: no request can be judged by the SLO.
no_requests: the selection is empty.
"""

Mode = Literal["tracekit", "vllm", "aiperf"]
"""Whose rules count.

tracekit: all that was attempted, invalid requests apart, is the denominator; e2e ends with the response; a response of
one token has no tpot to miss.
vllm: as `vllm bench serve --goodput`: only completed requests; e2e ends with the last token.
aiperf: as AIPerf: completed and failed requests; e2e ends with the last token; a term that a request has no value for
    is not met, that of a single token for tpot included.
"""


@exchanged("request_goodput")
@dataclass(frozen=True)
class RequestGoodput(Drawn):
    """Requests against an SLO, each in exactly one bucket: `attempted == good + sum(buckets.values())`.

    slo, mode, where: the question.
    attempted, good, buckets: requests. denominator, attainment: `good / denominator` by the rules of the mode; None
        for an empty denominator. good_per_s: good requests a second, from the first start to the last end.
    lost_by_stage: late requests shared to stages (`stage`, `owner`, `misses`, by bucket, `exact_misses`), `misses` sum
        to the late ones; `would_be_good` is the counterfactual beside it, which does not sum.
    wasted: tokens and engine time by bucket. wasted_tokens, wasted_engine_ns: their sums over what was not good, with
        repeated attempts and recomputed tokens of good requests.
    by: rows by `dimension` and `value` (model, tenant, host, version, priority; those with more than one value).
    over_time: requests, attainment and burn rate of the error budget in slices of time; burn rate 1 spends exactly
        the budget.
    classes: rows by class of the SLO. unclassed, not_model_calls: requests that no class takes, and that call no model.
    left_out: requests that no answer counts with the others, by reason; seen_from: the layer that the others are seen
        from, None where they call no model.
    unjudged: by term, served requests that it cannot be judged by.
    verdict, summary: the conclusion.
    """

    slo: SloSet
    mode: Mode
    where: str | None
    attempted: int
    good: int
    buckets: dict[str, int]
    denominator: int
    attainment: float | None
    duration_ns: int
    good_per_s: float | None
    lost_by_stage: pl.DataFrame
    wasted: pl.DataFrame
    wasted_tokens: int
    wasted_engine_ns: int
    by: pl.DataFrame
    over_time: pl.DataFrame
    classes: pl.DataFrame
    unclassed: int
    not_model_calls: int
    left_out: dict[str, int]
    seen_from: str | None
    unjudged: dict[str, int]
    verdict: Verdict

    @property
    def summary(self) -> str:
        """The conclusion in sentences, as `tracekit.wording` says it."""
        return in_words(self)

    @property
    def late(self) -> int:
        """Requests that were served too late."""
        return sum(self.buckets[bucket] for bucket in LATE)

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values, frames as lists of rows."""
        values = {name: plain(getattr(self, name)) for name in self.__dataclass_fields__ if name != "slo"}
        return values | {
            "summary": self.summary,
            "objective": self.slo.objective,
            "slo": [{"class": one.name, "where": one.where, **one.limits_ns} for one in self.slo.classes],
        }
