"""The shapes in which serving stacks report a request; all tell of the same simulated run.

| dialect | engine spans | gateway |
|---|---|---|
| tracekit | every stage a span with `tracekit.stage` | the same |
| vllm | one `llm_request` with durations as attributes | LiteLLM's names, no stage attribute |
| sglang | root, thread spans and slices joined by links | LiteLLM's names, joined by W3C context |
| dynamo | KV router, worker endpoint, engine, vLLM's span | Dynamo's own frontend |
| triton | an ensemble of models with events | LiteLLM's names |
| litellm, litellm_v1 | none: a provider | LiteLLM's second and first kind of spans |
"""

from __future__ import annotations

from collections.abc import Callable

from generators.serving.dialects import dynamo, litellm, own, sglang, triton, vllm
from generators.serving.simulation import Run
from generators.spans import Emission

DIALECTS: dict[str, Callable[..., Emission]] = {
    "tracekit": own.emission,
    "vllm": vllm.emission,
    "sglang": sglang.emission,
    "dynamo": dynamo.emission,
    "triton": triton.emission,
    "litellm": litellm.emission,
    "litellm_v1": litellm.emission_v1,
}


def emission(run: Run, *, seed: int) -> Emission:
    """The run's spans in the dialect that its parameters ask for."""
    return DIALECTS[str(run.values["emit.dialect"])](run, seed=seed)
