"""Straggling ranks of generated training runs against what the generator knows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from generators.generate import Truth, generate
from tracekit.analysis.stragglers import StragglersAnswer, stragglers
from tracekit.ingest import ingest
from tracekit.stages import update_units
from tracekit.store import Database

SHORT = {"run.steps": 32, "fault.first_step": 12, "fault.steps": 12, "schedule.micro_batches": 4}


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(None) as opened:
        yield opened


def answered(database: Database, folder: Path, scenario: str, *, seed: int) -> tuple[StragglersAnswer, Truth]:
    """What tracekit says of a short run of a scenario, and what is true."""
    truth = generate(scenario, seed=seed, overrides=SHORT, out=folder)
    ingest(database, [folder / "traces.jsonl"])
    update_units(database)
    return stragglers(database), truth


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("scenario", ["slow_loader", "slow_gpu"])
def test_the_rank_that_is_slow_is_named_with_its_stage_and_steps(
    database: Database, tmp_path: Path, scenario: str, seed: int
) -> None:
    """Exactly the culprit, nobody else; its steps are those in which the fault cost time."""
    answer, truth = answered(database, tmp_path, scenario, seed=seed)
    [culprit] = truth.content["culprits"]
    assert set(answer.culprits["rank"].to_list()) == set(culprit["ranks"])
    assert set(answer.culprits["stage"].to_list()) == set(culprit["stages"])
    felt = [unit["step"] for unit in truth.content["units"] if unit["injected_ns"]]
    assert abs(answer.culprits["first_step"].min() - min(felt)) <= 2
    assert answer.culprits["last_step"].max() == max(felt)


def test_nobody_is_named_where_nobody_is_slow(database: Database, tmp_path: Path) -> None:
    """Pipeline bubbles, evaluations and checkpoints are no stragglers."""
    answer, _ = answered(database, tmp_path, "training_healthy", seed=1)
    assert answer.verdict == "no_stragglers"


def test_stored_steps_and_waits_are_those_of_the_run(database: Database, tmp_path: Path) -> None:
    """A unit a rank and step with its true window; waiting and transfer told apart to a hundredth."""
    answer, truth = answered(database, tmp_path, "slow_gpu", seed=1)
    units = truth.content["units"]
    stored = database.sql("SELECT step, rank, start_ns, end_ns FROM units ORDER BY step, rank").rows()
    assert stored == [(unit["step"], unit["rank"], unit["start_ns"], unit["end_ns"]) for unit in units]
    looked_at = [unit["stages_ns"]["step"] for unit in units if unit["step"] > 0]
    true_ns = sum(unit.get("step.straggler_wait", 0) + unit.get("step.pipeline_bubble", 0) for unit in looked_at)
    assert answer.waited_ns == pytest.approx(true_ns, rel=0.01)
