"""The accuracy suite in its short form: a few faults, defects and controls, with the targets that the page holds."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from string import Template
from typing import Any

import polars as pl
import pytest

from generators.models import MODELS
from tests.accuracy import figures, page, suite
from tests.accuracy.effects import effect
from tests.accuracy.grid import FAULTS, SHORT
from tests.accuracy.jobs import Job, Rows, asked, changed
from tests.accuracy.runs import NS_PER_S, play
from tests.accuracy.scores import within

SEED = 11
WORST = ("clean", "20 % of spans missing", "clocks drift 50 ppm", "roots end at the first token")
_BY_LABEL = {one.label: one for one in FAULTS}


@pytest.fixture(scope="module")
def answers() -> pl.DataFrame:
    """Two faults, clean and under the defects that cost most."""
    chosen = ("queue_saturation", "slow_worker, tokens")
    rows: Rows = [row for name in chosen for row in asked(_BY_LABEL[name], seed=SEED, defects=WORST, layout=SHORT)]
    return figures.frame(rows)


def test_struck_stages_are_ranked_first(answers: pl.DataFrame) -> None:
    """Whatever single defect the spans have, and no answer is refused for it."""
    found = figures.accuracy(answers, ["defect"])
    assert found["defect"].to_list() == list(WORST)
    assert found["ac1"].to_list() == [1.0] * len(WORST)
    assert found["refused"].sum() == 0


def test_clean_spans_give_back_every_nanosecond(answers: pl.DataFrame) -> None:
    """The store has each stage of each request as it was, also behind short roots, and sums never err."""
    whole = answers.filter(pl.col("defect").is_in(["clean", "roots end at the first token"]))
    assert whole["misplaced"].max() < 0.0001
    assert answers["sum_error_ns"].max() == 0


def test_the_time_attributed_is_the_effect_of_the_fault(answers: pl.DataFrame) -> None:
    """To a few per cent, the difference between the two windows included."""
    errors = answers.filter(pl.col("defect") != "20 % of spans missing", pl.col("question") == "mean")["error"]
    assert errors.median() <= 0.05
    assert errors.max() <= 0.15


@pytest.mark.parametrize("scenario", ["load_rise", "mix_shift"])
def test_nobody_is_blamed_for_more_work(scenario: str) -> None:
    """Neither where twice as many requests come, nor where a fifth of them is long."""
    assert not any(row["is_alarm"] for row in changed(scenario, seed=SEED, layout=SHORT))


def test_the_right_answer_is_that_of_truth_json() -> None:
    """The mean effect over the served requests of the window is that of their `effect_ns`."""
    played = play("queue_saturation", seed=SEED, layout=SHORT, overrides={})
    _, truth = MODELS["serving"].run(played.values, seed=SEED)
    first_ns, end_ns = truth["fault_window_ns"]
    assert end_ns - first_ns == round(SHORT.window_s * NS_PER_S)
    served = [unit for unit in truth["units"] if unit["outcome"] == "ok" and first_ns <= unit["start_ns"] < end_ns]
    found = effect(played, "e2e", quantile=0.0)
    assert found.answers == truth["culprits"][0]["stages"] == ["eng.queue"]
    for stage, effect_ns in found.stage_ns.items():
        total_ns = sum(unit["effect_ns"].get(stage, 0) for unit in served)
        assert effect_ns * len(served) == pytest.approx(total_ns, abs=len(served))


def test_answers_among_the_first_k_count_as_far_as_they_fit() -> None:
    """Two answers cannot both be first: naming one of them first is right."""
    assert [within(["a", "b", "c"], ["c", "a"], k) for k in (1, 2, 3)] == [1.0, 0.5, 1.0]
    assert within(["b"], ["a"], 1) == 0.0
    assert within([], ["a"], 1) == 0.0


def _row(**more: Any) -> dict[str, Any]:
    """A row of a right answer."""
    ranks = {f"ac{k}": 1.0 for k in range(1, 6)}
    figures_of = {
        "has_answer": True,
        "chance1": 0.1,
        "detected": True,
        "time_first": True,
        "verdict": "excess_explained",
    }
    amounts = {"error": 0.02, "share": 0.9, "true_share": 0.95, "misplaced": 0.0}
    return {"label": "x", **ranks, **figures_of, **amounts, **more}


def test_answers_without_a_struck_stage_in_the_metric_do_not_count() -> None:
    """A fault that makes the metric no worse has no right answer."""
    rows = figures.frame([_row(), _row(ac1=0.0, error=0.5), _row(has_answer=False, ac1=0.0)])
    [found] = figures.accuracy(rows, ["label"]).to_dicts()
    assert (found["count"], found["ac1"], found["error"]) == (2, 0.5, 0.26)
    assert found["lift"] == pytest.approx(5.0)


def test_the_page_has_a_place_for_every_table() -> None:
    """A table that the words do not name would be measured and never shown."""
    named = set(Template(page.TEMPLATE.read_text(encoding="utf-8")).get_identifiers())
    assert named == set(page.SECTIONS) | {"seeds", "window", "baseline", "revision"}


def test_alarms_are_counted_with_the_verdicts_beside_them() -> None:
    """What was said instead of an alarm shows what the questions ended in."""
    rows = [{"label": "x", "is_alarm": verdict != "no_excess", "verdict": verdict} for verdict in ("no_excess",) * 3]
    rows.append({"label": "x", "is_alarm": True, "verdict": "stage_slower"})
    [found] = figures.alarms(figures.frame(rows), ["label"]).to_dicts()
    assert (found["questions"], found["alarms"], found["share"]) == (4, 1, 0.25)
    assert found["verdicts"][0] == {"verdict": "no_excess", "count": 3}


def test_coverage_is_the_share_of_intervals_that_hold_the_truth() -> None:
    """Answers that give no interval do not count."""
    rows = [
        {"label": "x", "intervals": 10, "held": 9, "struck_intervals": 1, "struck_held": 0},
        {"label": "x", "intervals": 0, "held": 0, "struck_intervals": 0, "struck_held": 0},
    ]
    [found] = figures.coverage(figures.frame(rows), ["label"]).to_dicts()
    assert (found["intervals"], found["held"], found["struck_held"]) == (10, 0.9, 0.0)


def _numbered(number: int) -> Rows:
    if number == 2:
        raise ValueError("broken off")
    return [{"number": number}]


def test_a_run_that_broke_off_goes_on_with_what_it_kept(tmp_path: Path) -> None:
    """A piece that ended is read back as it was; one that broke off leaves nothing."""
    pieces = [Job("any", partial(_numbered, number)) for number in range(3)]
    with pytest.raises(ValueError, match="broken off"):
        suite.run(pieces, processes=1, kept=tmp_path)
    assert len(list(tmp_path.glob("any-*.json"))) == 2
    assert suite.run(pieces[:2], processes=1, kept=tmp_path) == {"any": [{"number": 0}, {"number": 1}]}
