"""What a what-if of requests rests on: what was learnt of the engines, and what the data do not carry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from tracekit.analysis.batching import COMPUTED, Scenario
from tracekit.analysis.batching.kernel import DRAWN, LEAST_REQUESTS, ROUND_ROBIN, SHARED
from tracekit.analysis.batching.limits import UNLIMITED
from tracekit.schema import RequestWhatIfVerdict, exchanged

TOLERATED_SHARE = 0.1
"""Where more requests than this lack something, the replay would be a guess."""

MINIMUM_REQUESTS = 20
"""Fewer requests have no quantiles worth a replay."""

Rule = Literal["least_requests", "round_robin", "shared", "drawn"]
_RULES: dict[int, Rule] = {
    LEAST_REQUESTS: "least_requests",
    ROUND_ROBIN: "round_robin",
    SHARED: "shared",
    DRAWN: "drawn",
}


@exchanged("whatif_basis")
@dataclass(frozen=True)
class WhatIfBasis:
    """What was learnt and assumed; times in ns.

    missing: why nothing is replayed, as a verdict, with missing_requests of requests that lack it; None where all is
    there. engines: how many, None where none is replayed. step_ns, sequence_ns, context_ns: what a step takes without
    tokens, by sequence that decodes, by token of context. budget_tokens: most tokens of a step, None where nothing
    shows one. bound_by: `seats` or `kv` where requests waited for one of them; seats, kv_tokens: the most seen then.
    rule: how an engine is chosen. load_requests: requests that are not judged but loaded the engines.
    retried, preempted: judged requests with repeated attempts, and with preemption.
    change: what is replayed; stage: the stage that becomes normal; baseline: whether others say what is normal.
    """

    change: str
    requests: int
    missing: RequestWhatIfVerdict | None
    missing_requests: int = 0
    engines: int | None = None
    step_ns: float | None = None
    sequence_ns: float | None = None
    context_ns: float | None = None
    budget_tokens: int | None = None
    bound_by: str | None = None
    seats: int | None = None
    kv_tokens: int | None = None
    rule: Rule | None = None
    load_requests: int = 0
    retried: int = 0
    preempted: int = 0
    stage: str | None = None
    baseline: bool = False
    is_apart: bool = False
    more_seats: bool = False


def basis_of(scenario: Scenario) -> WhatIfBasis:
    """What a scenario rests on."""
    asked = scenario.requests.filter(pl.col("is_asked") & pl.col("is_served"))
    missing, count = _missing(scenario, asked)
    basis = WhatIfBasis(
        change=scenario.change.text,
        requests=len(asked),
        missing=missing,
        missing_requests=count,
        retried=int((asked["retried_ns"] > 0).sum()),
        preempted=int((asked["preempted_ns"] > 0).sum()),
        stage=scenario.change.stage,
        baseline=scenario.is_normal is not None,
    )
    return basis if missing is not None or not scenario.uses_engines else _with_engines(basis, scenario)


def _with_engines(basis: WhatIfBasis, scenario: Scenario) -> WhatIfBasis:
    replay, seats = scenario.replay, scenario.change.seats
    bound = replay.limits.seats[replay.limits.seats < UNLIMITED]
    kv_tokens = replay.limits.kv_tokens[replay.limits.kv_tokens < UNLIMITED]
    values = vars(basis) | {
        "engines": len(scenario.engines.engines),
        "step_ns": float(replay.steps.step_ns[0]),
        "sequence_ns": float(replay.steps.step_ns[1]),
        "context_ns": float(replay.steps.step_ns[2]),
        "budget_tokens": replay.budget if replay.budget < 2**40 else None,
        "bound_by": replay.limits.bound_by,
        "seats": int(bound.max()) if len(bound) else None,
        "kv_tokens": int(kv_tokens.max()) if len(kv_tokens) else None,
        "rule": _RULES[replay.rule],
        "load_requests": scenario.engines.count - len(np.intersect1d(scenario.engines.row, scenario.asked)),
        "is_apart": scenario.change.is_apart,
        "more_seats": seats is not None and len(bound) > 0 and seats > bound.max(),
    }
    return WhatIfBasis(**values)


def _missing(scenario: Scenario, asked: pl.DataFrame) -> tuple[RequestWhatIfVerdict | None, int]:
    """What the judged requests lack for this change, and how many lack it."""
    stage = scenario.change.stage
    if len(asked) < MINIMUM_REQUESTS:
        return "too_few_requests", len(asked)
    taken = sum(int(asked[f"changed_{window}_ns"].sum()) for window in ("ttft", "decode", "after"))
    if stage is not None and stage not in COMPUTED and taken == 0:
        return "no_such_stage", len(asked)
    if not scenario.needs_engines and scenario.engines.count == 0:
        return None, 0
    lacking: dict[RequestWhatIfVerdict, pl.Expr] = {
        "no_engine_spans": pl.col("engine").is_null()
        | (pl.col("prefill_ns") + pl.col("decode_ns") + pl.col("mixed_ns") == 0),
        "no_tokens": pl.col("output_tokens").is_null() | pl.col("input_tokens").is_null(),
        "queue_not_told_apart": pl.col("mixed_ns") > 0,
        "split_engines": pl.col("moved_ns") > 0,
    }
    for verdict, lacks in lacking.items():
        count = int(asked.select(lacks.sum()).item())
        if count > TOLERATED_SHARE * len(asked):
            return verdict, count
    return None, 0
