"""A tail answer in one short line: which stage, whose, and how much; the summary says how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.analysis import TailAnswer, clear_differences, clear_whose, slower_stages
from tracekit.schema import UnitKind
from tracekit.wording.metrics import METRIC_NAMES
from tracekit.wording.numbers import difference_text, duration_text
from tracekit.wording.tail import named_causes

_NAMED = 2
_METRIC_NAMES: Mapping[str, str] = METRIC_NAMES  # type: ignore[assignment]
_LEAST_SHARE = 0.1


def tail_headline(answer: TailAnswer) -> str:
    """The stages with most of the excess, whose units they are slow in, and the excess itself."""
    verdict = answer.verdict
    if verdict in ("no_units", "refused"):
        return answer.summary
    took = f"{_METRIC_NAMES[answer.metric]} {duration_text(answer.tail_mean_ns)}"
    against = f"instead of {duration_text(answer.baseline_mean_ns)}"
    if verdict == "no_excess":
        return f"No excess to explain: {took} {against}."
    slower = slower_stages(answer) if verdict == "stage_slower" else pl.DataFrame()
    if len(slower):
        return f"{'; '.join(_slower(row, answer) for row in slower.head(_NAMED).iter_rows(named=True))}."
    return f"{_stages(answer)}: {took} {against} ({difference_text(answer.excess_ns)})."


def _slower(row: dict[str, Any], answer: TailAnswer) -> str:
    each, before = (duration_text(row[f"{side}_mean_ns"]) for side in ("tail", "baseline"))
    return f"{row['stage']}{_whose(row['stage'], answer)}: {each} instead of {before}"


def _stages(answer: TailAnswer) -> str:
    """The largest parts of the excess, each with its share where shares mean something."""
    whole_ns = answer.excess_ns
    parts = [(words, ns) for words, ns in named_causes(answer) if ns * whole_ns > 0]
    parts = [part for part in parts if abs(part[1]) >= _LEAST_SHARE * abs(whole_ns)][:_NAMED]
    if not parts:
        return "No single stage"
    return ", ".join(_part(words, ns, whole_ns, answer) for words, ns in parts)


def _part(words: str, ns: int, whole_ns: int, answer: TailAnswer) -> str:
    stage = words.split(" on ", 1)[0]
    share = f" {ns / whole_ns:.0%}" if abs(ns) <= abs(whole_ns) else ""
    return f"{words}{_whose(stage, answer)}{share}"


def _whose(stage: str, answer: TailAnswer) -> str:
    """Who has the excess of a stage, where that is clear."""
    for row in clear_whose(answer.whose).filter(stage=stage).head(1).iter_rows(named=True):
        return f" with {row['dimension']} {row['value']!r}"
    if answer.unit == UnitKind.STEP:
        return ""
    for row in clear_differences(answer).head(1).iter_rows(named=True):
        return f" with {row['dimension']} {row['value']!r}"
    return ""
