"""Service level objectives of requests: how late is too late, for which requests.

The terms of an objective are limits on `ttft` (arrival to first token), `tpot` (mean time of each token after the
first) and `e2e` (arrival to the end of the response). A request meets it where every configured term holds; equality
holds.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from tracekit.errors import UsageError
from tracekit.schema import exchanged

TERMS = ("ttft", "tpot", "e2e")
"""What an objective can limit, in the order in which a late request is charged."""

DEFAULT_OBJECTIVE = 0.99
"""Share of requests that should be good where nobody says; MLPerf's presets judge at the 99th percentile."""

_UNITS_NS = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-zµ]+)")
_LONGEST_NS = 2**62

_PRESETS_MS = {
    "llama2-70b": (2000, 200), "llama2-70b-interactive": (450, 40), "mixtral-8x7b": (2000, 200),
    "llama3.1-405b": (6000, 175), "llama3.1-405b-interactive": (4500, 80), "llama3.1-8b": (2000, 100),
    "llama3.1-8b-interactive": (500, 30), "deepseek-r1": (2000, 80), "deepseek-r1-interactive": (1500, 15),
}  # fmt: skip
"""Limits of time to first token and time per output token in ms: MLPerf Inference, Server scenario (`mlperf.conf`)."""

PRESETS = (*_PRESETS_MS, "gpt-j")
"""Names of objectives that MLPerf Inference publishes."""


@exchanged("slo")
@dataclass(frozen=True)
class Slo:
    """Limits in nanoseconds for the requests of one class; None where a term is not configured.

    `name`: of the class. `where`: condition over the view `units` that selects them, None for all.
    """

    name: str = "all"
    where: str | None = None
    ttft_ns: int | None = None
    tpot_ns: int | None = None
    e2e_ns: int | None = None

    @property
    def limits_ns(self) -> dict[str, int]:
        """The configured terms and their limits."""
        given = {term: getattr(self, f"{term}_ns") for term in TERMS}
        return {term: limit for term, limit in given.items() if limit is not None}


@exchanged("slo_set")
@dataclass(frozen=True)
class SloSet:
    """The classes of a service, the first that fits a request counts, and the share that should be good."""

    classes: tuple[Slo, ...]
    objective: float = DEFAULT_OBJECTIVE

    def as_dict(self) -> dict[str, Any]:
        """The set as plain values that `slo_set` reads."""
        return {"objective": self.objective, "class": [_class_values(one) for one in self.classes]}


def parsed_slo(text: str, *, name: str = "all", where: str | None = None) -> Slo:
    """An objective such as `ttft=2s,tpot=50ms,e2e=30s`, or the name of an MLPerf preset. Raises `UsageError`."""
    preset = text.strip().lower().removeprefix("mlperf:")
    if preset in PRESETS:
        return Slo(name, where, **_preset(preset))
    limits: dict[str, int] = {}
    for part in text.split(","):
        term, separator, value = (piece.strip() for piece in part.partition("="))
        if not separator or term not in TERMS:
            raise UsageError(
                f"{part.strip()!r} in the SLO {text!r} is no term; write for example ttft=2s,tpot=50ms,e2e=30s, "
                f"or one of MLPerf's presets: {', '.join(PRESETS)}",
                option="slo",
                value=text,
            )
        if f"{term}_ns" in limits:
            raise UsageError(f"the SLO {text!r} limits {term} twice", option="slo", value=text)
        limits[f"{term}_ns"] = duration_ns(value)
    return Slo(name, where, **limits)


def slo_goal(slo: str | Slo | SloSet | Mapping[str, Any]) -> SloSet:
    """An objective in any of its forms: text, one class, classes, or their plain values. Raises `UsageError`."""
    if isinstance(slo, str):
        slo = parsed_slo(slo)
    if isinstance(slo, Slo):
        slo = SloSet((slo,))
    return slo if isinstance(slo, SloSet) else slo_set(slo)


def duration_ns(text: str) -> int:
    """Whole nanoseconds of a duration such as `50ms` or `2s`. Raises `UsageError`."""
    match = _DURATION.fullmatch(text.strip().lower())
    if match is None or match[2] not in _UNITS_NS:
        raise UsageError(
            f"{text!r} is no duration; write a number and a unit: {', '.join(_UNITS_NS)}", option="slo", value=text
        )
    value = Fraction(match[1]) * _UNITS_NS[match[2]]
    if value.denominator != 1 or not 0 < value <= _LONGEST_NS:
        raise UsageError(
            f"{text!r} is no duration that can be a limit: it must be whole nanoseconds above zero",
            option="slo",
            value=text,
        )
    return int(value)


def slo_file(path: Path) -> SloSet:
    """The classes of a TOML file; see `slo_set`. Raises `UsageError` where it cannot be read or understood."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"cannot read the SLO file {path}: {error}") from error
    return slo_set(content, source=str(path))


def slo_set(content: Mapping[str, Any], *, source: str = "the SLO") -> SloSet:
    """The classes that plain values tell, as an SLO file does; `source` names them in messages. Raises `UsageError`.

    `objective` is the share that should be good. Each table of the array `class` has `slo` (as on the command line),
    and optionally `name`, and `where` (a condition over the view `units`) or `match` (columns or attributes of units
    with the value that they must have); without either the class takes all that no class before it took.
    """
    _refuse_unknown(content, ("objective", "class"), where=source)
    tables = content.get("class")
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{source} has no class; write a table [[class]] with slo = 'ttft=2s' for each", option="slo")
    classes = tuple(_class(table, number, source) for number, table in enumerate(tables, 1))
    return SloSet(classes, checked_objective(content.get("objective", DEFAULT_OBJECTIVE)))


def checked_objective(value: object) -> float:
    """The share that should be good. Raises `UsageError` where it is not above 0 and below 1."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < 1:
        raise UsageError(
            f"the objective {value!r} is no share; give a number between 0 and 1, for example 0.99",
            option="objective",
            value=str(value),
        )
    return float(value)


def _class_values(one: Slo) -> dict[str, str]:
    terms = ",".join(f"{term}={limit}ns" for term, limit in one.limits_ns.items())
    return {"name": one.name, "slo": terms} | ({} if one.where is None else {"where": one.where})


def _preset(name: str) -> dict[str, int]:
    if name == "gpt-j":
        return {"e2e_ns": 20 * _UNITS_NS["s"]}
    ttft_ms, tpot_ms = _PRESETS_MS[name]
    return {"ttft_ns": ttft_ms * _UNITS_NS["ms"], "tpot_ns": tpot_ms * _UNITS_NS["ms"]}


def _class(table: dict[str, Any], number: int, source: str) -> Slo:
    place = f"class {number} of {source}"
    _refuse_unknown(table, ("name", "slo", "where", "match"), where=place)
    where, match, slo = table.get("where"), table.get("match"), table.get("slo")
    if not isinstance(slo, str):
        raise UsageError(f"{place} has no slo; write for example slo = 'ttft=2s,tpot=50ms'", option="slo")
    if where is not None and match is not None:
        raise UsageError(f"{place} has both where and match; keep one", option="where")
    if match is not None:
        where = _matching(match, place)
    if where is not None and not isinstance(where, str):
        raise UsageError(f"{place}: where must be a text, a condition over the view `units`", option="where")
    return parsed_slo(slo, name=str(table.get("name", f"class {number}")), where=where)


def _matching(match: object, place: str) -> str:
    if not isinstance(match, Mapping) or not match:
        raise UsageError(f"{place}: match must be a table, for example match = {{ model = 'llama' }}", option="match")
    return " AND ".join(f"{_column(str(key))} = {_literal(value)}" for key, value in match.items())


_UNIT_COLUMNS = ("service_name", "name", "model", "vantage")


def _column(key: str) -> str:
    return key if key in _UNIT_COLUMNS else f"attributes[{_literal(key)}]::VARCHAR"


def _literal(value: object) -> str:
    return "'" + str(value).replace("'", "''") + "'"


def _refuse_unknown(table: Mapping[str, Any], known: Sequence[str], *, where: str) -> None:
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise UsageError(f"{where}: {unknown[0]!r} is unknown; there are {', '.join(known)}")
