"""The page docs/accuracy.md: tables of the suite between words that are written by hand."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from string import Template
from typing import Any

import polars as pl

from tests.accuracy import figures, outside, second_world_intervals, second_world_scores
from tests.accuracy.grid import FAULTS, FULL
from tests.accuracy.jobs import Rows

TEMPLATE = Path(__file__).with_name("accuracy.md")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"

Cell = Callable[[Any], str]


def page(tables: dict[str, Rows], *, seeds: Sequence[int]) -> str:
    """The page with the figures of these tables."""
    sections = {name: section(tables) for name, section in SECTIONS.items()}
    settings = {
        "seeds": ", ".join(map(str, seeds)),
        "window": f"{FULL.window_s:.0f}",
        "baseline": f"{FULL.baseline_s:.0f}",
        "revision": _revision(),
    }
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(sections | settings)


def _revision() -> str:
    """Which code measured: later code may answer better or worse."""
    told = subprocess.run(
        ["git", "log", "-1", "--format=revision %h, %as"], cwd=PAGE.parent, capture_output=True, text=True, check=False
    )
    return told.stdout.strip() or "an unknown revision"


def table(rows: pl.DataFrame, columns: dict[str, tuple[str, Cell]]) -> str:
    """A Markdown table: of each column its heading and how a value is written."""
    heads = [head for head, _ in columns.values()]
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    cells = ([write(row[name]) for name, (_, write) in columns.items()] for row in rows.iter_rows(named=True))
    return "\n".join([*lines, *("| " + " | ".join(line) + " |" for line in cells)])


def text(value: Any) -> str:
    """As it is; nothing for None."""
    return "" if value is None else str(value).replace("|", "\\|")


def share(value: float | None) -> str:
    """A share between 0 and 1 with two digits."""
    return "" if value is None else f"{value:.2f}"


def percent(value: float | None) -> str:
    """A share in per cent."""
    return "" if value is None else f"{100 * value:.1f} %"


def times(value: float | None) -> str:
    """A multiple."""
    return "" if value is None else f"{value:.1f}"


def code(value: Any) -> str:
    """In backticks."""
    return f"`{value}`"


def verdicts(counted: Sequence[dict[str, Any]]) -> str:
    """Verdicts with their counts, the most frequent first."""
    ordered = sorted(counted, key=lambda one: (-one["count"], one["verdict"]))
    return ", ".join(f"`{one['verdict']}` {one['count']}" for one in ordered)


_ACCURACY: dict[str, tuple[str, Cell]] = {
    "count": ("answers", text),
    "ac1": ("AC@1", share),
    "ac3": ("AC@3", share),
    "avg5": ("Avg@5", share),
    "chance": ("chance", share),
    "lift": ("lift", times),
    "detected": ("detected", share),
    "error": ("error, median", percent),
    "error_p90": ("p90", percent),
    "share": ("share given", share),
    "true_share": ("true share", share),
}


def _targets(tables: dict[str, Rows]) -> str:
    rows = [
        {"name": one.name, "wanted": one.wanted, "got": _shown(one), "met": "yes" if one.is_met else "**no**"}
        for one in figures.targets(tables)
    ]
    names = {"name": "figure", "wanted": "target", "got": "measured", "met": "met"}
    return table(pl.DataFrame(rows), {name: (head, text) for name, head in names.items()})


def _shown(target: figures.Target) -> str:
    if target.unit == "ns":
        return f"{target.got:.0f} ns"
    return percent(target.got) if target.unit == "%" else share(target.got)


def _faults(tables: dict[str, Rows]) -> str:
    clean = figures.frame(tables["faults"])
    found = figures.accuracy(clean, ["label", "question"])
    metrics = pl.DataFrame({"label": [one.label for one in FAULTS], "metric": [one.metric for one in FAULTS]})
    struck = clean.group_by("label").agg(pl.col("answers").filter(pl.col("answers") != "").mode().first())
    joined = found.join(metrics, on="label", how="left", maintain_order="left").join(
        struck, on="label", how="left", maintain_order="left"
    )
    names: dict[str, tuple[str, Cell]] = {
        "label": ("scenario", code),
        "metric": ("metric", text),
        "answers": ("struck stages", text),
        "question": ("question", text),
    }
    return table(joined, names | _ACCURACY | {"time_first": ("most time first", share)})


def _delays(tables: dict[str, Rows]) -> str:
    rows = figures.frame(tables["delays"]).with_columns(kind=pl.col("label").str.split(" in ").list.first())
    names: dict[str, tuple[str, Cell]] = {"kind": ("delay", text), "question": ("question", text)}
    return table(figures.accuracy(rows, ["kind", "question"]), names | _ACCURACY)


def _defects(tables: dict[str, Rows]) -> str:
    more: dict[str, tuple[str, Cell]] = {"misplaced": ("time misplaced", percent), "refused": ("refused", percent)}
    return table(
        figures.accuracy(figures.frame(tables["defects"]), ["defect"]), {"defect": ("defect", text)} | _ACCURACY | more
    )


def _misses(tables: dict[str, Rows]) -> str:
    rows = figures.frame(tables["faults"] + tables["defects"]).filter(pl.col("has_answer"), pl.col("ac1") < 1)
    found = rows.group_by("label", "question", maintain_order=True).agg(
        pl.len(), pl.col("first").replace("", "(refused)").unique().sort().str.join(", "), pl.col("answers").first(),
        pl.col("defect").unique(maintain_order=True).str.join(", "),
    )  # fmt: skip
    names: dict[str, tuple[str, Cell]] = {
        "label": ("scenario", code), "question": ("question", text), "len": ("misses", text),
        "answers": ("struck", text), "first": ("ranked first instead", text), "defect": ("under", text),
    }  # fmt: skip
    return table(found, names)


def _dialects(tables: dict[str, Rows]) -> str:
    rows = figures.frame(tables["dialects"])
    more: dict[str, tuple[str, Cell]] = {"misplaced": ("time misplaced", percent)}
    found = figures.accuracy(rows, ["dialect"])
    missed = (
        rows.filter(pl.col("has_answer"), pl.col("ac1") < 1)
        .group_by("dialect")
        .agg(pl.col("label").unique(maintain_order=True).str.join(", "))
    )
    joined = found.join(missed, on="dialect", how="left", maintain_order="left")
    names: dict[str, tuple[str, Cell]] = {"dialect": ("dialect", code)}
    return table(joined, names | _ACCURACY | more | {"label": ("first elsewhere", text)})


def _alarms(tables: dict[str, Rows]) -> str:
    rows = figures.frame(tables["healthy"] + tables["changes"])
    names: dict[str, tuple[str, Cell]] = {
        "label": ("scenario", code), "metric": ("metric", text), "question": ("question", text),
        "questions": ("asked", text), "alarms": ("alarms", text), "share": ("share", percent),
        "verdicts": ("verdicts", verdicts),
    }  # fmt: skip
    return table(figures.alarms(rows, ["label", "metric", "question"]), names)


def _coverage(tables: dict[str, Rows]) -> str:
    faults = figures.frame(tables["faults"] + tables["delays"])
    healthy = figures.frame(tables["healthy"]).with_columns(struck_intervals=0, struck_held=0)
    parts = [
        figures.coverage(rows, ["question", "method"]).select(
            pl.lit(name).alias("runs"), "question", "method", "intervals", "held",
            pl.col("struck_intervals").cast(pl.Int64), pl.col("struck_held").cast(pl.Float64),
        )
        for name, rows in (("faults and delays", faults), ("healthy windows", healthy))
    ]  # fmt: skip
    names: dict[str, tuple[str, Cell]] = {
        "runs": ("runs", text), "question": ("question", text), "method": ("chance judged by", text),
        "intervals": ("intervals", text), "held": ("hold the truth", percent),
        "struck_intervals": ("of struck stages", text), "struck_held": ("hold the truth", percent),
    }  # fmt: skip
    return table(pl.concat(parts), names)


def _refusals(tables: dict[str, Rows]) -> str:
    rows = figures.frame(tables["refusals"])
    found = figures.alarms(rows, ["label"]).join(
        rows.group_by("label").agg(pl.col("outcomes_wrong").max()), on="label", maintain_order="left"
    )
    names: dict[str, tuple[str, Cell]] = {
        "label": ("scenario", code), "outcomes_wrong": ("outcomes wrong", text), "questions": ("asked", text),
        "alarms": ("blamed for slowness", text), "verdicts": ("verdicts", verdicts),
    }  # fmt: skip
    return table(found, names)


def _stragglers(tables: dict[str, Rows]) -> str:
    found = (
        figures.frame(tables["stragglers"])
        .group_by("label", "struck", maintain_order=True)
        .agg(pl.len(), pl.col("is_exact").mean(), pl.col("wanted", "named", "right").sum())
    )
    names: dict[str, tuple[str, Cell]] = {
        "label": ("scenario", code), "struck": ("struck", text), "len": ("runs", text), "is_exact": ("exact", share),
        "wanted": ("culprits", text), "named": ("named", text), "right": ("of them right", text),
    }  # fmt: skip
    return table(found, names)


def _ledgers(tables: dict[str, Rows]) -> str:
    found = (
        figures.frame(tables["ledgers"])
        .group_by("label", "defect", maintain_order=True)
        .agg(
            pl.len(),
            pl.col("is_exact").mean(),
            pl.col("leaves", "leaves_wrong", "failures", "found", "false", "hosts_right", "kinds_right").sum(),
            worst=(pl.col("worst_ns").max() / 1e9).round(2),
        )
    )
    names: dict[str, tuple[str, Cell]] = {
        "label": ("scenario", code), "defect": ("defect", text), "len": ("runs", text),
        "is_exact": ("sums exact", share), "leaves": ("leaves", text), "leaves_wrong": ("beyond the bound", text),
        "worst": ("worst, s an accelerator", text), "failures": ("failures", text), "found": ("found", text),
        "false": ("false", text), "hosts_right": ("hosts right", text), "kinds_right": ("kinds right", text),
    }  # fmt: skip
    return table(found, names)


def _what_ifs(tables: dict[str, Rows]) -> str:
    found = (
        figures.frame(tables["serving_whatif"])
        .group_by("label", maintain_order=True)
        .agg(
            pl.col("error").filter(metric="ttft", quantile=0.99).median().alias("ttft"),
            pl.col("error").filter(metric="tpot", quantile=0.99).median().alias("tpot"),
            pl.col("error").filter(metric="e2e", quantile=0.99).median().alias("e2e"),
            pl.col("is_held").mean(),
        )
    )
    names: dict[str, tuple[str, Cell]] = {
        "label": ("pair", text), "ttft": ("p99 of TTFT", percent), "tpot": ("p99 of TPOT", percent),
        "e2e": ("p99 of e2e", percent), "is_held": ("bounds that hold", share),
    }  # fmt: skip
    return table(found, names)


def _quality(tables: dict[str, Rows]) -> str:
    rows = [
        {"defect": row["defect"], "verdict": row["verdict"], "checks": ", ".join(map(code, row["checks"]))}
        for row in tables["quality"]
    ]
    names: dict[str, tuple[str, Cell]] = {
        "defect": ("defect", text), "verdict": ("verdict", text), "checks": ("warnings and errors", text),
    }  # fmt: skip
    return table(pl.DataFrame(rows), names)


def _second_world(tables: dict[str, Rows]) -> str:
    found = second_world_scores.table(figures.frame(tables["second_world"]))
    names: dict[str, tuple[str, Cell]] = {
        "family": ("runs", text), "question": ("question", text), "count": ("asked", text), "clear": ("clear", text),
        "table": ("first in the table", share), "sentence": ("in the sentence", share), "who": ("who is told", share),
        "alarms": ("says slower", percent),
    }  # fmt: skip
    return table(found, names)


def _second_intervals(tables: dict[str, Rows]) -> str:
    found = second_world_intervals.table(figures.frame(tables["second_intervals"]))
    names: dict[str, tuple[str, Cell]] = {
        "question": ("question", text), "times": ("baseline, times the window", times), "runs": ("runs", text),
        "judged": ("with an interval", text), "covered": ("hold the effect", percent),
        "zero_width": ("of no width", percent), "alarms": ("healthy: a stage longer", percent),
        "held": ("healthy: hold zero", percent),
    }  # fmt: skip
    return table(found, names)


def _outside(_: dict[str, Rows]) -> str:
    faults = outside.nezha_rows()
    if not faults:
        return (
            f"Nezha: {outside.NOT_RUN}, the data are absent.\n\nCritical paths: {outside.NOT_RUN}, the data are absent."
        )
    names: dict[str, tuple[str, Cell]] = {
        "selection": ("Nezha, latency faults", text), "faults": ("faults", text), "named": ("first stage", share),
        "ranked first": ("first service", share), "told": ("said to be slower", share),
    }  # fmt: skip
    paths = outside.critical_path_row() or {}
    return table(pl.DataFrame(faults), names) + (
        f"\n\nCritical paths: {paths['met']} of {paths['cases']} published cases to the nanosecond; the others "
        f"({', '.join(paths['not_met'])}) count overlaps twice, which no partition can."
    )


SECTIONS: dict[str, Callable[[dict[str, Rows]], str]] = {
    "targets": _targets, "faults": _faults, "delays": _delays, "defects": _defects, "misses": _misses,
    "dialects": _dialects, "alarms": _alarms, "coverage": _coverage, "refusals": _refusals,
    "stragglers": _stragglers, "ledgers": _ledgers, "what_ifs": _what_ifs, "quality": _quality,
    "second_world": _second_world, "second_intervals": _second_intervals, "outside": _outside,
}  # fmt: skip
