"""Outcomes of generated requests against the truth, in short; `make accuracy` has all scenarios and seeds."""

from __future__ import annotations

from typing import Any

import pytest

from tests.accuracy.outcomes import scored_outcomes
from tests.accuracy.runs import Layout

SHORT = Layout(baseline_s=10.0, window_s=20.0)


@pytest.fixture(
    scope="module",
    params=[
        ("cancel_cascade", "tracekit"), ("time_outs", "tracekit"), ("retry_storm", "sglang"), ("engine_errors", "vllm"),
        ("admission_503", "tracekit"),
    ],
    ids=lambda pair: "-".join(pair),
)  # fmt: skip
def scores(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The scores of one short run."""
    scenario, dialect = request.param
    return scored_outcomes(scenario, seed=7, dialect=dialect, layout=SHORT)[0]


def test_every_request_is_in_its_bucket(scores: dict[str, Any]) -> None:
    """To the request where spans show every instant; where engines round, by those that round over a limit."""
    allowed = 0 if scores["dialect"] == "tracekit" else 0.005 * scores["requests"]
    assert scores["wrong_buckets"] <= allowed
    assert scores["sums_close"]


def test_misses_by_stage_are_those_of_the_truth(scores: dict[str, Any]) -> None:
    """Within 2 %, where the stages are shown."""
    assert scores["misses_close"]
    if scores["dialect"] == "tracekit":
        assert scores["stage_error"] <= 0.02


def test_first_causes_are_the_true_ones(scores: dict[str, Any]) -> None:
    """At least 98 of 100, and the incidents hold every failed request once."""
    assert scores["causes_right"] >= 0.98 * scores["lost"]
    assert scores["incidents_close"]
