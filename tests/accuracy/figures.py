"""From rows of the suite to the figures of its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tests.accuracy.jobs import Rows
from tests.accuracy.scores import DEEPEST
from tests.accuracy.second_world_scores import CALM, CLEAR

_RANKED = pl.col("has_answer")


@dataclass(frozen=True)
class Target:
    """What the suite wants of a figure, and what came out."""

    name: str
    wanted: str
    got: float
    is_met: bool
    unit: str = ""


def accuracy(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Accuracy of answers by group, in order of first appearance; only rows whose metric the fault made worse.

    Columns: the group, `count`, `ac1`, `ac3`, `avg5`, `chance` (AC@1 of a random order), `lift` (AC@1 over it),
    `detected`, `time_first`, `error` and `error_p90` (of the attributed time), `share` and `true_share` (medians),
    `misplaced`, `refused`.
    """
    return (
        rows.filter(_RANKED)
        .group_by(by, maintain_order=True)
        .agg(
            count=pl.len(),
            ac1=pl.col("ac1").mean(),
            ac3=pl.col("ac3").mean(),
            avg5=pl.mean_horizontal(pl.col(f"ac{k}") for k in range(1, DEEPEST + 1)).mean(),
            chance=pl.col("chance1").mean(),
            lift=pl.col("ac1").mean() / pl.col("chance1").mean(),
            detected=pl.col("detected").mean(),
            time_first=pl.col("time_first").mean(),
            error=pl.col("error").median(),
            error_p90=pl.col("error").quantile(0.9, interpolation="linear"),
            share=pl.col("share").median(),
            true_share=pl.col("true_share").median(),
            misplaced=pl.col("misplaced").mean(),
            refused=(pl.col("verdict") == "refused").mean(),
        )
    )


def alarms(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """False alarms by group, with the other verdicts: `questions`, `alarms`, `share`, `verdicts`."""
    return rows.group_by(by, maintain_order=True).agg(
        questions=pl.len(),
        alarms=pl.col("is_alarm").sum(),
        share=pl.col("is_alarm").mean(),
        verdicts=pl.col("verdict").value_counts(sort=True),
    )


def coverage(rows: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Intervals that hold the truth by group: `intervals`, `held` (a share), and of the struck stages alone."""
    sums = [pl.col(name).sum() for name in ("intervals", "held", "struck_intervals", "struck_held")]
    return (
        rows.filter(pl.col("intervals") > 0)
        .group_by(by, maintain_order=True)
        .agg(*sums)
        .with_columns(
            held=pl.col("held") / pl.col("intervals"),
            struck_held=pl.when(pl.col("struck_intervals") > 0).then(
                pl.col("struck_held") / pl.col("struck_intervals")
            ),
        )
    )


def frame(rows: Rows) -> pl.DataFrame:
    """Rows of one table as a frame."""
    return pl.DataFrame(rows, infer_schema_length=None)


def targets(tables: dict[str, Rows]) -> list[Target]:
    """The targets of the suite and what came out."""
    clean = pl.concat([frame(tables["faults"]), frame(tables["delays"])])
    defects = accuracy(frame(tables["defects"]).filter(pl.col("defect") != "clean"), ["defect"])
    error = clean.filter(_RANKED, pl.col("question") == "mean")["error"]
    none_wrong = [frame(tables[name]) for name in ("healthy", "changes")]
    pooled = (
        pl.concat([part.select("label", "is_alarm") for part in none_wrong])
        .group_by("label")
        .agg(pl.col("is_alarm").mean())
    )
    held = clean.select(pl.col("held").sum() / pl.col("intervals").sum()).item()
    exact = frame(tables["stragglers"])["is_exact"].mean()
    every = [row["sum_error_ns"] for rows in tables.values() for row in rows if "sum_error_ns" in row]
    return [
        _at_most("largest error of a sum", max(every), 0, unit="ns"),
        _at_least("AC@1, clean", _mean(clean, "ac1"), 0.95),
        _at_least("AC@1, worst single defect", _least(defects, "ac1"), 0.80),
        _at_most("error of the attributed time, median", _number(error.median()), 0.05),
        _at_most(
            "error of the attributed time, 90th percentile", _number(error.quantile(0.9, interpolation="linear")), 0.15
        ),
        *(_at_most(f"false alarms, {label}", share, 0.05) for label, share in sorted(pooled.iter_rows())),
        Target("intervals that hold the truth", "93 to 97 %", held, 0.93 <= held <= 0.97, "%"),
        _at_least("straggler culprits exact", _number(exact), 0.95),
        *_outcome_targets(tables),
        *_second_world_targets(tables),
    ]


def _second_world_targets(tables: dict[str, Rows]) -> list[Target]:
    """The struck stage first in table and sentence, alarms where nothing is slower, intervals of the struck stage."""
    rows, intervals = frame(tables["second_world"]), frame(tables["second_intervals"])
    asked = rows.filter(pl.col("question").is_in(["mean", "tail", "plain"]))
    clear = asked.filter((pl.col("z") >= CLEAR) & pl.col("struck_is_largest"))
    families = {"faults": (0.98, 0.95), "faults_http": (0.95, 0.90), "plain": (0.90, 0.90)}
    found = [
        _at_least(
            f"second world, {name}, struck first in {column}", _mean_of(clear.filter(family=name), column), wanted
        )
        for name, levels in families.items()
        for column, wanted in zip(("table", "sentence"), levels, strict=True)
    ]
    found += [
        _at_most(f"second world, false alarms, {name}", _mean_of(asked.filter(family=name), "alarm"), 0.05)
        for name in CALM
    ]
    held = {name: _mean_of(intervals.filter(question=name), "covered") for name in ("mean", "tail")}
    return found + [
        Target(f"second world, intervals of the struck stage, {name}", "93 to 97 %", got, 0.93 <= got <= 0.97, "%")
        for name, got in held.items()
    ]


def _outcome_targets(tables: dict[str, Rows]) -> list[Target]:
    """Buckets, first causes, misses by stage, comparisons."""
    outcomes, dialects, compared = (frame(tables[name]) for name in ("outcomes", "outcome_dialects", "compared"))
    both = pl.concat([outcomes, dialects])
    healthy, slower = (compared.filter(factor=factor) for factor in (1.0, 1.1))
    return [
        _at_most("requests in a wrong bucket", _number(outcomes["wrong_buckets"].sum()), 0, unit="requests"),
        _at_least("first causes right", _number(both["causes_right"].sum() / both["lost"].sum()), 0.98),
        _at_most("misses by stage, largest error", _number(outcomes["stage_error"].max()), 0.02),
        _at_most("compare, false alarms", _mean_of(healthy, "is_alarm"), 0.05),
        _at_least("compare, a stage 10 % slower found", _mean_of(slower, "is_found"), 0.95),
    ]


def _mean_of(rows: pl.DataFrame, column: str) -> float:
    return _number(rows[column].mean())


def _mean(rows: pl.DataFrame, column: str) -> float:
    return _number(rows.filter(_RANKED)[column].mean())


def _least(rows: pl.DataFrame, column: str) -> float:
    return _number(rows[column].min())


def _number(value: Any) -> float:
    return float(value)


def _at_least(name: str, got: float, wanted: float) -> Target:
    return Target(name, f"at least {wanted:.2f}", got, got >= wanted)


def _at_most(name: str, got: float, wanted: float, *, unit: str = "%") -> Target:
    shown = f"at most {100 * wanted:.0f} %" if unit == "%" else f"{wanted:.0f} {unit}"
    return Target(name, shown, got, got <= wanted, unit)
