"""A short form of the second world: sentences, verdicts and who is named; bytes that do not depend on arrival."""

from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest

import tracekit as tk
from tests.accuracy.second_world import Incident, Setting, lived, write_spans
from tests.accuracy.second_world_intervals import runs
from tests.accuracy.second_world_intervals import scored as scored_intervals
from tests.accuracy.second_world_scores import scored

SMALL = {"window_s": 45.0, "baseline_times": 4.0, "rate_per_s": 6.0}


@pytest.mark.parametrize("convention", ["stages", "http"])
@pytest.mark.parametrize(
    "incident",
    [
        Incident("gw.auth", 1.0, is_factor=True),
        Incident("eng.prefill", 2.0, is_factor=True, among="engine"),
        Incident("out.stream", 4.0, among="tenant"),
    ],
)
def test_a_struck_stage_is_in_the_first_sentence_with_whose_it_is(incident: Incident, convention: str) -> None:
    """First in the table too, with a verdict that says so; a stage of six milliseconds that takes twelve is told."""
    setting = Setting(seed=7, incident=incident, convention=convention, **SMALL)
    rows = scored(setting, plain=False)
    mean = rows[0]
    assert [row.get("contradictions") for row in rows if row.get("contradictions")] == []
    assert (mean["table"], mean["sentence"], mean["alarm"]) == (True, True, True), mean["summary"]
    assert mean["who"] in (None, True), mean["summary"]


def test_an_incident_is_found_by_a_plain_question() -> None:
    """Without a baseline: the time of the incident is found, and the struck stage told."""
    setting = Setting(seed=11, incident=Incident("fe.preprocess", 4.0, is_factor=True), **SMALL)
    plain = scored(setting, plain=True)[0]
    assert (plain["change_ok"], plain["table"], plain["sentence"]) == (True, True, True), plain["summary"]


@pytest.mark.parametrize("incident", [Incident(), Incident(load=1.7), Incident(mix=0.7)])
def test_nothing_is_called_slow_where_nothing_is(incident: Incident) -> None:
    """Health, more load, and another mix at constant load."""
    rows = scored(Setting(seed=3, incident=incident, swing=0.2, **SMALL), plain=False)
    told = {row["question"]: row["verdict"] for row in rows if row["question"] in ("mean", "tail") and row["alarm"]}
    assert told == {}
    assert [row.get("contradictions") for row in rows if row.get("contradictions")] == []


def test_an_answer_does_not_depend_on_the_order_in_which_spans_arrive(tmp_path: Path) -> None:
    """The same bytes of JSON, of a question with a baseline and of a plain one."""
    setting = Setting(seed=5, incident=Incident("eng.prefill", 2.0, is_factor=True, among="engine"), **SMALL)
    spans = write_spans(lived(setting), tmp_path / "spans.jsonl")
    told = []
    for seed in (None, 1, 2):
        with tk.open(None) as store:
            store.ingest(spans if seed is None else shuffled(spans, tmp_path / f"shuffled_{seed}.jsonl", seed))
            window, before = setting.conditions()
            asked = [store.tail("ttft", where=window, baseline=before), store.tail("e2e")]
            told.append([json.dumps(answer.as_dict(), sort_keys=True) for answer in asked])
    assert told[1] == told[0]
    assert told[2] == told[0]


def shuffled(spans: Path, path: Path, seed: int) -> Path:
    """The same spans, one a document, in another order."""
    documents = []
    for line in spans.read_text(encoding="utf-8").splitlines():
        for resource in json.loads(line)["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                documents += [
                    json.dumps({"resourceSpans": [resource | {"scopeSpans": [scope | {"spans": [span]}]}]})
                    for span in scope["spans"]
                ]
    random.Random(seed).shuffle(documents)
    path.write_text("\n".join(documents), encoding="utf-8")
    return path


def test_intervals_hold_what_the_fault_did() -> None:
    """Of twelve runs, six geometries and two faults, 95 % intervals of means hold the truth in all but one or two."""
    found = pl.DataFrame([row for one in runs(12) for row in scored_intervals(one)], infer_schema_length=None)
    means = found.filter(pl.col("question") == "mean")
    assert means["covered"].drop_nulls().sum() >= 10
    assert not means["zero_width"].drop_nulls().any()
    assert means["alarm"].drop_nulls().sum() <= 1
