"""One answer against its truth: a row of figures."""

from __future__ import annotations

from typing import Any

import polars as pl

from generators.spans import Emission
from tests.accuracy.effects import Effect, effect, misplaced_share
from tests.accuracy.runs import Played
from tracekit.analysis import TailAnswer, tail
from tracekit.schema import Metric
from tracekit.store import Database

DEEPEST = 5
"""Ranks that accuracy is averaged over."""

QUESTIONS: dict[str, float | None] = {"mean": 0.0, "tail": None}
"""All requests of the window against all before, and the slowest of both at the quantile tracekit chooses."""

ALARMS = ("excess_explained", "excess_unattributed", "excess_spread", "stage_slower")
"""Verdicts that say that something became slower beyond chance, load and mix."""


def scored(played: Played, emission: Emission, database: Database, metric: Metric) -> list[dict[str, Any]]:
    """One row a question: what the answer says, and how far it is right."""
    window, before = played.conditions()
    misplaced = misplaced_share(played, emission, database)
    rows = []
    for name, quantile in QUESTIONS.items():
        answer = tail(database, metric, quantile=quantile, where=window, baseline=before)
        truth = effect(played, metric, quantile=answer.quantile)
        told = {"question": name, "metric": metric, "misplaced": misplaced, **said(answer)}
        rows.append(told | ranked(answer, truth) | measured(answer, truth) | held(answer, truth))
    return rows


def said(answer: TailAnswer) -> dict[str, Any]:
    """What the answer concludes, and the error of its sum in nanoseconds."""
    return {
        "units": answer.count,
        "quantile": answer.quantile,
        "verdict": answer.verdict,
        "evidence": answer.evidence.verdict,
        "method": answer.method,
        "is_alarm": answer.verdict in ALARMS,
        "sum_error_ns": abs(int(answer.stages["excess_ns"].sum()) - answer.excess_ns),
    }


def ranked(answer: TailAnswer, truth: Effect) -> dict[str, Any]:
    """Whether the stages that the fault strikes are ranked first, and what a random order would do.

    `ac<k>` is the share of the struck stages among the first k, of as many as fit there. A refused answer ranks
    nothing. `detected`: a struck stage is more than chance, and the verdict says that something is slower.
    `time_first`: the stage with the largest true effect, struck or downstream, is ranked first.
    """
    order = named(answer)
    certain = set(answer.stages.filter(pl.col("significant") & (pl.col("excess_ns") > 0))["stage"])
    row: dict[str, Any] = {f"ac{k}": within(order, truth.answers, k) for k in range(1, DEEPEST + 1)}
    chance = [min(k / max(len(order), 1), 1.0) for k in range(1, DEEPEST + 1)]
    fitting = [min(k, len(truth.answers)) or 1 for k in range(1, DEEPEST + 1)]
    by_chance = [p * len(truth.answers) / fit for p, fit in zip(chance, fitting, strict=True)]
    return row | {
        "answers": ", ".join(truth.answers),
        "first": order[0] if order else "",
        "has_answer": bool(truth.answers),
        "chance1": min(by_chance[0], 1.0),
        "detected": answer.verdict in ALARMS and bool(certain & set(truth.answers)),
        "time_first": bool(order) and order[0] == max(truth.stage_ns, key=lambda stage: truth.stage_ns[stage]),
    }


def named(answer: TailAnswer) -> list[str]:
    """Stages in the order in which the answer names them: the largest excess first.

    Where the whole could be chance it names those that are slower beyond it first. A refused answer names none.
    """
    if answer.verdict == "refused":
        return []
    if answer.verdict != "stage_slower":
        return answer.stages["stage"].to_list()
    is_certain = pl.col("significant") & (pl.col("excess_ns") > 0)
    return answer.stages.sort(is_certain, "excess_ns", descending=True, maintain_order=True)["stage"].to_list()


def within(order: list[str], answers: list[str], k: int) -> float:
    """Share of the answers among the first k of an order, of as many as fit."""
    fitting = min(k, len(answers))
    return len(set(order[:k]) & set(answers)) / fitting if fitting else 0.0


def measured(answer: TailAnswer, truth: Effect) -> dict[str, float | None]:
    """How much of the excess the answer gives to the struck stages, and how far that is from their true effect."""
    given = dict(answer.stages.select("stage", "excess_ns").iter_rows())
    attributed = sum(given.get(stage, 0) for stage in truth.answers)
    real = sum(truth.stage_ns[stage] for stage in truth.answers)
    return {
        "true_ns": real,
        "attributed_ns": float(attributed),
        "error": abs(attributed - real) / real if real else None,
        "share": attributed / answer.excess_ns if answer.excess_ns > 0 else None,
        "true_share": real / truth.total_ns if truth.total_ns > 0 else None,
    }


def held(answer: TailAnswer, truth: Effect) -> dict[str, int]:
    """Intervals that hold the true effect on these requests, over all stages and over the struck ones."""
    bounded = answer.stages.filter(pl.col("low_ns").is_not_null() & (pl.col("high_ns") > pl.col("low_ns")))
    real = pl.Series([truth.stage_ns.get(stage, 0.0) for stage in bounded["stage"]], dtype=pl.Float64)
    holds = (bounded["low_ns"] <= real) & (real <= bounded["high_ns"])
    is_struck = bounded["stage"].is_in(truth.answers)
    return {
        "intervals": len(bounded),
        "held": int(holds.sum()),
        "struck_intervals": int(is_struck.sum()),
        "struck_held": int((holds & is_struck).sum()),
    }
