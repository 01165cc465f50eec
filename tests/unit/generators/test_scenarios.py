"""Scenario files: small, documented, all of them run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from generators import scenarios
from generators.serving.causes import culprits
from generators.serving.simulation import Run, simulate
from generators.serving.timeline import stage_ns
from generators.serving.truth import counterfactual
from tests.unit.generators.conftest import short_values
from tracekit.errors import UsageError

FAULTLESS = {"healthy", "mix_shift", "load_rise", "batch_inference"}


@pytest.fixture(scope="module", params=scenarios.names(model="serving"))
def both(request: pytest.FixtureRequest) -> tuple[str, Run, Run]:
    """The name of a scenario, its short run and the same run without the fault."""
    run = simulate(short_values(request.param, run__duration_s=40.0, fault__duration_s=30.0), seed=5)
    return request.param, run, counterfactual(run, seed=5)


def test_the_stages_of_every_request_sum_to_its_time(both: tuple[str, Run, Run]) -> None:
    """Conservation: not one nanosecond is lost or counted twice, whatever goes wrong."""
    _, run, _ = both
    whole = run.requests["close_ns"] - run.requests["arrival_ns"]
    assert run.requests.size > 20
    assert (stage_ns(run).sum(axis=(1, 2)) == whole).all()


def test_windows_end_at_first_and_last_token(both: tuple[str, Run, Run]) -> None:
    """TTFT, decode and after are cut exactly at the tokens."""
    _, run, _ = both
    served = run.requests["last_ns"] >= 0
    parts = stage_ns(run).sum(axis=2)[served]
    requests = run.requests[served]
    assert (parts[:, 0] == requests["first_ns"] - requests["arrival_ns"]).all()
    assert (parts[:, 1] == requests["last_ns"] - requests["first_ns"]).all()
    assert (parts[:, 2] == requests["close_ns"] - requests["last_ns"]).all()


def test_intervals_of_a_request_follow_each_other_without_gap(both: tuple[str, Run, Run]) -> None:
    """A request is in exactly one stage at any time."""
    _, run, _ = both
    rows = run.intervals
    same = rows["request"][1:] == rows["request"][:-1]
    assert (rows["start_ns"][1:][same] == rows["end_ns"][:-1][same]).all()
    assert (rows["end_ns"] > rows["start_ns"]).all()


def test_every_request_comes_to_an_end(both: tuple[str, Run, Run]) -> None:
    """Each has an outcome and a close; served ones have all their tokens."""
    _, run, _ = both
    assert (run.requests["outcome"] > 0).all()
    assert (run.requests["close_ns"] >= run.requests["arrival_ns"]).all()
    served = run.requests[run.requests["outcome"] == 1]
    assert (served["generated"] == served["output_tokens"]).all()


def test_nothing_differs_from_the_counterfactual_before_the_fault(both: tuple[str, Run, Run]) -> None:
    """Same seed, same draws: requests that were over when the fault began are the same to the nanosecond."""
    _, run, other = both
    start_ns = int(float(run.values["fault.start_s"]) * 1e9)
    before = (run.requests["close_ns"] < start_ns) & (other.requests["close_ns"] < start_ns)
    assert before.sum() > 5
    assert (run.requests["arrival_ns"] == other.requests["arrival_ns"]).all()
    one, same = (one.intervals[before[one.intervals["request"]]] for one in (run, other))
    assert np.array_equal(one, same)


def test_scenarios_with_a_fault_name_a_culprit_and_the_others_none(both: tuple[str, Run, Run]) -> None:
    """Load and mix are no faults: an alarm there is false."""
    name, run, other = both
    assert bool(culprits(run.values)) == (name not in FAULTLESS)
    assert np.array_equal(run.intervals, other.intervals) == (name in FAULTLESS)


def test_the_texts_say_what_happens_and_what_a_right_answer_says() -> None:
    """A scenario explains itself."""
    for name in scenarios.names():
        scenario = scenarios.load(name)
        assert min(len(scenario.title), len(scenario.what_happens), len(scenario.right_answer)) > 10


def test_an_unknown_scenario_is_refused_with_the_nearest_name() -> None:
    """A typing error is not the start of a search."""
    with pytest.raises(UsageError, match="did you mean 'slow_worker'"):
        scenarios.load("slow_wroker")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = 1", "title is missing"),
        ("= broken", "not a scenario file"),
        ('title="a"\nwhat_happens="b"\nright_answer="c"\nmodel="serving"\ncolour="d"', "colour is not a key"),
    ],
)
def test_a_file_that_is_no_scenario_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """The message names the key at fault."""
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        scenarios.load(tmp_path / "mine.toml")
