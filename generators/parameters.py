"""Parameters of a workload model: one documented table, checked values, nearest names for typing errors."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tracekit.errors import UsageError

Value = bool | int | float | str
Values = dict[str, Value]


@dataclass(frozen=True)
class Parameter:
    """One knob of a model: its name, its default, what it means and where the default comes from."""

    name: str
    """Dotted, with its unit at the end: `gateway.auth_median_ms`."""
    default: Value
    meaning: str
    source: str
    """Where the default comes from, or `assumption`."""
    low: float = 0.0
    high: float = math.inf
    choices: tuple[str, ...] = ()

    def parse(self, value: object, *, where: str) -> Value:
        """`value`, a TOML value or text from the command line, as this parameter's type, in its range.

        Raises `UsageError` that names the parameter and what it accepts.
        """
        try:
            parsed = self._converted(value)
        except (TypeError, ValueError) as error:
            raise UsageError(f"{where}: {self.name} must be {self.accepts()}, not {value!r}") from error
        if isinstance(parsed, str) and self.choices and parsed not in self.choices:
            raise UsageError(f"{where}: {self.name} must be {self.accepts()}, not {value!r}")
        if not isinstance(parsed, str) and not self.low <= parsed <= self.high:
            raise UsageError(f"{where}: {self.name} must be {self.accepts()}, not {value!r}")
        return parsed

    def accepts(self) -> str:
        """What the parameter accepts, for messages and the reference table."""
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, str):
            return "one of " + ", ".join(self.choices) if self.choices else "text"
        noun = "a whole number" if isinstance(self.default, int) else "a number"
        limits = f" from {self.low:g}" + ("" if math.isinf(self.high) else f" to {self.high:g}")
        return noun + limits

    def _converted(self, value: object) -> Value:
        if isinstance(self.default, bool):
            return _truth_value(value)
        if isinstance(self.default, str):
            return str(value)
        if isinstance(value, bool):
            raise ValueError("a truth value is not a number")
        number = float(str(value))
        if isinstance(self.default, float):
            return number
        if number != int(number):
            raise ValueError("not a whole number")
        return int(number)


def _truth_value(value: object) -> bool:
    names = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}
    if str(value).lower() not in names:
        raise ValueError("not a truth value")
    return names[str(value).lower()]


def resolve(table: Iterable[Parameter], values: Mapping[str, Any], *, where: str) -> Values:
    """The values of every parameter of `table`: `values` where given, else the defaults.

    Raises `UsageError` for a name that the table does not have (with the nearest one) and for values out of
    range.
    """
    known = {parameter.name: parameter for parameter in table}
    for name in values:
        if name not in known:
            raise UsageError(f"{where}: no parameter is called {name!r}{nearest(name, known)}")
    return {
        name: parameter.parse(values[name], where=where) if name in values else parameter.default
        for name, parameter in known.items()
    }


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the closest known name, or a hint to the list where none is close."""
    choices = list(known)
    by_last_word = {choice.rpartition(".")[2]: choice for choice in choices}
    close = difflib.get_close_matches(name, choices, n=1, cutoff=0.5)
    close = close or [by_last_word[word] for word in difflib.get_close_matches(name, by_last_word, n=1, cutoff=0.6)]
    return f"; did you mean {close[0]!r}?" if close else "; `tracekit generate --list` shows what there is"


def flattened(nested: Mapping[str, Any], *, prefix: str = "") -> dict[str, Any]:
    """Nested TOML tables as dotted names: `{"engine": {"replicas": 2}}` becomes `{"engine.replicas": 2}`."""
    flat: dict[str, Any] = {}
    for key, value in nested.items():
        name = f"{prefix}{key}"
        flat |= flattened(value, prefix=f"{name}.") if isinstance(value, Mapping) else {name: value}
    return flat


def assignments(texts: Iterable[str]) -> dict[str, str]:
    """`["a.b=1", "c=x"]` from the command line as a dictionary. Raises `UsageError` where `=` is missing."""
    pairs = [text.partition("=") for text in texts]
    for name, separator, _ in pairs:
        if not separator or not name.strip():
            raise UsageError(f"--set takes name=value, not {name!r}")
    return {name.strip(): value.strip() for name, _, value in pairs}
