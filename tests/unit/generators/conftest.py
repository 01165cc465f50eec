"""Short serving runs that several tests share."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from generators import scenarios
from generators.generate import prepare
from generators.parameters import Values
from generators.serving.simulation import Run, simulate

SHORT = {
    "run.duration_s": 12.0,
    "fault.start_s": 4.0,
    "fault.duration_s": 5.0,
    "emit.metrics_interval_s": 2.0,
}
SHORT |= {"change.start_s": 4.0, "change.duration_s": 5.0}


def short_values(scenario: str, **overrides: object) -> Values:
    """Checked parameter values of a scenario that lasts twelve seconds; `a__b=1` stands for `a.b`."""
    more = {name.replace("__", "."): value for name, value in overrides.items()}
    return prepare(scenarios.load(scenario), overrides=SHORT | more)[1]


@pytest.fixture(scope="session")
def short_run() -> Callable[..., Run]:
    """A function from a scenario and overrides to its short run."""

    def run(scenario: str, *, seed: int = 1, **overrides: object) -> Run:
        return simulate(short_values(scenario, **overrides), seed=seed)

    return run


SMALL = {
    "run.steps": 10, "mesh.data": 2, "mesh.ranks_per_host": 4, "schedule.micro_batches": 4, "fault.rank": 1,
    "fault.first_step": 4, "fault.steps": 4, "change.first_step": 4, "change.steps": 4, "emit.metrics_interval_s": 2.0,
}  # fmt: skip
"""Eight ranks on two hosts (data 2, tensor 2, pipeline 2), ten steps; faults and changes in steps 4 to 7."""


def small_values(**overrides: object) -> Values:
    """Checked parameter values of a small training run without fault; `a__b=1` stands for `a.b`."""
    more = {name.replace("__", "."): value for name, value in overrides.items()}
    return prepare(scenarios.load("training_healthy"), overrides=SMALL | more)[1]
