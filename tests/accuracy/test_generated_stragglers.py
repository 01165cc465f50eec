"""Straggling ranks of generated training runs against what the generator knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from generators.generate import Truth, generate
from tracekit.analysis import StragglersAnswer, stragglers, tail
from tracekit.ingest import ingest
from tracekit.stages import update_units
from tracekit.store import Database

SHORT = {"run.steps": 32, "fault.first_step": 12, "fault.steps": 12, "schedule.micro_batches": 4}
WHOLE_RUN = {"pipeline_imbalance": {"fault.first_step": 0, "fault.steps": 32}}


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(None) as opened:
        yield opened


def answered(database: Database, folder: Path, scenario: str, *, seed: int) -> tuple[StragglersAnswer, Truth]:
    """What tracekit says of a short run of a scenario, and what is true."""
    truth = generate(scenario, seed=seed, overrides=SHORT | WHOLE_RUN.get(scenario, {}), out=folder)
    ingest(database, [folder / "traces.jsonl"])
    update_units(database)
    return stragglers(database), truth


@pytest.mark.parametrize(
    "scenario",
    ["slow_loader", "slow_gpu", "gc_pause", "flapping_gpu", "checkpoint_stall", "expert_imbalance", "busy_host"],
)
def test_the_rank_that_is_slow_is_named_with_its_stage_and_steps(
    database: Database, tmp_path: Path, scenario: str
) -> None:
    """Exactly the culprit, nobody else; its steps are those in which the fault cost time."""
    answer, truth = answered(database, tmp_path, scenario, seed=1)
    [culprit] = truth.content["culprits"]
    assert set(answer.culprits["rank"].to_list()) == set(culprit["stragglers"])
    # Launches have no spans: what spans leave unexplained is all that shows.
    shown = {"unattributed" if stage == "step.launch_overhead" else stage for stage in culprit["stages"]}
    assert set(answer.culprits["stage"].to_list()) == shown
    felt = [
        unit["step"] for unit in truth.content["units"]
        if unit["rank"] in culprit["ranks"] and sum(unit["injected_ns"].values()) > 0
    ]  # fmt: skip
    assert min(felt) <= answer.culprits["first_step"].min() <= min(felt) + 2
    assert answer.culprits["last_step"].max() == max(felt)


def test_a_pipeline_stage_that_is_slow_as_a_whole_is_named_and_not_its_ranks(
    database: Database, tmp_path: Path
) -> None:
    """The last of four stages computes 1.6 times as long, in steps 12 to 23: stage 3 is named, and no rank."""
    truth = generate("pipeline_imbalance", seed=1, overrides=SHORT, out=tmp_path / "later")
    ingest(database, [tmp_path / "later" / "traces.jsonl"])
    update_units(database)
    answer = stragglers(database)
    [culprit] = truth.content["culprits"]
    assert culprit["pipeline_stage"] == 3
    assert set(answer.culprits.select("rank", "pipeline_stage", "stage").rows()) == {(None, 3, "step.compute")}
    assert answer.waited_ns == answer.culprits["waited_ns"].sum() + answer.unnamed_wait_ns
    assert "on pipeline stage 3, steps 12-23" in answer.summary


def test_a_stage_that_is_always_heavier_makes_an_uneven_pipeline(database: Database, tmp_path: Path) -> None:
    """No step shows what would be usual; beside the other stages it computes 1.6 times as long."""
    answer, _ = answered(database, tmp_path, "pipeline_imbalance", seed=1)
    assert (answer.verdict, len(answer.culprits)) == ("uneven_pipeline", 0)
    last = answer.pipeline.row(3, named=True)
    assert last["compute_ns"] / last["typical_ns"] == pytest.approx(1.6, abs=0.1)
    assert "Pipeline stage 3 computes" in answer.summary
    assert answer.pipeline["waited_ns"].sum() <= answer.waited_ns


@pytest.mark.parametrize(
    "scenario",
    [
        "training_healthy",
        "finetune_healthy",
        "sequence_imbalance",
        "longer_sequences",
        "pipeline_imbalance",
        "slow_nic",
    ],
)
def test_no_rank_is_named_where_none_works_slowly(database: Database, tmp_path: Path, scenario: str) -> None:
    """Bubbles, side work, the cut of the model, mixed lengths and slow links make no rank a straggler."""
    answer, _ = answered(database, tmp_path, scenario, seed=1)
    assert answer.culprits["rank"].drop_nulls().to_list() == []
    assert answer.waited_ns > 0


@pytest.mark.parametrize(("scenario", "where"), [("slow_link", "rank % 8 = 2"), ("slow_nvlink", "rank < 8")])
def test_a_slow_link_shows_as_transfer_and_not_as_compute(
    database: Database, tmp_path: Path, scenario: str, where: str
) -> None:
    """Against the steps before, the ranks on the link spend nearly all of the excess in step.exposed_comm."""
    _, truth = answered(database, tmp_path, scenario, seed=1)
    baseline = f"step BETWEEN 2 AND 11 AND {where}"
    answer = tail(database, metric="step", quantile=0.0, where=f"step BETWEEN 12 AND 23 AND {where}", baseline=baseline)
    share = dict(answer.stages.select("stage", "share").rows())
    assert truth.content["culprits"][0]["stages"] == ["step.exposed_comm"]
    assert share["step.exposed_comm"] > 0.9


def test_stored_steps_and_waits_are_those_of_the_run(database: Database, tmp_path: Path) -> None:
    """A unit a rank and step with its true window; waiting and transfer told apart to a hundredth."""
    answer, truth = answered(database, tmp_path, "slow_gpu", seed=1)
    units = truth.content["units"]
    stored = database.sql("SELECT step, rank, start_ns, end_ns FROM units ORDER BY step, rank").rows()
    assert stored == [(unit["step"], unit["rank"], unit["start_ns"], unit["end_ns"]) for unit in units]
    looked_at = [unit["stages_ns"]["step"] for unit in units if unit["step"] > 0]
    true_ns = sum(unit.get("step.straggler_wait", 0) + unit.get("step.pipeline_bubble", 0) for unit in looked_at)
    assert answer.waited_ns == pytest.approx(true_ns, rel=0.01)
