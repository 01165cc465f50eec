"""The workload models by name: their parameters, and how a run of each is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from generators import cloud
from generators.job import emission as job_emission
from generators.job import life as job_life
from generators.job import parameters as job_parameters
from generators.job import truth as job_truth
from generators.parameters import Parameter, Values
from generators.serving import counters, dialects, parameters, simulation, truth
from generators.serving import logs as serving_logs
from generators.spans import Emission
from generators.training import counters as training_counters
from generators.training import emission as training_emission
from generators.training import logs as training_logs
from generators.training import parameters as training_parameters
from generators.training import simulation as training_simulation
from generators.training import truth as training_truth


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
    emission = serving_logs.with_logs(emission, run, seed=seed)
    return emission, truth.truth(run, truth.counterfactual(run, seed=seed), emission)


def run_training(values: Values, *, seed: int) -> tuple[Emission, dict[str, Any]]:
    """A training run and its truth, the counterfactual without the fault included."""
    run = training_simulation.simulate(values, seed=seed)
    emission = training_counters.with_counters(training_emission.emission(run, seed=seed), run)
    emission = training_logs.with_logs(emission, run)
    other = training_truth.counterfactual(run, seed=seed)
    return emission, training_truth.truth(run, other, emission, seed=seed)


def run_job(values: Values, *, seed: int) -> tuple[Emission, dict[str, Any]]:
    """The life of a training job and its truth, the counterfactual without the fault included."""
    life = job_life.simulate(values, seed=seed)
    emission = job_emission.emission(life, seed=seed)
    return emission, job_truth.truth(life, seed=seed, emission=emission)


MODELS = {
    "cloud": Model(cloud.MODEL, cloud.check, cloud.run),
    "serving": Model(parameters.MODEL, parameters.check, run_serving),
    "job": Model(job_parameters.MODEL, job_parameters.check, run_job),
    "training": Model(training_parameters.MODEL, training_parameters.check, run_training),
}
