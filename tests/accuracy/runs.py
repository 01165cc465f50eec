"""Runs whose truth is known, in a store: what `tracekit generate` would make, without files in between."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from generators import corruption, scenarios
from generators.bulk import tables
from generators.generate import prepare
from generators.parameters import Values
from generators.serving import dialects
from generators.serving.causes import Culprit, culprits
from generators.serving.simulation import Run, simulate
from generators.serving.timeline import stage_ns
from generators.serving.truth import counterfactual
from generators.spans import Emission
from tracekit.otlp import SCHEMAS, Batch
from tracekit.stages import update_units
from tracekit.store import Database, IngestWriter

NS_PER_S = 1_000_000_000
WARM_UP_S = 30.0
"""Time after the start of a run that no question looks at: the engines fill up."""


@dataclass(frozen=True)
class Layout:
    """When things happen in a run, in seconds: the fault in the last `window_s`, health in `baseline_s` before."""

    baseline_s: float
    window_s: float

    @property
    def change_s(self) -> float:
        """When the fault starts, and with it the time that questions are about."""
        return WARM_UP_S + self.baseline_s

    def overrides(self) -> dict[str, Any]:
        """The parameters of a run that lay it out so."""
        times = {"start_s": self.change_s, "duration_s": self.window_s}
        changes = {f"{group}.{name}": value for group in ("fault", "change") for name, value in times.items()}
        return {"run.duration_s": self.change_s + self.window_s, **changes}

    def conditions(self, start_unix_s: int) -> tuple[str, str]:
        """The time of the fault and the healthy time before it, as conditions over the view `units`."""
        first, change, end = (
            start_unix_s * NS_PER_S + round(second * NS_PER_S)
            for second in (WARM_UP_S, self.change_s, self.change_s + self.window_s)
        )
        return between(change, end), between(first, change)


def between(first_ns: int, end_ns: int) -> str:
    """The units that start in `[first_ns, end_ns)`, as a condition."""
    return f"start_ns >= {first_ns} AND start_ns < {end_ns}"


@dataclass(frozen=True, eq=False)
class Played:
    """A run of the serving model, the same run without its fault, and the spans of the first."""

    scenario: str
    seed: int
    layout: Layout
    values: Values
    run: Run
    healthy: Run
    emission: Emission
    culprits: list[Culprit]

    def conditions(self) -> tuple[str, str]:
        """The time of the fault and the healthy time before it, as conditions over the view `units`."""
        return self.layout.conditions(int(self.values["run.start_unix_s"]))

    def in_window(self) -> np.ndarray:
        """Which requests arrive in the time of the fault (bool, one a request)."""
        arrival_ns = self.run.requests["arrival_ns"]
        change_ns = round(self.layout.change_s * NS_PER_S)
        return (arrival_ns >= change_ns) & (arrival_ns < change_ns + round(self.layout.window_s * NS_PER_S))

    @cached_property
    def true_ns(self) -> np.ndarray:
        """Time of every request by window and stage (int64[request, window, stage])."""
        return stage_ns(self.run)

    @cached_property
    def healthy_ns(self) -> np.ndarray:
        """The same without the fault."""
        return self.true_ns if self.healthy is self.run else stage_ns(self.healthy)


def play(scenario: str, *, seed: int, layout: Layout, overrides: Mapping[str, Any]) -> Played:
    """Simulate a serving scenario and its counterfactual."""
    _, values = prepare(scenarios.load(scenario), overrides=layout.overrides() | dict(overrides))
    run = simulate(values, seed=seed)
    return Played(
        scenario=scenario,
        seed=seed,
        layout=layout,
        values=values,
        run=run,
        healthy=counterfactual(run, seed=seed),
        emission=dialects.emission(run, seed=seed),
        culprits=culprits(values),
    )


def damaged(played: Played, defect: Mapping[str, Any]) -> tuple[Emission, dict[str, Any]]:
    """The spans with `corrupt.*` parameters at work, and what these did."""
    return corruption.apply(played.emission, played.values | dict(defect), seed=played.seed)


@contextmanager
def stored(emission: Emission) -> Iterator[Database]:
    """A store in memory that holds the spans of an emission and their units; one thread works in it."""
    with Database.open(None, tuning={"threads": "1"}) as database:
        writer = IngestWriter(database, source="generated")
        writer.write(batch_of(replace(emission, series=())))
        writer.finish()
        update_units(database)
        yield database


def batch_of(emission: Emission) -> Batch:
    """The records of an emission as the decoder would give them."""
    made = tables(emission)
    filled = {
        name: made[name].select(schema.names).cast(schema)
        if name in made and made[name].num_rows
        else schema.empty_table()
        for name, schema in SCHEMAS.items()
    }
    return Batch(**filled)
