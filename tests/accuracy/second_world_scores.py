"""Tail, compare and plain questions over the second world, scored by table, sentence and verdict.

    python -m tests.accuracy.second_world_scores [--family NAME ...] [--seeds N] [--first SEED] [--rows FILE]

Each setting is played once, with and without its incident, and the store is asked what somebody would ask. A fault is
*clear* where its true effect on the mean of the struck stage is at least `CLEAR` standard errors of a difference of
independent requests: below that nobody could tell.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import tracekit as tk
from tests.accuracy.scores import ALARMS
from tests.accuracy.second_world import HTTP_NAMES, STAGES, START_NS, Incident, Lived, Setting, lived, write_spans
from tracekit.analysis import TailAnswer

CLEAR = 5.0
"""Standard errors from which on a fault is clear."""

FAULTS = (
    Incident("gw.auth", 3.0),
    Incident("gw.auth", 1.0, is_factor=True),
    Incident("fe.preprocess", 2.0, is_factor=True),
    Incident("net.dispatch", 3.0, among="some", share=0.2),
    Incident("eng.prefill", 1.0, is_factor=True, among="engine"),
    Incident("eng.prefill", 0.3, is_factor=True),
    Incident("eng.prefill", 3.0, among="tenant"),
    Incident("eng.decode", 0.25, is_factor=True),
    Incident("eng.decode", 1.5, is_factor=True, among="engine"),
    Incident("eng.decode", 0.6, is_factor=True, among="model"),
    Incident("gw.guardrail", 3.0),
    Incident("gw.guardrail", 20.0),
    Incident("out.stream", 3.0, among="some", share=0.3),
    Incident("gw.ratelimit", 25.0),
    Incident("gw.ratelimit", 150.0, among="some", share=0.1),
)
GEOMETRIES = ((45.0, 25.0, 4.0), (45.0, 10.0, 8.0), (100.0, 4.0, 6.0), (250.0, 1.0, 6.0), (1000.0, 1.0, 1.5))
"""Length of the incident in seconds, baseline in lengths of it, requests a second."""

CALM = {"healthy": Incident(), "load": Incident(load=1.7), "mix": Incident(mix=0.8)}


def settings(family: str, seeds: range) -> Iterator[Setting]:
    """The runs of a family: `faults`, `faults_http`, `plain`, `healthy`, `load` or `mix`."""
    for seed in seeds:
        if family.startswith(("faults", "plain")):
            incidents: tuple[Incident, ...] = FAULTS
        else:
            incidents = (CALM[family],)
        for number, incident in enumerate(incidents):
            window_s, times, rate = GEOMETRIES[(number + seed) % len(GEOMETRIES)]
            yield Setting(
                seed=1000 * seed + number,
                window_s=window_s,
                baseline_times=times,
                rate_per_s=rate,
                incident=incident,
                swing=(0.0, 0.3, 0.5)[seed % 3],
                convention=_convention(family, number, seed),
                after_s=0.0 if family != "plain" or seed % 2 else window_s,
                slots=1 + (seed + number) % 2,
            )


def _convention(family: str, number: int, seed: int) -> str:
    """How spans tell the stages: faults as the family says, plain questions by turns, calm runs every third by HTTP."""
    if family == "plain":
        return "http" if number % 2 else "stages"
    is_http = family.endswith("http") or (family in CALM and seed % 3 == 1)
    return "http" if is_http else "stages"


def scored(setting: Setting, *, plain: bool) -> list[dict[str, Any]]:
    """Rows of one run: what was asked, what was answered, and whether that is right."""
    world = lived(setting)
    label = {
        "seed": setting.seed, "stage": setting.incident.stage, "among": setting.incident.among,
        "window_s": setting.window_s, "times": setting.baseline_times, "convention": setting.convention,
        "requests": len(world.arrival_ns),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, tk.open(None) as store:
        store.ingest(write_spans(world, Path(folder) / "spans.jsonl"))
        if plain:
            return [label | {"question": "plain"} | judged(world, store.tail("e2e"), quantile=None)]
        window, before = setting.conditions()
        asked = {name: store.tail("e2e", quantile=q, where=window, baseline=before) for name, q in QUESTIONS.items()}
        rows = [label | {"question": name} | judged(world, answer, quantile=answer.quantile)
                for name, answer in asked.items()]  # fmt: skip
        rows.append(label | {"question": "compare"} | compared(world, store.compare(before, window)))
        if setting.incident.stage is None:
            rows.append(label | {"question": "plain"} | judged(world, store.tail("e2e"), quantile=None))
        return rows


QUESTIONS: dict[str, float | None] = {"mean": 0.0, "tail": None}


def judged(world: Lived, answer: TailAnswer, *, quantile: float | None) -> dict[str, Any]:
    """One answer against the truth; a plain one by the time that it found."""
    row: dict[str, Any] = {
        "verdict": answer.verdict,
        "method": answer.method,
        "alarm": answer.verdict in ALARMS and (plain_change(answer) or answer.comparison == "selection"),
        "is_other_mix": answer.is_other_mix,
        "blocks": min(answer.block_counts, default=0),
        "summary": answer.summary,
        "change_ok": _change_is_right(world, answer),
        "contradictions": contradictions(answer),
    }
    stage = world.setting.incident.stage
    if stage is None:
        held, bounded = _zeros_held(answer)
        return row | {"held": held, "bounded": bounded}
    truth = world.effect_ns("e2e", quantile or 0.0)
    name = world.name(stage)
    told = answer.stages.filter(stage=name)
    low, high = (told[0, "low_ns"], told[0, "high_ns"]) if len(told) else (None, None)
    who = world.struck_value
    return row | {
        "z": clearness(world, stage),
        "share": truth[name] / max(float(answer.baseline_mean_ns), 1.0),
        "struck_is_largest": name == max(truth, key=lambda one: truth[one]),
        "table": _first(answer) == name,
        "sentence": first_named(world, answer.summary) == name and answer.verdict not in ("no_excess", "improved"),
        "who": None if who is None else who in answer.summary,
        "who_listed": None if who is None else who in answer.differences["value"].to_list(),
        "low": low,
        "high": high,
        "effect": truth[name],
        "covered": None if low is None else bool(low <= truth[name] <= high),
        "zero_width": None if low is None else high == low,
    }


def contradictions(answer: TailAnswer) -> list[str]:
    """Where the sentence, the verdict and the table of an answer do not say the same, in words; none should."""
    text, verdict, is_alarm = answer.summary, answer.verdict, answer.verdict in ALARMS
    names = answer.stages["stage"].to_list()
    told = min((name for name in names if name in text), key=text.find, default=None)
    found = {
        "the verdict is that nothing is slower, the sentence that something is":
            verdict in ("no_excess", "mix_not_slowness") and "more than chance makes" in text,
        "the verdict is that something is slower, the sentence that nothing is":
            is_alarm and ("no excess to explain" in text or "mix, not slowness" in text),
        "the first stage of the sentence is not that of the table": verdict == "excess_explained" and told != names[0],
        "the stages do not sum to the whole": answer.stages["excess_ns"].sum() != answer.excess_ns,
    }  # fmt: skip
    for row in answer.stages.drop_nulls("low_ns").iter_rows(named=True):
        holds_zero = row["low_ns"] <= 0 <= row["high_ns"]
        found |= {
            f"{row['stage']} lies outside of its interval": not row["low_ns"] <= row["excess_ns"] <= row["high_ns"],
            f"{row['stage']} is beyond chance, and its interval holds zero":
                bool(row["significant"]) and holds_zero and not answer.is_other_mix,
        }  # fmt: skip
    return [words for words, is_so in found.items() if is_so]


def plain_change(answer: TailAnswer) -> bool:
    """Whether a time was found in which the store is slower; slow ones against their own middle accuse nobody."""
    return answer.change_start_ns is not None


def compared(world: Lived, answer: Any) -> dict[str, Any]:
    """What `compare` says of the end-to-end time."""
    stage = world.setting.incident.stage
    row: dict[str, Any] = {
        "verdict": answer.verdict,
        "alarm": answer.verdict in ("regressed", "mixed", "stage_slower"),
        "summary": answer.summary,
        "blocks": min(answer.block_counts, default=0),
    }
    if stage is None:
        return row
    name, truth = world.name(stage), world.effect_ns("e2e", 0.0)
    rows = answer.stages.filter(metric="e2e")
    grown = rows.filter(pl.col("excess_ns") > 0)
    told = rows.filter(stage=name)
    low, high = (told[0, "low_ns"], told[0, "high_ns"]) if len(told) else (None, None)
    return row | {
        "z": clearness(world, stage),
        "table": len(grown) > 0 and grown[0, "stage"] == name,
        "sentence": first_named(world, answer.summary) == name,
        "struck_is_largest": name == max(truth, key=lambda one: truth[one]),
        "covered": None if low is None else bool(low <= truth[name] <= high),
    }


def clearness(world: Lived, stage: str) -> float:
    """The true effect on the mean of a stage in standard errors of a difference of independent requests."""
    late = world.arrival_ns >= START_NS + round(1e9 * world.setting.change_s)
    late &= world.arrival_ns < START_NS + round(1e9 * world.setting.end_s)
    own = world.healthy_ns[:, STAGES.index(stage)]
    error = np.sqrt(own[late].var() / max(late.sum(), 1) + own[~late].var() / max((~late).sum(), 1))
    return float(world.effect_ns("e2e", 0.0)[world.name(stage)] / error)


def first_named(world: Lived, text: str) -> str | None:
    """The stage that a text names first."""
    names = HTTP_NAMES.values() if world.setting.convention == "http" else STAGES
    places = {name: text.find(name) for name in names if name in text}
    return min(places, key=lambda name: places[name]) if places else None


def _first(answer: TailAnswer) -> str | None:
    return answer.stages[0, "stage"] if len(answer.stages) else None


def _change_is_right(world: Lived, answer: TailAnswer) -> bool | None:
    """Whether the time that was found is, for more than half of either, that of the incident."""
    if answer.change_start_ns is None or answer.change_end_ns is None:
        return None
    begin, end = (START_NS + round(1e9 * moment) for moment in (world.setting.change_s, world.setting.end_s))
    common = min(end, answer.change_end_ns) - max(begin, answer.change_start_ns)
    return bool(common > max(end - begin, answer.change_end_ns - answer.change_start_ns) / 2)


def _zeros_held(answer: TailAnswer) -> tuple[int, int]:
    bounded = answer.stages.filter(pl.col("low_ns").is_not_null())
    return bounded.filter((pl.col("low_ns") <= 0) & (pl.col("high_ns") >= 0)).height, bounded.height


def table(rows: pl.DataFrame) -> pl.DataFrame:
    """Figures by family and question; faults that are clear, and all of them for coverage."""
    clear = (pl.col("z") >= CLEAR) & pl.col("struck_is_largest") if "z" in rows.columns else pl.lit(False)
    kept = {
        name: pl.col(name) for name in ("table", "sentence", "who", "covered", "zero_width") if name in rows.columns
    }
    figures = {
        name: column.filter(clear).mean() if name in ("table", "sentence", "who") else column.mean()
        for name, column in kept.items()
    }
    return rows.group_by("family", "question", maintain_order=True).agg(
        count=pl.len(), clear=clear.sum(), alarms=pl.col("alarm").mean(), **figures
    )


def main() -> None:
    """Play, ask, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = ["faults", "faults_http", "plain", *CALM]
    parser.add_argument("--family", nargs="+", choices=names, default=names)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--rows", type=Path)
    asked = parser.parse_args()
    found: list[dict[str, Any]] = []
    for family in asked.family:
        seeds = range(asked.first, asked.first + asked.seeds * (1 if family not in CALM else 8))
        for setting in settings(family, seeds):
            found += [{"family": family} | row for row in scored(setting, plain=family == "plain")]
        if asked.rows:
            asked.rows.write_text(json.dumps(found), encoding="utf-8")
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_dataframe_shape=True, float_precision=3):
        print(table(pl.DataFrame(found, infer_schema_length=None)))


if __name__ == "__main__":
    main()
