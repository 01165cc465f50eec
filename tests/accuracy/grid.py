"""What the accuracy suite asks about: scenarios, questions, defects and seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from generators import scenarios
from tests.accuracy.runs import Layout
from tracekit.schema import Metric

FULL = Layout(baseline_s=1000.0, window_s=45.0)
"""Twenty-two healthy windows as long as the fault's: the baseline that judges chance best."""

SHORT = Layout(baseline_s=150.0, window_s=45.0)
"""For `make test`: a tenth of the time, chance judged by blocks."""

TUNING_SEEDS, SCORED_SEEDS = (0, 2, 4), (1, 3, 5)
"""Limits of the analysis were set on runs with even seeds; the tables hold those with odd ones."""


@dataclass(frozen=True)
class Asked:
    """A scenario with the metric that an alert would be about, and parameters that differ."""

    label: str
    scenario: str
    metric: Metric
    overrides: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Training:
    """A training scenario, when its fault strikes, and the parameters that make it so."""

    scenario: str
    when: str
    overrides: Mapping[str, Any]


FAULTS = (
    Asked("auth_slowdown", "auth_slowdown", "ttft"),
    Asked("cold_start", "cold_start", "ttft"),
    Asked("cold_prefix_cache", "cold_prefix_cache", "ttft"),
    Asked("grammar_stall", "grammar_stall", "ttft"),
    Asked("heavy_tail", "heavy_tail", "ttft"),
    Asked("hot_replica", "hot_replica", "ttft"),
    Asked("kv_exhaustion", "kv_exhaustion", "ttft"),
    Asked("network_delay", "network_delay", "ttft"),
    Asked("network_retransmits", "network_retransmits", "ttft"),
    Asked("prefill_interference", "prefill_interference", "tpot"),
    Asked("queue_saturation", "queue_saturation", "ttft"),
    Asked("retry_storm", "retry_storm", "ttft"),
    Asked("scale_up_lag", "scale_up_lag", "ttft"),
    Asked("slow_kv_link", "slow_kv_link", "ttft"),
    Asked("slow_readers", "slow_readers", "e2e"),
    Asked("slow_worker", "slow_worker", "ttft"),
    Asked("slow_worker, tokens", "slow_worker", "tpot"),
    Asked("spec_acceptance_drop", "spec_acceptance_drop", "tpot"),
    Asked("tokeniser_stall", "tokeniser_stall", "ttft"),
    Asked("worker_crash", "worker_crash", "ttft"),
)
"""Faults that make requests slower."""

DAMAGED = tuple(
    one
    for one in FAULTS
    if one.label
    in (
        "auth_slowdown", "cold_prefix_cache", "network_delay", "queue_saturation", "retry_storm", "slow_kv_link",
        "slow_worker, tokens", "tokeniser_stall",
    )
)  # fmt: skip
"""Faults in each layer (gateway, network, frontend, engine, link) that the suite asks about under every defect."""

_DELAYED = (
    "gw.ingress", "gw.auth", "gw.ratelimit", "gw.cache", "gw.route", "net.dispatch", "fe.preprocess", "fe.dispatch",
)  # fmt: skip
_DELAYS = {
    "delay": {"fault.delay_ms": 30.0, "fault.delay_share": 1.0},
    "heavy tail": {"fault.delay_ms": 600.0, "fault.delay_share": 0.04},
}

DELAYS = tuple(
    Asked(f"{kind} in {stage}", "healthy", "ttft", {"fault.delay_stage": stage, **shape})
    for kind, shape in _DELAYS.items()
    for stage in _DELAYED
)
"""Every stage before the engine delayed: 30 ms for all requests, or 600 ms for one in twenty-five."""

REFUSALS = ("admission_503", "cancel_cascade", "client_aborts", "engine_errors", "rate_limit_burst")
"""Faults that end requests and make none slower: nobody may be blamed, and the outcomes must be right."""

CHANGES = ("load_rise", "mix_shift")
"""Changes of load and mix in which nothing is wrong."""

METRICS: tuple[Metric, ...] = ("ttft", "tpot", "e2e")

DEFECTS: dict[str, dict[str, Any]] = {
    "clean": {},
    "clocks 5 ms apart": {"corrupt.skew_ms": 5.0},
    "clocks 50 ms apart": {"corrupt.skew_ms": 50.0},
    "clocks drift 50 ppm": {"corrupt.drift_ppm": 50.0},
    "1 % of spans missing": {"corrupt.missing_share": 0.01},
    "5 % of spans missing": {"corrupt.missing_share": 0.05},
    "20 % of spans missing": {"corrupt.missing_share": 0.2},
    "5 % of parents missing": {"corrupt.missing_parent_share": 0.05},
    "millisecond clocks": {"corrupt.ms_clock": True},
    "head sampling 10 %": {"corrupt.head_sampling": 0.1},
    "asynchronous children": {"corrupt.async_share": 0.3},
    "roots end at the first token": {"corrupt.post_root_share": 0.3},
    "spans twice": {"corrupt.duplicate_share": 0.05},
    "64-bit trace ids": {"corrupt.short_ids": True},
}
"""Defects one at a time; the share or size of each is that of the method's reference grid."""

DIALECTS = ("vllm", "sglang", "dynamo")
"""Exporters that do not name stages: what is known then is what these say."""

_SLOW_ALL_ALONG = {
    "busy_host", "expert_imbalance", "pipeline_imbalance", "slow_gpu", "slow_link", "slow_loader", "slow_nic",
    "slow_nvlink", "slow_pcie",
}  # fmt: skip
"""Faults that are asked about a second time with all steps struck, so that no step before shows what is usual."""

STEPS = 32
"""Steps of a training run."""

_TIMES = {
    "for a time": {"fault.first_step": 12, "fault.steps": 12},
    "always": {"fault.first_step": 0, "fault.steps": STEPS},
}

TRAINING = tuple(
    Training(name, when, {"run.steps": STEPS, **overrides})
    for name in scenarios.names()
    if scenarios.load(name).model == "training"
    for when, overrides in _TIMES.items()
    if when == "for a time" or name in _SLOW_ALL_ALONG
)
"""Training runs: scenarios that name ranks as culprits have stragglers, in the others nobody may be named."""
