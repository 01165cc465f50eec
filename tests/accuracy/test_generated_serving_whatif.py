"""What a change of serving would give, against runs in which it is so; `make accuracy` has all pairs and seeds."""

from __future__ import annotations

import pytest

from tests.accuracy.runs import Layout, play, stored
from tests.accuracy.serving_whatif import PAIRS, asked, outcomes
from tracekit.analysis import RequestWhatIf, request_whatif
from tracekit.analysis.requests.whatif import TOLERATED_ERROR
from tracekit.errors import UsageError

SHORT = Layout(baseline_s=10.0, window_s=20.0)
NAMED = {pair.name: pair for pair in PAIRS}


@pytest.mark.parametrize(
    ("name", "seed"),
    [("busy", 3), ("seats", 1), ("four engines", 2), ("vllm, load rises", 1), ("half the batch", 1), ("network", 1)],
)
def test_the_bound_holds_the_truth(name: str, seed: int) -> None:
    """For the median and the tail of every metric, and the tail is at most a tenth off."""
    found = list(outcomes(NAMED[name], seed=seed))
    assert [one for one in found if not one.is_held] == []
    assert max(abs(one.error) for one in found if one.quantile == 0.99) <= 0.1


def test_the_replay_without_a_change_is_what_was_observed() -> None:
    """Within 5 % at every quantile, where the queue grows to half a minute too."""
    answer, _ = asked(NAMED["seats"], seed=1)
    assert answer.effects["error"].max() < 0.05 < TOLERATED_ERROR
    assert (answer.basis.bound_by, answer.basis.rule, answer.basis.engines) == ("seats", "least_requests", 2)
    assert answer.verdict == "faster"
    # What the model was simulated with: 5 ms, 10 us a sequence, 40 ns a token of context.
    assert answer.basis.step_ns == pytest.approx(5e6, rel=0.15)


def short_answer(*changes: str, **overrides: object) -> RequestWhatIf:
    values = {key.replace("__", "."): value for key, value in overrides.items()}
    with stored(play("healthy", seed=5, layout=SHORT, overrides=values).emission) as database:
        return request_whatif(database, list(changes), slo="ttft=500ms,tpot=50ms")


@pytest.mark.parametrize(
    ("dialect", "verdict", "says"),
    [
        ("litellm", "no_engine_spans", "have no spans of the engine that served them"),
        ("tracekit", "split_engines", "ran on engines of their own"),
    ],
)
def test_where_the_data_do_not_carry_it_it_says_so(dialect: str, verdict: str, says: str) -> None:
    apart = {"disagg__prefill_replicas": 1, "disagg__decode_replicas": 1} if verdict == "split_engines" else {}
    answer = short_answer("replicas=+1", emit__dialect=dialect, fault__replica=0, **apart)
    assert (answer.verdict, answer.effects.is_empty(), answer.good_after) == (verdict, True, None)
    assert says in answer.summary


def test_a_stage_before_a_provider_needs_no_engine() -> None:
    """No engine sends spans: what the stage takes less is taken off, and nothing is said of queues."""
    answer = short_answer("normal=gw.auth", emit__dialect="litellm")
    assert answer.error is None
    assert "no engine is replayed" in answer.assumptions[0]
    assert answer.good_before is not None
    assert answer.good_after is not None
    assert answer.good_after >= answer.good_before


def test_a_stage_that_no_request_has_cannot_become_normal() -> None:
    answer = short_answer("normal=gw.guardrail")
    assert answer.verdict == "no_such_stage"
    assert "gw.guardrail" in answer.summary


def test_what_leaves_no_engine_or_no_normal_is_refused() -> None:
    """Not answered as if it were a smaller change."""
    with pytest.raises(UsageError, match="leaves no engine: spans show 2"):
        short_answer("replicas=-2")
    with (
        stored(play("healthy", seed=5, layout=SHORT, overrides={}).emission) as database,
        pytest.raises(UsageError, match="baseline"),
    ):
        request_whatif(database, "normal=gw.auth", baseline="start_ns < 0")
