"""Do intervals hold what they promise in the second world? Many runs, judged without a store in between.

    python -m tests.accuracy.second_world_intervals [--runs N] [--rows FILE]

Requests of the second world become the arrays that the tail question compares, cohorts and judges are its own
(`Layout`, `judge`, `judge_like`). Each run with a fault gives, for the struck stage, whether the 95 % interval holds
what the fault did; each healthy run, whether any stage or the whole is called longer (a false alarm) and how many of
its intervals hold zero.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tests.accuracy.second_world import STAGES, START_NS, Incident, Lived, Setting, lived
from tracekit.analysis import Judgement, Layout, MeasuredUnits, StageSums, chosen_quantile, judge, judge_like

ORDER = sorted(range(len(STAGES)), key=lambda number: STAGES[number])
"""Columns of the world in the order of stage names, as the analysis has them."""

STRUCK = (
    Incident("gw.auth", 3.0),
    Incident("eng.prefill", 0.3, is_factor=True),
    Incident("eng.decode", 0.25, is_factor=True),
    Incident("eng.decode", 0.6, is_factor=True, among="model"),
    Incident("fe.preprocess", 2.0, is_factor=True),
    Incident("gw.ratelimit", 25.0),
    Incident("out.stream", 3.0, among="some", share=0.3),
    Incident("eng.prefill", 0.1, is_factor=True),
)
GEOMETRIES = ((45.0, 25.0), (45.0, 10.0), (60.0, 4.0), (200.0, 4.0), (60.0, 1.0), (250.0, 1.0))
"""Length of the incident in seconds, baseline in lengths of it."""


@dataclass(frozen=True)
class Side:
    """Units of a side by duration, and their stage times in the same order: int64[N, S]."""

    units: MeasuredUnits
    stage_ns: np.ndarray

    @classmethod
    def of(cls, world: Lived, inside: np.ndarray, class_id: np.ndarray) -> Side:
        """The requests of a time, classed as `class_id` says (by all requests)."""
        chosen = np.flatnonzero(inside)
        values = world.stage_ns[chosen].sum(axis=1)
        ordered = chosen[np.lexsort((chosen, values))]
        columns = (world.arrival_ns, world.stage_ns.sum(axis=1), class_id, world.input_tokens, world.output_tokens)
        units = MeasuredUnits(ordered, *(column[ordered] for column in columns))
        return cls(units, world.stage_ns[ordered][:, ORDER])


def sides_of(world: Lived) -> list[Side]:
    """The time of the incident, and the time before it."""
    after = world.arrival_ns >= START_NS + round(1e9 * world.setting.change_s)
    late = after & (world.arrival_ns < START_NS + round(1e9 * world.setting.end_s))
    sizes = [np.floor(np.log2(tokens)).astype(np.int64) for tokens in (world.input_tokens, world.output_tokens)]
    classes = np.unique(np.stack([world.model, *sizes], axis=1), axis=0, return_inverse=True)[1].ravel() + 1
    return [Side.of(world, late, classes), Side.of(world, ~after, classes)]


def asked(sides: list[Side], quantile: float | None) -> tuple[np.ndarray, Judgement, float]:
    """Excess of every stage and of the whole (float64[S + 1]), how it is judged, and the quantile that was taken."""
    units = [side.units for side in sides]
    used = chosen_quantile(units, "selection") if quantile is None else quantile
    layout = Layout.of(units, "selection", quantile=used)
    times = {id(side.units): side.stage_ns for side in sides}
    by_bin, weighted = [], {}
    for number, cohort in enumerate(layout.cohorts):
        rows = times[id(cohort.units)][cohort.positions]
        has_slices = cohort.band is not None or cohort.weights is not None
        height = 1024 if has_slices else int(cohort.bins.max(initial=0)) + 1
        by_bin.append(_sums(cohort.bins, rows, height).astype(np.int64))
        if cohort.weights is not None:
            weighted[number] = _sums(cohort.bins, rows * cohort.weights[:, None], height)
    sums = StageSums([STAGES[number] for number in ORDER], by_bin, [], weighted)
    judgement = judge_like(judge(sums, layout.cohorts, layout.edges, middles=layout.levels["body"]), layout, sums, used)
    means = [sums.total_ns(number) / max(layout.cohorts[number].count, 1) for number in range(2)]
    excess = means[0] - means[1]
    return np.append(excess, excess.sum()), judgement, used


def _sums(bins: np.ndarray, rows: np.ndarray, height: int) -> np.ndarray:
    return np.stack([np.bincount(bins, column, minlength=height) for column in rows.T], axis=1)


def runs(count: int, first: int = 0) -> Iterator[Setting]:
    """Every geometry in turn, with every fault in turn."""
    for number in range(first, first + count):
        window_s, times = GEOMETRIES[number % len(GEOMETRIES)]
        turn = number // len(GEOMETRIES)
        incident = STRUCK[turn % len(STRUCK)]
        swing, slots = (0.0, 0.3, 0.5)[number % 3], 1 + number % 2
        yield Setting(7000 + number, window_s, times, 5.0, incident, swing=swing, slots=slots)


def scored(setting: Setting) -> list[dict[str, Any]]:
    """Rows of a run: for means and tails, with the fault and without it."""
    struck = lived(setting)
    healthy = Lived(**{**vars(struck), "stage_ns": struck.healthy_ns})
    rows = []
    for question, quantile in (("mean", 0.0), ("tail", None)):
        label = {"question": question, "times": setting.baseline_times, "window_s": setting.window_s}
        label |= {"swing": setting.swing, "stage": setting.incident.stage, "seed": setting.seed}
        excess, judgement, used = asked(sides_of(struck), quantile)
        rows.append(label | _of_struck(struck, excess, judgement, used))
        excess, judgement, _ = asked(sides_of(healthy), quantile)
        rows.append(label | {"is_healthy": True} | _of_healthy(excess, judgement))
    return rows


def _of_struck(world: Lived, excess: np.ndarray, judgement: Judgement, quantile: float) -> dict[str, Any]:
    truth = world.effect_ns("e2e", quantile)
    name = world.setting.incident.stage or ""
    column = [STAGES[number] for number in ORDER].index(name)
    row: dict[str, Any] = {"is_healthy": False, "method": judgement.method, "quantile": quantile}
    if judgement.uncertainty is None:
        return row
    low, high = judgement.uncertainty.intervals(excess)
    return row | {
        "covered": bool(low[column] <= truth[name] <= high[column]),
        "too_high": bool(low[column] > truth[name]),
        "zero_width": bool(low[column] == high[column]),
        "width": float(high[column] - low[column]) / max(truth[name], 1.0),
        "error": float(excess[column] - truth[name]) / max(truth[name], 1.0),
        "detected": bool(judgement.uncertainty.exceeds(excess)[column]),
    }


def _of_healthy(excess: np.ndarray, judgement: Judgement) -> dict[str, Any]:
    if judgement.uncertainty is None or judgement.deciding is None:
        return {"method": judgement.method}
    low, high = judgement.uncertainty.intervals(excess)
    flagged = judgement.uncertainty.exceeds(excess) & (excess > 0)
    return {
        "method": judgement.method,
        "alarm": bool(flagged.any()),
        "alarming": ", ".join(np.array([*(STAGES[n] for n in ORDER), "whole"])[flagged]),
        "held": float(((low <= 0) & (high >= 0)).mean()),
    }


def table(rows: pl.DataFrame) -> pl.DataFrame:
    """Figures by question and length of the baseline."""
    struck, healthy = pl.col("is_healthy").not_(), pl.col("is_healthy")
    return rows.group_by("question", "times", maintain_order=True).agg(
        runs=struck.sum(),
        judged=pl.col("covered").is_not_null().sum(),
        covered=pl.col("covered").mean(),
        too_high=pl.col("too_high").mean(),
        zero_width=pl.col("zero_width").mean(),
        width=pl.col("width").median(),
        detected=pl.col("detected").mean(),
        alarms=pl.col("alarm").filter(healthy).mean(),
        held=pl.col("held").filter(healthy).mean(),
    ).sort("question", "times")  # fmt: skip


def main() -> None:
    """Play, judge, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=120)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rows", type=Path)
    options = parser.parse_args()
    rows = [row for setting in runs(options.runs, options.first) for row in scored(setting)]
    if options.rows:
        options.rows.write_text(json.dumps(rows), encoding="utf-8")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, float_precision=3, tbl_width_chars=200):
        print(table(pl.DataFrame(rows, infer_schema_length=None)))


if __name__ == "__main__":
    main()
