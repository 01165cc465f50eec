"""Sentences as data: codes and numbers in, text out; no store in between."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from tracekit.analysis import (
    CHECKS,
    Evidence,
    Finding,
    QualityAnswer,
    StragglersAnswer,
    TailAnswer,
    answer_kinds,
    has_words,
)
from tracekit.wording import culprit_text, steps_text, tail_headline
from tracekit.wording.checks import MESSAGES

MS = 1_000_000
CLEAN = Evidence("good", (), {})
DAMAGED = Evidence("refused", (Finding("damaged_ns", "warning", 30, 100),), {})


def frame(columns: dict[str, Any], *rows: dict[str, Any]) -> pl.DataFrame:
    """Rows with the columns that a sentence needs; the others are null."""
    return pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], schema=columns)


def tail_answer(stages: dict[str, int], **facts: Any) -> TailAnswer:
    """An answer of 1,000 requests whose slowest 10 take longer by what `stages` adds up to."""
    excess_ns = sum(stages.values())
    frames: dict[str, Any] = {name: pl.DataFrame(schema=columns) for name, columns in TailAnswer.schema.items()}
    rows = [
        {
            "stage": stage, "excess_ns": ns, "rate_ns": ns, "significant": True,
            "tail_mean_ns": ns * 3 // 2, "baseline_mean_ns": ns // 2,
        }
        for stage, ns in stages.items()
    ]  # fmt: skip
    return TailAnswer(
        **{
            **frames,
            "stages": frame(TailAnswer.schema["stages"], *rows),
            "metric": "ttft", "unit": "request", "quantile": 0.99, "quantile_asked": None, "where": None,
            "baseline": "body", "outcome": "ok", "comparison": "body", "stored_count": 1000, "count": 1000,
            "baseline_selection_count": 1000, "tail_count": 10, "baseline_count": 200,
            "threshold_ns": 500 * MS, "baseline_threshold_ns": 100 * MS, "tail_mean_ns": 100 * MS + excess_ns,
            "baseline_mean_ns": 100 * MS, "excess_ns": excess_ns, "low_ns": None, "high_ns": None,
            "significant": True, "method": "blocks", "block_counts": [20], "block_ns": [1], "clock_resolution_ns": 1,
            "attributes_set_aside": [], "evidence": CLEAN, "units": pl.DataFrame(), **facts,
        }
    )  # fmt: skip


SLOWER = "The slowest 10 of 1,000 requests take {} to the first token, {} more than the typical request"


@pytest.mark.parametrize(
    ("stages", "facts", "text"),
    [
        (
            {"eng.queue": 300 * MS, "eng.prefill": 100 * MS},
            {"verdict": "excess_explained"},
            f"{SLOWER.format('500 ms', '400 ms')}; of that eng.queue 75%, eng.prefill 25%.",
        ),
        (
            {"eng.queue": 80 * MS, "eng.prefill": -50 * MS},
            {"verdict": "excess_explained"},
            f"{SLOWER.format('130 ms', '30 ms')}; by stage eng.queue 80 ms more, eng.prefill 50 ms less.",
        ),
        (
            {"eng.queue": 3 * MS},
            {"verdict": "no_excess"},
            f"{SLOWER.format('103 ms', '3 ms')}. That is within what chance makes: there is no excess to explain.",
        ),
        (
            {"gw.auth": 30 * MS, "eng.queue": -20 * MS},
            {"verdict": "stage_slower"},
            "gw.auth takes 45 ms where it took 15 ms, which is more than chance makes. "
            f"{SLOWER.format('110 ms', '10 ms')}, as a whole within what chance makes.",
        ),
        (
            {"eng.queue": 3 * MS},
            {"verdict": "too_few_blocks", "shortage": "too_few_blocks", "block_counts": [4]},
            f"{SLOWER.format('103 ms', '3 ms')}; of that eng.queue 100%. That is true of these requests; "
            "whether it is more than chance cannot be told: neighbours in time rise and fall together, so all of them "
            "are only 4 separate observations, and it takes 10.",
        ),
        (
            {},
            {"verdict": "no_units", "stored_count": 0},
            "The store holds no requests; read some with `tracekit ingest`.",
        ),
        (
            {},
            {"verdict": "no_units", "count": 0, "where": "model = 'x'"},
            "The where condition \"model = 'x'\" matches none of the 1,000 requests in the store.",
        ),
        (
            {},
            {"verdict": "refused", "evidence": DAMAGED},
            "No conclusion, because the data cannot bear one: 30.0% of the time belongs to spans without a parent or "
            "was cut off.",
        ),
    ],
)  # fmt: skip
def test_what_a_tail_answer_says(stages: dict[str, int], facts: dict[str, Any], text: str) -> None:
    """Each verdict has its sentence; parts larger than the whole are told in time."""
    assert tail_answer(stages, **facts).summary == text


def stragglers_answer(verdict: Any, **facts: Any) -> StragglersAnswer:
    """An answer about one job of 59 steps."""
    schema = StragglersAnswer.schema
    frames = {name: pl.DataFrame(schema=columns) for name, columns in schema.items()}
    jobs = frame(schema["jobs"], {"job_id": "j", "rank_count": 4, "step_count": 59, "wall_ns": 1000 * MS})
    known: dict[str, Any] = {
        **frames, "jobs": jobs, "slowdown": 1.0, "wall_ns": 1000 * MS, "waited_ns": 0, "unnamed_wait_ns": 0,
        "evidence": CLEAN, "units": pl.DataFrame(), "job": None, "other_jobs": [],
    }  # fmt: skip
    return StragglersAnswer(**{**known, "verdict": verdict, **facts})


CULPRIT = {
    "job_id": "j", "rank": 2, "stage": "step.data_load", "operation": "load", "steps": 10, "first_step": 20,
    "last_step": 29, "lost_ns": 1500 * MS, "share": 0.123,
}  # fmt: skip
WAITED = [{"job_id": "j", "rank": 1, "waited_ns": 90 * MS}, {"job_id": "j", "rank": 3, "waited_ns": 10 * MS}]
HEAVY = {
    "job_id": "j", "pipeline_stage": 3, "rank_count": 2, "compute_ns": 200 * MS, "typical_ns": 100 * MS,
    "waited_ns": 50 * MS, "is_heavy": True,
}  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "facts", "text"),
    [
        (
            "stragglers",
            {"culprits": frame(StragglersAnswer.schema["culprits"], CULPRIT)},
            "step.data_load (load) on rank 2, steps 20-29: 1.5 s lost, 12.3%. "
            "Shares are of all accelerator time in the 59 steps looked at.",
        ),
        (
            "no_stragglers",
            {"waited_for": frame(StragglersAnswer.schema["waited_for"], *WAITED), "waited_ns": 100 * MS},
            "No rank's own work stands out in 59 steps. The ranks waited 100 ms for each other, 90% of it for rank 1.",
        ),
        (
            "uneven_pipeline",
            {"pipeline": frame(StragglersAnswer.schema["pipeline"], HEAVY)},
            "No rank's own work stands out in 59 steps. Pipeline stage 3 computes 200 ms in a typical step where the "
            "typical stage takes 100 ms, all its 2 ranks alike: the cut of the model, or what the stage was given, is "
            "uneven. Others waited 50 ms for it.",
        ),
        (
            "no_steps",
            {"job": "x", "other_jobs": ["j", "k"]},
            "The store holds no steps of job 'x'; there are steps of 'j', 'k'.",
        ),
        ("no_steps", {}, "The store holds no training steps."),
        ("too_few_steps", {}, "The longest job has 59 steps, 8 are needed for a reference."),
    ],
)
def test_what_a_stragglers_answer_says(verdict: str, facts: dict[str, Any], text: str) -> None:
    """Who, doing what, when, and what it cost; or why nobody is named."""
    assert stragglers_answer(verdict, **facts).summary == text


@pytest.mark.parametrize(
    ("finding", "text"),
    [
        (Finding("incomplete_units", "warning", 12, 1000), "12 of 1,000 units have spans whose parent is missing"),
        (
            Finding("orphan_ns", "error", 5_000, 20_000),
            "25.0% of unit time (5 µs) belongs to spans whose parent is missing",
        ),
        (
            Finding("host_clocks", "warning", 12_345_678, 100 * MS),
            "clocks of hosts differ by about 12 ms; waiting of steps is not corrected",
        ),
        (
            Finding("rejected:time_zero", "warning", 1, 10),
            "1 of 10 records were refused: the time is 0 or missing (time_zero)",
        ),
        (Finding("missing_metric", "warning", 3, 20), "3 of 20 units have no value of the metric"),
        (Finding("vantages", "warning", 2, 2), "the units were seen from 2 vantage points"),
    ],
)
def test_what_a_finding_says(finding: Finding, text: str) -> None:
    """Counts of records, shares of time, or a sentence of its own."""
    assert finding.message == text


def test_what_a_store_can_bear() -> None:
    """The verdict with its reasons; nothing to say of good data."""
    schema = {"check": pl.String, "severity": pl.String, "count": pl.Int64, "total": pl.Int64, "share": pl.Float64}
    good = QualityAnswer(pl.DataFrame([("incomplete_units", "ok", 0, 5, 0.0)], schema=schema, orient="row"), "good")
    bad = QualityAnswer(
        pl.DataFrame([("incomplete_units", "warning", 1, 5, 0.2)], schema=schema, orient="row"), "usable"
    )
    assert good.summary == "The data are good: nothing was found that answers have to live with."
    assert bad.summary == "The data are usable: 1 of 5 units have spans whose parent is missing."


def test_everything_that_can_be_found_can_be_said() -> None:
    """Each check has its message, and each registered answer its words."""
    assert CHECKS.keys() <= MESSAGES.keys()
    own = [kind.type for kind in answer_kinds() if not kind.name.startswith("test_")]
    assert all(has_words(kind) for kind in own)


@pytest.mark.parametrize(
    ("rank", "pipeline_stage", "who"),
    [(3, None, "rank 3"), (None, 2, "pipeline stage 2"), (None, None, "all ranks together")],
)
def test_who_is_meant(rank: int | None, pipeline_stage: int | None, who: str) -> None:
    """A rank, a whole pipeline stage, or nobody in particular."""
    assert culprit_text({"rank": rank, "pipeline_stage": pipeline_stage}) == who
    assert steps_text({"first_step": 7, "last_step": 7}) == "step 7"


@pytest.mark.parametrize(
    ("stages", "facts", "told"),
    [
        (
            {"eng.queue": 70 * MS, "eng.prefill": 30 * MS}, {"verdict": "excess_explained"},
            "eng.queue 70%, eng.prefill 30%: time to first token 200 ms instead of 100 ms (100 ms more).",
        ),
        (
            {"eng.queue": 120 * MS, "eng.prefill": -20 * MS}, {"verdict": "excess_explained"},
            "eng.queue: time to first token 200 ms instead of 100 ms (100 ms more).",
        ),
        (
            {"eng.queue": MS}, {"verdict": "no_excess"},
            "No excess to explain: time to first token 101 ms instead of 100 ms.",
        ),
    ],
)  # fmt: skip
def test_a_headline_names_the_stages_and_the_excess(stages: dict[str, int], facts: dict[str, Any], told: str) -> None:
    """Shares only where no stage is more than the whole."""
    assert tail_headline(tail_answer(stages, **facts)) == told


def test_a_headline_names_whose_the_excess_is() -> None:
    """As the sentence does, by the value that most of the slow ones have."""
    differing = frame(
        TailAnswer.schema["differences"],
        {"dimension": "host of engine", "value": "worker-1", "tail_count": 10, "rest_count": 100, "tail_share": 1.0,
         "rest_share": 0.5, "ratio": 2.0, "ratio_low": 1.5, "ratio_high": 3.0, "adjusted_p": 1e-9},
    )  # fmt: skip
    answer = tail_answer({"eng.queue": 100 * MS}, verdict="excess_explained", differences=differing)
    assert tail_headline(answer).startswith("eng.queue with host of engine 'worker-1' 100%:")
