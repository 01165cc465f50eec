"""Counters of engines and gateway as metric series: vLLM's names for the engine, GenAI conventions for the
gateway.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from generators.metrics import Series, exponential_histogram, histogram
from generators.serving import state
from generators.serving.dialects.common import GATEWAY, MODEL_NAME
from generators.serving.simulation import Run
from generators.serving.workload import NS_PER_S
from generators.spans import Emission

SCOPE = "vllm"
GATEWAY_SCOPE = "gateway"

TTFT_BOUNDS = (.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1., 2.5, 5., 7.5, 10.)  # fmt: skip
"""GenAI conventions, gen_ai.server.time_to_first_token."""
DURATION_BOUNDS = (.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96,
81.92)  # fmt: skip
"""GenAI conventions, gen_ai.server.request.duration."""
VLLM_LATENCY_BOUNDS = (.3, .5, .8, 1., 1.5, 2., 2.5, 5., 10., 15., 20., 30., 40., 50., 60., 120.)  # fmt: skip
"""vLLM's request latency buckets, the first sixteen."""

Reader = Callable[[np.ndarray], np.ndarray]

GAUGES: tuple[tuple[str, str, Reader], ...] = (
    ("vllm:num_requests_running", "{request}", lambda reading: reading["running"]),
    ("vllm:num_requests_waiting", "{request}", lambda reading: reading["waiting"]),
)
SUMS: tuple[tuple[str, str, Reader], ...] = (
    ("vllm:num_preemptions", "{preemption}", lambda reading: reading["preemptions"]),
    ("vllm:prompt_tokens", "{token}", lambda reading: reading["prompt_tokens"]),
    ("vllm:generation_tokens", "{token}", lambda reading: reading["generation_tokens"]),
    ("vllm:prefix_cache_queries", "{token}", lambda reading: reading["queried_tokens"]),
    ("vllm:prefix_cache_hits", "{token}", lambda reading: reading["cached_tokens"]),
    ("vllm:admission_rejections", "{request}", lambda reading: reading["rejected"]),
    ("vllm:spec_decode_num_draft_tokens", "{token}", lambda reading: reading["drafted"]),
    ("vllm:spec_decode_num_accepted_tokens", "{token}", lambda reading: reading["accepted"]),
    ("vllm:nixl_bytes_transferred", "By", lambda reading: reading["transferred_bytes"]),
)


def with_counters(emission: Emission, run: Run) -> Emission:
    """The emission with every replica's and the gateway's counters, read at the run's interval."""
    # A provider behind the gateway shows no counters either.
    is_hidden = str(run.values["emit.dialect"]).startswith("litellm")
    series = [*([] if is_hidden else _engine_series(run)), *_gateway_series(run)]
    return replace(emission, series=tuple(one for one in series if one.time_ns.size))


def _times_ns(run: Run) -> tuple[int, np.ndarray]:
    origin_ns = int(run.values["run.start_unix_s"]) * NS_PER_S
    return origin_ns, origin_ns + run.reading_times_ns


def _engine_series(run: Run) -> list[Series]:
    return [one for replica in range(run.readings.shape[1]) for one in _replica_series(run, replica)]


def _replica_series(run: Run, replica: int) -> list[Series]:
    origin_ns, time_ns = _times_ns(run)
    reading, labels = run.readings[:, replica], {"model_name": MODEL_NAME, "engine": str(replica)}

    def plain(kind: str, name: str, unit: str, values: np.ndarray) -> Series:
        """A gauge or counter of this replica."""
        return Series(name, unit, kind, SCOPE, replica + 1, origin_ns, time_ns, values, labels)

    blocks = int(run.values["engine.kv_tokens"]) // int(run.values["engine.block_tokens"])
    series = [plain("gauge", name, unit, read(reading)) for name, unit, read in GAUGES]
    series.append(plain("gauge", "vllm:kv_cache_usage_perc", "1", reading["used_blocks"] / blocks))
    series += [plain("sum", name, unit, read(reading)) for name, unit, read in SUMS if read(reading).any()]
    finished = replace(
        plain("sum", "vllm:request_success", "{request}", reading["finished"]),
        attributes=labels | {"finished_reason": "length"},
    )
    return [*series, finished, _engine_latency(run, replica, labels), *_machine_series(run, replica)]


WEIGHT_BYTES, DEVICE_BYTES = 16 * 10**9, 80 * 10**9
"""An 8B model in bf16 on an accelerator of 80 GB."""


def _machine_series(run: Run, replica: int) -> list[Series]:
    """What the accelerator and the host show, with names of the hardware and system conventions and of DCGM."""
    origin_ns, time_ns = _times_ns(run)
    reading, device = run.readings[:, replica], f"worker-{replica}-gpu-0"
    # A step in progress counts up to the instant of the reading.
    running_ns = np.where(reading["busy"], run.reading_times_ns - reading["step_start_ns"], 0)
    busy_ns = np.diff(reading["busy_ns"] + running_ns, prepend=0)
    busy = busy_ns / np.diff(run.reading_times_ns, prepend=0)
    kv_bytes = int(run.values["disagg.kv_bytes_per_token"]) * int(run.values["engine.block_tokens"])
    held = WEIGHT_BYTES + reading["used_blocks"] * kv_bytes
    known = {"hw.id": device, "hw.type": "gpu"}
    rows: list[tuple[str, str, str, str, np.ndarray, dict[str, str]]] = [
        ("hw.gpu.utilization", "1", "gauge", "hw", busy, known),
        ("hw.gpu.memory.usage", "By", "gauge", "hw", held, known),
        ("hw.gpu.memory.utilization", "1", "gauge", "hw", held / DEVICE_BYTES, known),
        ("DCGM_FI_DEV_GPU_UTIL", "%", "gauge", "dcgm-exporter", np.rint(busy * 100).astype(np.int64),
         {"gpu": "0", "UUID": device}),
        ("system.network.io", "By", "sum", "hostmetrics", reading["transferred_bytes"],
         {"network.io.direction": "transmit"}),
    ]  # fmt: skip
    return [
        Series(name, unit, kind, scope, replica + 1, origin_ns, time_ns, values, labels)
        for name, unit, kind, scope, values, labels in rows if values.any()
    ]  # fmt: skip


def _engine_latency(run: Run, replica: int, labels: dict[str, str]) -> Series:
    """End-to-end latency as the engine's frontend sees it."""
    requests = run.requests
    engine = np.where(requests["decode_replica"] >= 0, requests["decode_replica"], requests["replica"])
    mine = requests[(engine == replica) & (requests["outcome"] == state.OK) & (requests["engine_last_ns"] >= 0)]
    return _observed(
        run, "vllm:e2e_request_latency_seconds", SCOPE, replica + 1, VLLM_LATENCY_BOUNDS, labels,
        mine["engine_last_ns"], mine["engine_last_ns"] - mine["frontend_ns"],
    )  # fmt: skip


def _gateway_series(run: Run) -> list[Series]:
    """TTFT of requests that had a token and duration of all, in the GenAI conventions."""
    requests = run.requests
    begun = requests[requests["first_ns"] >= 0]
    labels = {"gen_ai.operation.name": "chat", "gen_ai.request.model": MODEL_NAME}
    return [
        _observed(run, "gen_ai.server.time_to_first_token", GATEWAY_SCOPE, GATEWAY, TTFT_BOUNDS, labels,
                  begun["first_ns"], begun["first_ns"] - begun["arrival_ns"]),
        _token_times(run, labels),
        _observed(run, "gen_ai.server.request.duration", GATEWAY_SCOPE, GATEWAY, DURATION_BOUNDS, labels,
                  requests["close_ns"], requests["close_ns"] - requests["arrival_ns"]),
    ]  # fmt: skip


def _token_times(run: Run, labels: dict[str, str]) -> Series:
    """Mean time per token after the first, once at the end of each stream, as an exponential histogram."""
    requests = run.requests
    told = requests[(requests["outcome"] == state.OK) & (requests["output_tokens"] > 1)]
    origin_ns, time_ns = _times_ns(run)
    gaps_s = (told["last_ns"] - told["first_ns"]) / (told["output_tokens"] - 1) / 1e9
    return exponential_histogram(
        "gen_ai.server.time_per_output_token", "s", scope=GATEWAY_SCOPE, resource=GATEWAY, start_ns=origin_ns,
        time_ns=time_ns, observed_at_ns=origin_ns + told["close_ns"], observations=gaps_s, attributes=labels,
    )  # fmt: skip


def _observed(
    run: Run, name: str, scope: str, resource: int, bounds: tuple[float, ...], labels: dict[str, str],
    at_ns: np.ndarray, lengths_ns: np.ndarray,
) -> Series:  # fmt: skip
    origin_ns, time_ns = _times_ns(run)
    return histogram(
        name, "s", scope=scope, resource=resource, start_ns=origin_ns, time_ns=time_ns, bounds=bounds,
        observed_at_ns=origin_ns + at_ns, observations=lengths_ns / 1e9, attributes=labels,
    )  # fmt: skip
