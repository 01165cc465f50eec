"""Pairs of generated runs whose only difference is a change of serving: what the what-if says against what happened.

Both runs have the same seed, so the same requests arrive with the same sizes. The first run's spans are asked what the
change would give; the second run is the truth.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from generators.serving import state
from generators.serving.simulation import Run, simulate
from tests.accuracy.runs import NS_PER_S, WARM_UP_S, Layout, play, stored
from tracekit.analysis import RequestWhatIf, request_whatif

LAYOUT = Layout(baseline_s=60, window_s=60)

APART = {
    "engine.replicas": 2, "disagg.prefill_replicas": 2, "disagg.decode_replicas": 2, "disagg.link_gb_per_s": 1e6,
    "disagg.bootstrap_median_ms": 1e-6,
}  # fmt: skip
"""Prefill on hardware of its own, without a way between."""


@dataclass(frozen=True)
class Pair:
    """A run, the change it is asked about, and the parameters of the run in which that is so.

    scenario, overrides: the run. changes: as they are asked. truth: parameters of the other run. without_fault: the
    other run has no fault. uses_baseline: the time before the fault is given as what is normal.
    """

    name: str
    changes: tuple[str, ...]
    truth: Mapping[str, Any] = field(default_factory=dict)
    scenario: str = "healthy"
    overrides: Mapping[str, Any] = field(default_factory=dict)
    without_fault: bool = False
    uses_baseline: bool = False


def _replicas(name: str, count: int, *, scenario: str = "healthy", **overrides: Any) -> Pair:
    values = {key.replace("__", "."): value for key, value in overrides.items()} | {"engine.replicas": count}
    return Pair(name, ("replicas=+1",), {"engine.replicas": count + 1}, scenario, values)


PAIRS = (
    _replicas("idle", 2),
    _replicas("busy", 2, clients__rate_per_s=22),
    _replicas("one engine", 1, clients__rate_per_s=10, fault__replica=0),
    _replicas("four engines", 4, clients__rate_per_s=44, engine__max_num_seqs=18),
    _replicas("round robin", 2, clients__rate_per_s=20, gateway__router="round_robin"),
    _replicas("two choices", 3, clients__rate_per_s=30, gateway__router="two_choices"),
    _replicas("random", 2, clients__rate_per_s=18, gateway__router="random"),
    _replicas("seats", 2, clients__rate_per_s=22, engine__max_num_seqs=16),
    _replicas("bursts", 2, clients__rate_per_s=7, clients__arrivals="on_off", emit__dialect="sglang"),
    _replicas("large bursts", 2, clients__rate_per_s=14, clients__arrivals="on_off", emit__dialect="sglang"),
    _replicas("vllm, load rises", 2, scenario="load_rise", emit__dialect="vllm"),
    _replicas("cap for a minute", 2, scenario="queue_saturation"),
    _replicas("slower engine", 2, clients__rate_per_s=12, engine__step_base_ms=9.0, engine__prefill_tokens_per_s=15000),
    _replicas("long prompts", 2, clients__rate_per_s=11, requests__long_share=0.06),
    Pair("one less", ("replicas=-1",), {"engine.replicas": 2},
         overrides={"engine.replicas": 3, "clients.rate_per_s": 20}),
    Pair("twice the batch", ("batch=24",), {"engine.max_num_seqs": 24},
         overrides={"clients.rate_per_s": 20, "engine.max_num_seqs": 12}),
    Pair("smaller batch", ("batch=12",), {"engine.max_num_seqs": 12}, overrides={"clients.rate_per_s": 12}),
    Pair("half the batch", ("batch=10",), {"engine.max_num_seqs": 10},
         overrides={"clients.rate_per_s": 14, "engine.max_num_seqs": 20}),
    Pair("prefill apart", ("without=prefill_interference",), APART, "prefill_interference",
         {"fault.chunking_off": False, "clients.rate_per_s": 12}),
    Pair("prefill apart, chat", ("without=prefill_interference",), APART, overrides={"clients.rate_per_s": 20}),
    Pair("authentication", ("normal=gw.auth",), scenario="auth_slowdown", without_fault=True),
    Pair("authentication, baseline", ("normal=gw.auth",), scenario="auth_slowdown", without_fault=True,
         uses_baseline=True),
    Pair("network", ("normal=net.dispatch",), scenario="network_delay", without_fault=True),
    Pair("tokeniser", ("normal=fe.preprocess",), scenario="tokeniser_stall", without_fault=True, uses_baseline=True),
    Pair("slow engine", ("normal=eng.decode",), scenario="slow_worker", without_fault=True),
    Pair("grammar", ("normal=eng.grammar",), scenario="grammar_stall", without_fault=True, uses_baseline=True),
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """One quantile of one metric of a pair: what was said, and the truth (ns)."""

    pair: str
    seed: int
    metric: str
    quantile: float
    before: float
    after: float
    low: float
    high: float
    truth: float

    @property
    def error(self) -> float:
        """What was said over the truth, less one."""
        return self.after / self.truth - 1

    @property
    def is_held(self) -> bool:
        """Whether the bound holds the truth."""
        return self.low <= self.truth <= self.high


def outcomes(pair: Pair, *, seed: int) -> Iterator[Outcome]:
    """The answers of a pair against the truth."""
    answer, truth = asked(pair, seed=seed)
    for row in answer.effects.iter_rows(named=True):
        values = truth[row["metric"]]
        yield Outcome(
            pair.name, seed, row["metric"], row["quantile"], row["before_ns"], row["after_ns"], row["low_ns"],
            row["high_ns"], float(np.quantile(values, row["quantile"])),
        )  # fmt: skip


def asked(pair: Pair, *, seed: int) -> tuple[RequestWhatIf, dict[str, np.ndarray]]:
    """What the spans of the run say of the change, and the times of the run in which it is so."""
    played = play(pair.scenario, seed=seed, layout=LAYOUT, overrides=pair.overrides)
    start_ns = int(played.values["run.start_unix_s"]) * NS_PER_S
    warm, normal = f"start_ns >= {start_ns + round(WARM_UP_S * NS_PER_S)}", played.conditions()[1]
    with stored(played.emission) as database:
        answer = request_whatif(
            database, list(pair.changes), where=warm, baseline=normal if pair.uses_baseline else None
        )  # fmt: skip
    other = played.healthy if pair.without_fault else simulate(played.values | dict(pair.truth), seed=seed)
    return answer, _times(other)


def _times(run: Run) -> dict[str, np.ndarray]:
    """Metrics of the served requests after the warm-up, ns."""
    requests = run.requests
    served = (requests["outcome"] == state.OUTCOMES.index("ok")) & (requests["arrival_ns"] >= WARM_UP_S * NS_PER_S)
    chosen = requests[served]
    decode_ns = (chosen["last_ns"] - chosen["first_ns"])[chosen["generated"] > 1]
    return {
        "ttft": chosen["first_ns"] - chosen["arrival_ns"],
        "tpot": decode_ns / (chosen["generated"][chosen["generated"] > 1] - 1),
        "e2e": chosen["close_ns"] - chosen["arrival_ns"],
    }
