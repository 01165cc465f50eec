"""The shapes in which serving stacks report a request; all tell of the same simulated run.

| dialect | engine spans | gateway |
|---|---|---|
| tracekit | every stage a span with `tracekit.stage` | the same |
| vllm | one `llm_request` with durations as attributes | LiteLLM's names, no stage attribute |
"""

from __future__ import annotations

from collections.abc import Callable

from generators.serving.dialects import own, vllm
from generators.serving.simulation import Run
from generators.spans import Emission

DIALECTS: dict[str, Callable[..., Emission]] = {
    "tracekit": own.emission,
    "vllm": vllm.emission,
}


def emission(run: Run, *, seed: int) -> Emission:
    """The run's spans in the dialect that its parameters ask for."""
    return DIALECTS[str(run.values["emit.dialect"])](run, seed=seed)
