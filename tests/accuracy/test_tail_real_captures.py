"""What the answers say about the real captures, beside what was done when they were made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.analysis import TailAnswer, quality, stragglers, tail
from tracekit.ingest import ingest
from tracekit.stages import update_units
from tracekit.store import Database

MS = 1_000_000


@pytest.fixture(scope="module")
def serving(shared_data: Path) -> Iterator[Database]:
    """A gateway before a vLLM server, in five scenarios."""
    yield from _store(shared_data / "real" / "vllm_gateway.traces.jsonl")


@pytest.fixture(scope="module")
def training(shared_data: Path) -> Iterator[Database]:
    """Four ranks, two attempts, three injected slow-downs and one injected failure."""
    yield from _store(shared_data / "real" / "train_ddp_gloo.traces.jsonl")


def _store(path: Path) -> Iterator[Database]:
    with Database.open(None) as database:
        ingest(database, [path], after=update_units)
        yield database


def _scenario(name: str) -> str:
    return f"attributes['scenario'] = '{name}'"


def _against_steady(database: Database, scenario: str, *, quantile: float = 0.0) -> TailAnswer:
    return tail(database, "ttft", quantile=quantile, where=_scenario(scenario), baseline=_scenario("steady"))


def test_half_of_the_rise_under_overload_is_unattributed(serving: Database) -> None:
    """Between the middles of both, about half of the rise lies where vLLM reports nothing."""
    answer = _against_steady(serving, "overload")
    assert (answer.count, answer.baseline_count) == (90, 90)
    rise = answer.levels.filter(level="body")
    unattributed = rise.filter(stage="unattributed").row(0, named=True)
    assert 80 * MS < rise["excess_ns"].sum() < 130 * MS
    assert 0.40 < unattributed["share"] < 0.60
    owner = answer.stages.filter(stage="unattributed")["owner"].item()
    assert owner == "nobody"


def test_the_tail_of_overload_waited_in_the_queue(serving: Database) -> None:
    """A few requests waited, so the queue's share is in the upper half and hardly in the middle."""
    answer = _against_steady(serving, "overload", quantile=0.5)
    upper = answer.stages.filter(stage="eng.queue")["share"].item()
    middle = answer.levels.filter(stage="eng.queue")["share"].item()
    assert upper > 0.4 > 0.1 > middle


def test_long_prompts_are_size_and_not_slowness(serving: Database) -> None:
    """Prefill takes the excess, of longer prompts that steady has none of; each token is cheaper there."""
    answer = _against_steady(serving, "long_prompts")
    prefill = answer.stages.filter(stage="eng.prefill").row(0, named=True)
    size = answer.size.row(0, named=True)
    assert prefill["share"] > 0.75
    assert prefill["rate_ns"] < 0 < prefill["mix_ns"]
    assert size["per_token_ns"] < 0 < size["size_ns"]
    assert "Most of it lies in larger requests, and the baseline has no requests of this size" in answer.summary
    assert "664 input tokens at 1.043 ms each against 80 at 2.296 ms" in answer.summary


def test_requests_without_an_engine_are_left_out_by_outcome(serving: Database) -> None:
    """Aborted and refused requests are no successes and no lost data: they are counted apart."""
    aborts = tail(serving, "ttft", where=_scenario("aborts"))
    too_long = tail(serving, "ttft", where=_scenario("too_long"))
    assert (aborts.count, aborts.left_out.rows()) == (24, [(0, "outcome aborted", 16)])
    assert (too_long.verdict, too_long.left_out.rows()) == ("no_units", [(0, "outcome invalid", 5)])


@pytest.mark.parametrize("metric", ["ttft", "tpot", "e2e"])
@pytest.mark.parametrize("quantile", [0.0, 0.5, 0.9, 0.99])
def test_every_split_of_the_gateway_is_exact(serving: Database, metric: str, quantile: float) -> None:
    """The sum over stages is the excess, to the nanosecond."""
    for baseline in ("body", _scenario("steady")):
        answer = tail(serving, metric, quantile=quantile, baseline=baseline)  # type: ignore[arg-type]
        assert answer.stages["excess_ns"].sum() == answer.excess_ns
        assert answer.excess_ns == answer.tail_mean_ns - answer.baseline_mean_ns


def test_the_three_slow_downs_are_named_and_nothing_else(training: Database) -> None:
    """Data loading of rank 2, the save of rank 0 in step 39, forward of rank 1; the others only wait."""
    answer = stragglers(training)
    named = answer.culprits.select("attempt", "stage", "operation", "rank", "first_step", "last_step")
    assert named.sort("first_step").rows() == [
        (0, "step.data_load", "data_load", 2, 20, 29),
        (0, "job.checkpoint_save", "checkpoint_save", 0, 39, 39),
        (0, "step.compute", "forward", 1, 40, 49),
    ]
    assert answer.culprits["waited_ns"].sum() + answer.unnamed_wait_ns == answer.waited_ns


@pytest.mark.parametrize(
    ("first", "last", "cause"),
    [
        (20, 29, "step.data_load on rank 2"),
        (40, 48, "step.compute on rank 1"),
        (39, 39, "job.checkpoint_save"),
    ],
)
def test_slow_steps_are_traced_to_their_cause(training: Database, first: int, last: int, cause: str) -> None:
    """The excess of slow steps over healthy ones is charged to the rank that was waited for."""
    where = f"step BETWEEN {first} AND {last}"
    answer = tail(training, "step", quantile=0.0, where=where, baseline="step BETWEEN 5 AND 18")
    assert f"by stage {cause}" in answer.summary
    waiting = answer.stages.filter(stage="step.straggler_wait")["excess_ns"].item()
    assert answer.causes["excess_ns"].sum() == waiting
    assert answer.stages["excess_ns"].sum() == answer.excess_ns


def test_the_quality_of_the_captures_is_known(serving: Database, training: Database) -> None:
    """Impossible values of vLLM, its silence about aborted calls and missing roots are warnings; nothing is poor."""
    assert quality(serving).reasons == [
        "21 of 286 calls llm-gateway->vllm-server have no span of the service that was called: it was not sent, or got "
        "lost",
        "14 of 286 units report values that cannot be (impossible, or against each other), not used",
    ]
    incomplete = quality(training)
    assert incomplete.verdict == "usable"
    assert any("name a parent that did not arrive" in reason for reason in incomplete.reasons)
