"""One call from a scenario to files or an endpoint, with the truth beside them."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generators import corruption, scenarios
from generators.models import MODELS, Model
from generators.parameters import Values, resolve
from generators.scenarios import Scenario
from generators.sdk_export import export_endpoint, export_files
from generators.spans import Emission
from tracekit.errors import UsageError

FILES = ("traces.jsonl", "metrics.jsonl", "logs.jsonl", "truth.json")


@dataclass(frozen=True)
class Truth:
    """What really happened in a run."""

    scenario: str
    seed: int
    parameters: Values
    span_count: int
    content: dict[str, Any]
    """What `truth.json` holds; docs/generators.md explains each key."""


def generate(
    scenario: str | Path | Scenario, *, seed: int = 0, overrides: Mapping[str, Any] | None = None,
    out: Path | None = None, endpoint: str | None = None,
) -> Truth:  # fmt: skip
    """Run a scenario, write or send its telemetry, and return the truth about it.

    With `out`, the folder gets `traces.jsonl`, `metrics.jsonl` and `truth.json`, all or none. With `endpoint`
    spans and metrics go to that OTLP/HTTP base URL, and `out`, if given, gets only the truth. The same
    arguments give the same bytes. Raises `UsageError` for unknown or impossible parameters before anything is
    written, `ExportError` where the endpoint does not take the data.
    """
    chosen = scenario if isinstance(scenario, Scenario) else scenarios.load(scenario)
    model, values = prepare(chosen, overrides=overrides or {})
    if out is None and endpoint is None:
        raise UsageError("nothing to write to: give a folder or an endpoint")
    if out is not None:
        _refuse_existing(out)
    emission, facts = model.run(values, seed=seed)
    emission, defects = corruption.apply(emission, values, seed=seed)
    truth = _truth(chosen, seed, values, emission, facts, defects)
    _deliver(truth, emission, out, endpoint)
    return truth


def prepare(scenario: Scenario, *, overrides: Mapping[str, Any]) -> tuple[Model, Values]:
    """The model of a scenario and its checked parameter values, `overrides` last. Raises `UsageError`."""
    if scenario.model not in MODELS:
        raise UsageError(
            f"{scenario.name}: no model is called {scenario.model!r}; there are {', '.join(sorted(MODELS))}"
        )
    model = MODELS[scenario.model]
    table = (*model.parameters, *corruption.PARAMETERS)
    resolve(table, scenario.parameters, where=scenario.name)
    values = resolve(table, scenario.parameters | dict(overrides), where=scenario.name)
    model.check(values, where=scenario.name)
    return model, values


def listed_parameters(scenario: Scenario) -> str:
    """Every parameter with its value in the scenario, what it accepts, its meaning and its source, one a
    line.
    """
    model, values = prepare(scenario, overrides={})
    table = (*model.parameters, *corruption.PARAMETERS)
    return "\n".join(
        f"{one.name} = {values[one.name]}  # {one.meaning}; {one.accepts()}; source: {one.source}" for one in table
    )


def _truth(
    scenario: Scenario,
    seed: int,
    values: Values,
    emission: Emission,
    facts: dict[str, Any],
    defects: dict[str, Any],
) -> Truth:
    head = {
        "scenario": scenario.name, "title": scenario.title, "what_happens": scenario.what_happens,
        "right_answer": scenario.right_answer, "model": scenario.model, "seed": seed, "parameters": values,
        "spans": emission.span_count, "defects": defects,
    }  # fmt: skip
    return Truth(scenario.name, seed, values, emission.span_count, head | facts)


def _refuse_existing(out: Path) -> None:
    present = [name for name in FILES if (out / name).exists()]
    if present:
        raise UsageError(f"{out / present[0]} exists already; choose another folder or remove it")


def _deliver(truth: Truth, emission: Emission, out: Path | None, endpoint: str | None) -> None:
    if endpoint is not None:
        export_endpoint(emission, endpoint)
    if out is None:
        return
    with _all_or_nothing(out) as folder:
        if endpoint is None:
            export_files(emission, folder)
        write_truth(truth, folder / "truth.json")


def write_truth(truth: Truth, path: Path) -> None:
    """Write `truth.json`: one key a line, and one line for each unit."""
    head = {key: value for key, value in truth.content.items() if key != "units"}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    units = ",\n".join(json.dumps(unit) for unit in truth.content["units"])
    path.write_text("{\n" + ",\n".join([*lines, f'"units": [\n{units}\n]']) + "\n}\n", encoding="utf-8")


@contextmanager
def _all_or_nothing(out: Path) -> Iterator[Path]:
    """A folder beside `out` whose files move there at the end; it goes away when anything stops the work."""
    made = _missing_parents(out)
    out.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=".generate-", dir=out))
    try:
        yield folder
        for name in FILES:
            if (folder / name).exists():
                (folder / name).replace(out / name)
        made = []
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for path in made:
            path.rmdir()


def _missing_parents(out: Path) -> list[Path]:
    """The folders that will have to be made for `out`, innermost first."""
    return [path for path in (out, *out.parents) if not path.exists()]
