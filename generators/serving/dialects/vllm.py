"""vLLM behind a gateway: one `llm_request` span a finished request, everything else in its attributes.

As vLLM does it: the start comes from a float of seconds and is a multiple of 256 ns; latencies are seconds on
two clocks (first token and end-to-end on the frontend's, the others on the engine's); the span ends when it
is exported, a moment after the last token; aborted, refused and failed requests have no span at all.
"""

from __future__ import annotations

import numpy as np

from generators.seeds import stream
from generators.serving import stages, state
from generators.serving.dialects.common import (
    LITELLM_NAMES,
    VLLM_STARTUP_NAMES,
    Sketch,
    engine_resources,
    finished,
    gateway_groups,
    sketch,
    startup_groups,
)
from generators.serving.simulation import Run
from generators.spans import SERVER, Column, Emission, SpanGroup

SCOPE = "vllm.tracing.otel"
EXPORT_LAG_NS = 490_000
"""Between the last token and the export call, the median of a real capture."""
CLOCK_JITTER_NS = 300_000
"""By how much durations on the engine's clock differ from the frontend's, as in a real capture."""


def emission(run: Run, *, seed: int) -> Emission:
    """The run as LiteLLM-like gateway spans around vLLM's request spans."""
    plan = sketch(run, seed=seed, shows_stages=False)
    resources = engine_resources(run, "vllm", vllm__instrumenting_module_name="vllm.llm_engine")
    starts = startup_groups(plan, VLLM_STARTUP_NAMES, root="Overall Loading", scope=SCOPE)
    return finished(plan, [request_group(plan), *gateway_groups(plan, LITELLM_NAMES), *starts], resources)


def request_group(plan: Sketch, *, arrival: str = "frontend_ns") -> SpanGroup:
    """The `llm_request` spans of the attempts that finished.

    `arrival` is the instant that the engine takes for it: `frontend_ns` where it tokenises itself, `queued_ns`
    where others did.
    """
    table = plan.attempts
    requests = plan.run.requests[table.request]
    is_done = (requests["outcome"] == state.OK) & ~table.is_failed & (requests["engine_last_ns"] >= 0)
    rows, requests = np.flatnonzero(is_done), requests[is_done]
    engine = np.where(requests["decode_replica"] >= 0, requests["decode_replica"], requests["replica"])
    detok_ns = plan.run.durations_ns[table.request[rows], stages.OUT_DETOK]
    arrival_ns = requests[arrival]
    start_ns = (((plan.origin_ns + arrival_ns) / 1e9) * 1e9).astype(np.int64)
    end_ns = plan.origin_ns + requests["engine_last_ns"] + detok_ns + EXPORT_LAG_NS
    return SpanGroup(
        "llm_request", SCOPE, SERVER, engine + 1, table.request[rows], plan.ids("llm_request", rows.size),
        plan.chat_ids[rows], start_ns, end_ns, is_parent_remote=True,
        attributes=_attributes(plan, requests, arrival_ns, detok_ns),
    )  # fmt: skip


def _attributes(plan: Sketch, requests: np.ndarray, arrival_ns: np.ndarray, detok_ns: np.ndarray) -> dict[str, Column]:
    first, last = requests["attempt_first_ns"], requests["engine_last_ns"]
    scheduled, queued = requests["scheduled_ns"], requests["queued_ns"]
    # The engine's clock and the frontend's disagree by up to 0.3 ms over a decode.
    jitter_ns = stream(plan.seed, "vllm.clocks").uniform(-CLOCK_JITTER_NS, CLOCK_JITTER_NS, requests.size)
    decode_ns = np.maximum(last - first + jitter_ns, 0)
    return {
        "gen_ai.latency.time_to_first_token": (first + detok_ns - arrival_ns) / 1e9,
        "gen_ai.latency.e2e": (last + detok_ns - arrival_ns) / 1e9,
        "gen_ai.latency.time_in_queue": (scheduled - queued) / 1e9,
        "gen_ai.usage.prompt_tokens": requests["prompt_tokens"],
        "gen_ai.usage.completion_tokens": requests["output_tokens"],
        "gen_ai.latency.time_in_model_prefill": (first - scheduled) / 1e9,
        "gen_ai.latency.time_in_model_decode": decode_ns / 1e9,
        "gen_ai.latency.time_in_model_inference": (first - scheduled + decode_ns) / 1e9,
        "gen_ai.request.id": request_ids(plan, requests.size),
        "gen_ai.request.top_p": 1.0,
        "gen_ai.request.max_tokens": requests["output_tokens"],
        "gen_ai.request.temperature": 1.0,
        "gen_ai.request.n": 1,
    }


def request_ids(plan: Sketch, count: int) -> np.ndarray:
    """Ids as vLLM makes them for chat requests."""
    numbers = plan.ids("request_ids", count)
    return np.array([f"chatcmpl-{number:016x}-0" for number in numbers.tolist()], dtype=object)
