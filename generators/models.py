"""The workload models by name: their parameters, and how a run of each is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from generators.parameters import Parameter, Values
from generators.serving import counters, dialects, parameters, simulation, truth
from generators.spans import Emission


@dataclass(frozen=True)
class Model:
    """What `generate` needs to know of a workload model."""

    parameters: tuple[Parameter, ...]
    check: Callable[..., None]
    """`check(values, where=...)` refuses configurations that cannot run."""
    run: Callable[..., tuple[Emission, dict[str, Any]]]
    """`run(values, seed=...)` gives what the run sends and the truth about it, as plain values."""


def run_serving(values: Values, *, seed: int) -> tuple[Emission, dict[str, Any]]:
    """A serving run and its truth, the counterfactual without the fault included."""
    run = simulation.simulate(values, seed=seed)
    emission = counters.with_counters(dialects.emission(run, seed=seed), run)
    return emission, truth.truth(run, truth.counterfactual(run, seed=seed), emission)


MODELS = {"serving": Model(parameters.MODEL, parameters.check, run_serving)}
