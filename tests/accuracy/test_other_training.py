"""What `stragglers` and `tail` say of a world of training steps that they were not made with."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.accuracy.other_training import Fault, World, run
from tracekit.analysis import StragglersAnswer, TailAnswer, stragglers, tail
from tracekit.ingest import ingest
from tracekit.stages import update_units
from tracekit.store import Database

TENSOR = World(tp=4, dp=4)
PIPELINE = World(pp=4, dp=2)


def answered(world: World, folder: Path) -> StragglersAnswer:
    """What tracekit says of a world."""
    with Database.open(None) as database:
        ingest(database, [run(world, folder)])
        update_units(database)
        return stragglers(database)


@dataclass(frozen=True)
class Case:
    """A world with the right answer: ranks by the stage that they are slow in."""

    world: World
    slow: dict[int, str]


def slow(kind: str, stage: str, world: World, *ranks: int, **how: float) -> Case:
    """A world in which ranks are slow in one way."""
    fault = Fault(kind, ranks, **how)  # type: ignore[arg-type]
    return Case(replace(world, faults=(fault,)), dict.fromkeys(ranks, stage))


COMPUTE, LOAD, SAVE = "step.compute", "step.data_load", "job.checkpoint_save"
CASES = {
    "always 1.1, 60 steps": slow("compute", COMPUTE, World(steps=60), 5, factor=1.1),
    "always 1.1, 600 steps": slow("compute", COMPUTE, World(steps=600), 5, factor=1.1),
    "always 1.1, overlapping": slow("compute", COMPUTE, World(overlaps=True), 2, factor=1.1),
    "always 1.15, no host, no attempt": slow(
        "compute", COMPUTE, World(tells_host=False, tells_attempt=False), 2, factor=1.15
    ),
    "always 1.2, tensor parallel": slow("compute", COMPUTE, TENSOR, 6, factor=1.2),
    "always 1.2, pipeline": slow("compute", COMPUTE, PIPELINE, 3, factor=1.2),
    "always 1.2, clocks apart": slow("compute", COMPUTE, World(skew_ms=50), 5, factor=1.2),
    "always 1.2, barrier": slow("compute", COMPUTE, World(barrier=True, save_every=10), 5, factor=1.2),
    "always 1.2, rank 0 saves": slow("compute", COMPUTE, World(save_every=10), 5, factor=1.2),
    "every eighth step": slow("compute", COMPUTE, World(eval_every=20), 2, factor=1.2, every=8),
    "loader of a host": slow("load", LOAD, World(), 4, 5, 6, 7, factor=5),
    "loader for a while": slow("load", LOAD, World(), 3, extra_ms=25, first=10, last=30),
    "one slow save after the step": slow("save", SAVE, World(save_every=10), 0, extra_ms=1500, first=39, last=39),
    "one slow save, barrier": slow(
        "save", SAVE, World(save_every=10, barrier=True), 0, extra_ms=1500, first=39, last=39
    ),
    "collections after the step": slow("gc", "step.host_bound", World(), 5, extra_ms=60, every=3),
    "evaluation on one rank": Case(World(eval_every=5, eval_ms=60, eval_ranks=(3,)), {3: "job.custom"}),
    "evaluation on rank 0": Case(World(eval_every=10, eval_ranks=(0,), save_every=20), {0: "job.custom"}),
    "pauses that nobody tells": slow("pause", "unattributed", World(), 5, extra_ms=60, every=3),
    "short pauses": slow("pause", "unattributed", World(skew_ms=20), 5, extra_ms=25, every=2),
    "two, one for a while": Case(
        World(faults=(Fault("compute", (2,), 1.15), Fault("load", (6,), extra_ms=30, first=20, last=40))),
        {2: COMPUTE, 6: LOAD},
    ),
    "two of one kind": Case(
        World(faults=(Fault("compute", (2,), 1.15), Fault("compute", (6,), 1.3))), {2: COMPUTE, 6: COMPUTE}
    ),
    "compute beside a slow save": Case(
        World(
            save_every=10,
            faults=(Fault("compute", (6,), 1.2), Fault("save", (0,), extra_ms=2000, first=59, last=59)),
        ),
        {6: COMPUTE, 0: SAVE},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_exactly_the_slow_ranks_are_named_with_what_they_did(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    answer = answered(case.world, tmp_path)
    assert set(answer.culprits.select("rank", "stage").rows()) == set(case.slow.items())
    assert answer.verdict == "stragglers"
    first = answer.culprits.row(0, named=True)
    assert f"{first['stage']} (" in answer.summary.split(";")[0]
    assert f"on rank {first['rank']}" in answer.summary.split(";")[0]
    assert answer.links.is_empty()
    assert answer.waited_ns == answer.culprits["waited_ns"].sum() + answer.unnamed_wait_ns


HEALTHY = {
    "plain": World(),
    "long": World(steps=400, seed=2),
    "noisy": World(noise=0.05, differ=0.01, seed=3),
    "tensor parallel": TENSOR,
    "pipeline": PIPELINE,
    "clocks apart": World(skew_ms=50),
    "evaluation": World(eval_every=10),
    "barrier, saves of rank 0": World(save_every=10, barrier=True),
    "saves of rank 0": World(save_every=10),
    "saves and evaluation, clocks apart": World(save_every=20, eval_every=10, skew_ms=30, overlaps=True),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_nobody_is_named_where_nobody_is_slow(name: str, tmp_path: Path) -> None:
    """A save on a schedule is told, with whom the others wait for, and is no fault."""
    world = HEALTHY[name]
    answer = answered(world, tmp_path)
    assert (answer.verdict, len(answer.culprits), len(answer.links)) == ("no_stragglers", 0, 0)
    told = [(0, "job.checkpoint_save")] if world.save_every else []
    assert answer.scheduled.select("rank", "stage").rows() == told
    assert ("Rank 0 does job.checkpoint_save (save_checkpoint) in " in answer.summary) is bool(told)


def test_collections_now_here_and_now_there_are_told_as_spread(tmp_path: Path) -> None:
    """On 15 % of ranks and steps, after the step."""
    answer = answered(World(gc_share=0.15), tmp_path)
    assert (answer.verdict, len(answer.culprits)) == ("spread", 0)
    assert answer.summary.startswith("step.host_bound (gc.collect) held up ")


LINKS = {
    "data parallel group": (replace(TENSOR, faults=(Fault("link", factor=4, groups=("dp-2",)),)), {"dp-2"}),
    "tensor parallel group": (replace(TENSOR, faults=(Fault("link", factor=10, groups=("tp-1",)),)), {"tp-1"}),
    "pair of stages": (replace(PIPELINE, faults=(Fault("link", factor=20, groups=("pp-2-4",)),)), {"pp-2-4"}),
    "now and then": (World(steps=41, faults=(Fault("link", factor=6, first=3, every=8, groups=("dp-0",)),)), {"dp-0"}),
    "only group": (World(faults=(Fault("link", factor=5, first=30, last=60, groups=("dp-0",)),)), {"dp-0"}),
}  # fmt: skip


@pytest.mark.parametrize("name", LINKS)
def test_a_slow_link_is_located_and_no_rank_accused(name: str, tmp_path: Path) -> None:
    world, groups = LINKS[name]
    answer = answered(world, tmp_path)
    assert (answer.verdict, len(answer.culprits)) == ("slow_links", 0)
    assert set(answer.links["collective_group"]) == groups
    [link] = answer.links.to_dicts()
    assert link["ratio"] == pytest.approx(world.faults[0].factor, rel=0.1)
    assert answer.summary.startswith(
        f"Transfer of {link['collective_name']} in group {link['collective_group']}, ranks "
    )


def test_a_slow_card_of_a_host_is_the_candidate(tmp_path: Path) -> None:
    """All pairs of stages across hosts with a rank of the second of three hosts are slow: it is the host's."""
    world = World(pp=3, dp=4, faults=(Fault("link", (4, 5, 6, 7), 8.0),))
    links = answered(replace(world, ranks_per_host=4, pp=3), tmp_path).links
    assert set(links["candidates"].list.first()) <= {"host box01", "rank 4", "rank 5", "rank 6", "rank 7"}


def test_bandwidths_are_those_of_the_world(tmp_path: Path) -> None:
    """25 MB in 1.67 ms: 15 GB/s, and 7/4 of it on the bus of eight ranks; overlapped, most of it is hidden."""
    answer = answered(World(), tmp_path / "plain")
    [row] = answer.collectives.to_dicts()
    assert row["algorithm_gb_per_s"] == pytest.approx(25e6 / (5 / 3 * 1e6), rel=0.02)
    assert row["bus_gb_per_s"] == pytest.approx(row["algorithm_gb_per_s"] * 2 * 7 / 8)
    assert row["hidden_ns"] == 0
    hidden = answered(World(overlaps=True), tmp_path / "overlapped").collectives.row(0, named=True)
    assert hidden["hidden_ns"] > hidden["exposed_ns"] > 0


def test_the_bubble_of_a_pipeline_is_told_apart_from_waiting_for_a_rank(tmp_path: Path) -> None:
    """A slow rank adds waiting, and no bubble."""
    healthy = answered(PIPELINE, tmp_path / "healthy")
    struck = answered(replace(PIPELINE, faults=(Fault("compute", (3,), 1.3),)), tmp_path / "struck")
    assert healthy.bubble_ns > 0.95 * healthy.waited_ns
    assert struck.bubble_ns == pytest.approx(healthy.bubble_ns, rel=0.1)
    assert struck.bubble_ns < 0.8 * struck.waited_ns
    assert "is the pipeline's own bubble, there whoever is slow" in struck.summary
    assert answered(World(), tmp_path / "plain").bubble_ns == 0


def asked(world: World, folder: Path, **question: Any) -> TailAnswer:
    """What `tail` says of the steps of a world."""
    with Database.open(None) as database:
        ingest(database, [run(world, folder)])
        update_units(database)
        return tail(database, "step", **question)


TAILS = {
    "loader now and then": (Fault("load", (5,), extra_ms=40, every=8), "step.data_load on rank 5"),
    "collections after the step": (Fault("gc", (5,), extra_ms=60, every=7), "step.host_bound on rank 5"),
    "compute now and then": (Fault("compute", (5,), 1.5, every=8), "step.compute on rank 5"),
}


@pytest.mark.parametrize("name", TAILS)
def test_the_tail_is_charged_to_what_the_late_rank_took_longer_for(name: str, tmp_path: Path) -> None:
    """And not to its usual work, which only came late: the others waited while it computed."""
    fault, cause = TAILS[name]
    answer = asked(World(faults=(fault,)), tmp_path)
    assert f"; of that {cause} " in answer.summary.split(". ")[0]
    assert answer.causes["excess_ns"].sum() == answer.stages.filter(stage="step.straggler_wait")["excess_ns"].item()


def test_the_tail_names_the_host_and_the_transfer(tmp_path: Path) -> None:
    """A loader that all ranks of a host share; slow transfers that hold the tensor parallel ranks in the next step."""
    loader = World(faults=(Fault("load", (4, 5, 6, 7), extra_ms=30, first=40, last=60),))
    window = {"where": "step BETWEEN 40 AND 60", "baseline": "step BETWEEN 5 AND 35", "quantile": 0.0}
    assert "step.data_load on host box01 " in asked(loader, tmp_path / "host", **window).summary
    link = replace(TENSOR, faults=(Fault("link", factor=8, first=40, last=60, groups=("dp-2",)),))
    transfer = asked(link, tmp_path / "link").summary
    assert "step.exposed_comm" in transfer
    assert "step.compute" not in transfer
