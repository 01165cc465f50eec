"""The answer to "which stage made the slow ones slow"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import polars as pl

from tracekit.analysis.answer import BaseAnswer, registered
from tracekit.analysis.evidence import Evidence
from tracekit.analysis.tail.counters import COUNTER_SCHEMA
from tracekit.analysis.tail.differences import DIFFERENCE_SCHEMA
from tracekit.analysis.tail.growth import GROWTH_SCHEMA
from tracekit.analysis.tail.load import LOAD_SCHEMA
from tracekit.analysis.tail.rare_calls import RARE_CALL_SCHEMA
from tracekit.analysis.tail.services import EDGE_SCHEMA, SERVICE_SCHEMA
from tracekit.analysis.tail.size import SIZE_SCHEMA
from tracekit.analysis.tail.split import CAUSE_SCHEMA, CLASS_SCHEMA, LEVEL_SCHEMA, OPERATION_SCHEMA, STAGE_SCHEMA
from tracekit.analysis.tail.whose import WHOSE_SCHEMA
from tracekit.schema import TailVerdict

EXEMPLAR_SCHEMA = {
    "stage": pl.String,
    "unit_id": pl.Int64,
    "trace_id": pl.String,
    "root_span_id": pl.String,
    "service_name": pl.String,
    "name": pl.String,
    "job_id": pl.String,
    "attempt": pl.Int64,
    "step": pl.Int64,
    "rank": pl.Int64,
    "start_ns": pl.Int64,
    "value_ns": pl.Int64,
    "self_ns": pl.Int64,
}
NOT_SERVED_SCHEMA = {"outcome": pl.String, "unit_count": pl.Int64, "as_long_count": pl.Int64}
LEFT_OUT_SCHEMA = {"side": pl.UInt8, "reason": pl.String, "unit_count": pl.Int64}


@registered("tail", rows="stages", title="What made the slow ones slow?")
@dataclass(frozen=True)
class TailAnswer(BaseAnswer):
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
    rare_calls: with a baseline selection, stages that few units have, by their time per call in all units that enter.
    growth: with a baseline selection, how many times as long a call of each stage takes in all units that enter, and
        how much of that is beyond what differs between requests and between times.
    services, edges: that growth by service, ranked, and by caller and callee.
    levels: with a baseline selection, the same split between the middles and between all units.
    whose: with a baseline selection, hosts, models and other values whose requests have more of the excess of a slower
        stage than the others, beyond chance.
    differences: attribute values that are more frequent in the tail than in the baseline, beyond chance; of requests
        also the hosts that served them, by service (`host of SERVICE`).
    counters: gauges of engines and gateways when units of the tail began, by stage and host (COUNTER_SCHEMA).
    attributes_set_aside: attributes with too many values, or nested ones, that were not compared.
    exemplars: the units of the tail with the most time in each stage.
    left_out: units that did not enter, by side and reason.
    not_served: those of the selection that ended otherwise than was asked for, by `outcome`, and how many of them
        (`as_long_count`) lasted at least as long as the slow ones.
    change_start_ns, change_end_ns: with baseline `auto`, the time whose units are compared with those before, None
        where the store did not change; change_lasts: whether it goes on to the end; change_series: where it is
        clearest; change_is_first: whether it began with the store, so that it is compared with what came after.
    is_of_all: whether all units are compared because the slowest of them, at the usual quantile, show nothing.
    is_of_messages: whether it is about work that messages start, because the requests that send them show nothing.
    kind_attribute: the attribute by whose values requests were classed too, because other ones came than in the
        baseline and it tells how long they take.
    is_other_mix: whether the sides hold other units, so that stages are judged against like ones (`rate_ns`).
    verdict, summary: the conclusion as a stable code and as sentences. evidence: what the data can bear.
    units: the units that are compared, by cohort.
    """

    schema: ClassVar = {
        "stages": STAGE_SCHEMA,
        "operations": OPERATION_SCHEMA,
        "causes": CAUSE_SCHEMA,
        "classes": CLASS_SCHEMA,
        "size": SIZE_SCHEMA,
        "load": LOAD_SCHEMA,
        "rare_calls": RARE_CALL_SCHEMA,
        "growth": GROWTH_SCHEMA,
        "services": SERVICE_SCHEMA,
        "edges": EDGE_SCHEMA,
        "levels": LEVEL_SCHEMA,
        "whose": WHOSE_SCHEMA,
        "differences": DIFFERENCE_SCHEMA,
        "counters": COUNTER_SCHEMA,
        "exemplars": EXEMPLAR_SCHEMA,
        "left_out": LEFT_OUT_SCHEMA,
        "not_served": NOT_SERVED_SCHEMA,
    }

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
    rare_calls: pl.DataFrame
    growth: pl.DataFrame
    services: pl.DataFrame
    edges: pl.DataFrame
    levels: pl.DataFrame
    whose: pl.DataFrame
    differences: pl.DataFrame
    counters: pl.DataFrame
    attributes_set_aside: list[str]
    exemplars: pl.DataFrame
    left_out: pl.DataFrame
    not_served: pl.DataFrame
    evidence: Evidence
    units: pl.DataFrame
    shortage: str | None = None
    is_other_mix: bool = False
    is_of_messages: bool = False
    kind_attribute: str | None = None
    is_of_all: bool = False
    change_start_ns: int | None = None
    change_end_ns: int | None = None
    change_lasts: bool | None = None
    change_series: str | None = None
    change_is_first: bool | None = None
    verdict: TailVerdict = "no_units"
