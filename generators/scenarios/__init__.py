"""Scenarios: small TOML files that say what happens, what a right answer says, which parameters differ."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from generators.parameters import flattened, nearest
from tracekit.errors import UsageError

FOLDER = Path(__file__).resolve().parent
_TEXTS = ("title", "what_happens", "right_answer", "model")


@dataclass(frozen=True)
class Scenario:
    """What happens in a run, in words and as parameter values of a workload model."""

    name: str
    title: str
    what_happens: str
    right_answer: str
    model: str
    """Name of a workload model: `serving`, `training`, `job` or `cloud`."""
    parameters: dict[str, Any]
    """Dotted parameter names with the values that differ from the model's defaults."""


def names(*, model: str | None = None) -> list[str]:
    """Names of all scenarios, or of those of one model, sorted."""
    found = sorted(path.stem for path in FOLDER.glob("*.toml"))
    return found if model is None else [name for name in found if load(name).model == model]


def load(name: str | Path) -> Scenario:
    """The scenario of this name, or of a TOML file at this path.

    Raises `UsageError` where there is none (with the nearest name) or where the file is not a scenario.
    """
    path = Path(name) if str(name).endswith(".toml") else FOLDER / f"{name}.toml"
    if not path.is_file():
        raise UsageError(f"no scenario is called {str(name)!r}{nearest(str(name), names())}")
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a scenario file: {error}") from error
    return _scenario(path, content)


def _scenario(path: Path, content: dict[str, Any]) -> Scenario:
    missing = [key for key in _TEXTS if not isinstance(content.get(key), str)]
    unknown = sorted(set(content) - {*_TEXTS, "parameters"})
    if missing or unknown:
        wrong = f"{missing[0]} is missing" if missing else f"{unknown[0]} is not a key of a scenario"
        raise UsageError(f"{path} is not a scenario file: {wrong}; it has {', '.join(_TEXTS)} and [parameters]")
    texts = {key: " ".join(content[key].split()) for key in _TEXTS}
    return Scenario(name=path.stem, parameters=flattened(content.get("parameters", {})), **texts)
