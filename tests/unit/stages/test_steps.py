"""Training steps: exclusive time by priority, collectives cut where the last rank arrives, waits followed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.unit.stages.stored import ERROR, Span, by_stage, store, times
from tracekit.stages import update_units
from tracekit.store import Database

WAIT, COMM = "step.straggler_wait", "step.exposed_comm"
UNSPLIT = f"unsplit({WAIT}|{COMM})"


def span(id: int, rank: int, start: int, end: int, stage: str, step: int | None = 1, **other: Any) -> Span:
    """A span of one rank; its parent is the rank's step span (id 100 + rank) unless it says otherwise."""
    attributes = {"tracekit.stage": stage} | ({} if step is None else {"tracekit.step": step})
    values: dict[str, Any] = {"parent": 0 if stage == "step" else 100 + rank, "job": "j", "attempt": 0}
    return Span(id, start, end, stage, rank=rank, attributes=attributes | other.pop("also", {}), **values | other)


def step(rank: int, start: int, end: int, **other: Any) -> Span:
    return span(100 + rank, rank, start, end, "step", **other)


def reduce(
    id: int,
    rank: int,
    start: int,
    end: int,
    *,
    seq: int | None = 1,
    group: str = "dp",
    **other: Any,
) -> Span:
    keys = {"tracekit.collective.name": "all_reduce", "tracekit.collective.group": group}
    keys |= {} if seq is None else {"tracekit.collective.seq": seq}
    return span(id, rank, start, end, "collective", also=keys, **other)


def waits(database: Database, *, rank: int) -> dict[tuple[int, str, str], int]:
    """Whom a rank waited for in step 1: rank, stage and operation of the culprit."""
    update_units(database)
    rows = database.sql(
        "SELECT culprit_rank, culprit_stage, culprit_operation, wait_ns "
        "FROM units JOIN step_waits USING (unit_id) WHERE step = 1 AND rank = $rank",
        rank=rank,
    )
    return {(culprit, stage, operation): ns for culprit, stage, operation, ns in rows.rows()}


def steps(database: Database) -> list[dict[str, Any]]:
    update_units(database)
    return database.sql("SELECT * FROM units WHERE kind = 'step' ORDER BY attempt, step, rank").rows(named=True)


def test_one_rank_is_explained_by_its_own_operations(database: Database) -> None:
    """What no operation covers is unattributed, under the name of the step span."""
    store(
        database,
        [
            step(0, 0, 100),
            span(1, 0, 5, 20, "data_load"),
            span(2, 0, 20, 50, "forward"),
            span(3, 0, 50, 80, "backward"),
            span(4, 0, 85, 95, "optimizer"),
        ],
    )
    assert times(database, step=1, rank=0) == {
        ("step", "unattributed", "step"): 15,
        ("step", "step.data_load", "data_load"): 15,
        ("step", "step.compute", "forward"): 30,
        ("step", "step.compute", "backward"): 30,
        ("step", "step.compute", "optimizer"): 10,
    }


def test_overlapping_operations_own_time_by_priority(database: Database) -> None:
    """Compute hides copies, copies hide communication, communication hides what the host does."""
    store(
        database,
        [
            step(0, 0, 100),
            span(1, 0, 0, 40, "forward"),
            span(2, 0, 30, 60, "copy"),
            replace(reduce(3, 0, 20, 80), world=1),
            span(4, 0, 10, 90, "data_load"),
            span(5, 0, 0, 100, "custom"),
        ],
    )
    assert times(database, step=1, rank=0) == {
        ("step", "step.compute", "forward"): 40,
        ("step", "step.copy", "copy"): 20,
        ("step", COMM, "collective"): 20,
        ("step", "step.data_load", "data_load"): 10,
        ("step", "job.custom", "custom"): 10,
    }


def test_a_collective_is_waiting_until_the_last_rank_arrives(database: Database) -> None:
    """Rank 1 arrives at 60: what rank 0 spends before is waiting, the rest is transfer."""
    store(database, [step(0, 0, 100), step(1, 0, 100), reduce(1, 0, 20, 80), reduce(2, 1, 60, 80)])
    assert times(database, step=1, rank=0) == {
        ("step", "unattributed", "step"): 40,
        ("step", WAIT, "collective"): 40,
        ("step", COMM, "collective"): 20,
    }
    assert times(database, step=1, rank=1) == {
        ("step", "unattributed", "step"): 80,
        ("step", COMM, "collective"): 20,
    }


def test_a_wait_is_charged_to_what_the_last_rank_was_doing(database: Database) -> None:
    """Rank 0 waits from 20 to 60; rank 1 loaded data until 50, then did nothing that it tells."""
    late = [step(1, 0, 100), span(3, 1, 10, 50, "data_load"), reduce(2, 1, 60, 80)]
    store(database, [step(0, 0, 100), reduce(1, 0, 20, 80), *late])
    assert waits(database, rank=0) == {
        (1, "step.data_load", "data_load"): 30,
        (1, "unattributed", "step"): 10,
    }
    assert waits(database, rank=1) == {}


def test_a_wait_for_a_rank_that_waits_is_charged_to_whom_that_one_waits_for(database: Database) -> None:
    """Rank 0 waits for rank 1 in the pair (0, 1), rank 1 for rank 2 in the pair (1, 2)."""
    store(
        database,
        [
            step(0, 0, 100),
            reduce(1, 0, 10, 90, group="a"),
            step(1, 0, 100),
            reduce(2, 1, 10, 70, group="b"),
            reduce(3, 1, 70, 90, group="a"),
            step(2, 0, 100),
            span(4, 2, 0, 60, "forward"),
            reduce(5, 2, 60, 70, group="b"),
        ],
    )
    assert waits(database, rank=1) == {(2, "step.compute", "forward"): 50}
    assert waits(database, rank=0) == {(2, "step.compute", "forward"): 50, (1, COMM, "collective"): 10}


def test_a_wait_for_a_rank_outside_its_step_is_charged_to_that_rank(database: Database) -> None:
    """Rank 1 starts its step at 50; what it did before is in no span of the step."""
    store(database, [step(0, 0, 100), reduce(1, 0, 20, 80), step(1, 50, 100), reduce(2, 1, 60, 80)])
    assert waits(database, rank=0) == {
        (1, "unattributed", "outside the step"): 30,
        (1, "unattributed", "step"): 10,
    }


def test_a_wait_for_a_rank_without_step_span_is_charged_to_that_rank(database: Database) -> None:
    """Its collective tells when it arrived, nothing tells what it did; it has no unit of its own."""
    alone = [step(0, 0, 100), reduce(1, 0, 20, 80), step(2, 0, 100), reduce(3, 2, 20, 80)]
    store(database, [*alone, reduce(2, 1, 60, 80)])
    assert [unit["rank"] for unit in steps(database)] == [0, 2]
    assert waits(database, rank=0) == {(1, "unattributed", "outside the step"): 40}


@pytest.mark.parametrize("others", [[], [replace(step(1, 0, 30), status=ERROR)]])
def test_waiting_and_transfer_of_an_incomplete_collective_are_not_split(database: Database, others: list[Span]) -> None:
    """A rank that is not there, or failed before any collective, may have been waited for."""
    store(database, [replace(each, world=2) for each in (step(0, 0, 100), reduce(1, 0, 20, 80), *others)])
    assert times(database, step=1, rank=0) == {
        ("step", "unattributed", "step"): 40,
        ("step", UNSPLIT, "collective"): 60,
    }
    assert steps(database)[0]["flags"] == "ranks_missing"


@pytest.mark.parametrize(("world", "stage"), [(None, UNSPLIT), (1, COMM)])
def test_one_part_alone_tells_nothing_unless_the_job_has_one_rank(
    database: Database, world: int | None, stage: str
) -> None:
    """Where nobody says how many ranks there are, others may have come later and sent nothing."""
    store(database, [replace(each, world=world) for each in (step(0, 0, 100), reduce(1, 0, 20, 80))])
    assert by_stage(times(database, step=1, rank=0), "step") == {stage: 60, "unattributed": 40}


def test_a_rank_that_is_in_other_groups_only_is_not_waited_for(database: Database) -> None:
    """Rank 2 finished its step with a collective of its own: it is no member of the pair (0, 1)."""
    pair = [step(0, 0, 100), step(1, 0, 100), reduce(1, 0, 20, 80), reduce(2, 1, 60, 80)]
    store(
        database,
        [replace(each, world=3) for each in (*pair, step(2, 0, 100), reduce(3, 2, 0, 9, group="own"))],
    )
    assert times(database, step=1, rank=0)["step", WAIT, "collective"] == 40
    assert steps(database)[0]["flags"] is None


def test_a_rank_that_leaves_before_the_last_arrives_contradicts_the_rule(database: Database) -> None:
    """Then it was no synchronising collective, or the clocks differ: nothing is split, and it is counted."""
    store(database, [step(0, 0, 100), step(1, 0, 100), reduce(1, 0, 20, 50), reduce(2, 1, 60, 80)])
    assert times(database, step=1, rank=0)["step", UNSPLIT, "collective"] == 30
    assert [(unit["conflict_count"], unit["flags"]) for unit in steps(database)] == [(1, "conflict:collective")] * 2


@pytest.mark.parametrize("seq", [7, None])
def test_collectives_match_by_number_or_else_by_order(database: Database, seq: int | None) -> None:
    """Without sequence numbers, and where one repeats, the n-th of one rank meets the n-th of the other."""
    first = [reduce(1, 0, 10, 30, seq=seq), reduce(2, 1, 20, 30, seq=seq)]
    second = [reduce(3, 0, 40, 70, seq=seq), reduce(4, 1, 60, 70, seq=seq)]
    store(database, [step(0, 0, 100), step(1, 0, 100), *second, *first])
    assert times(database, step=1, rank=0)["step", WAIT, "collective"] == 10 + 20


def test_hidden_waiting_is_no_waiting(database: Database) -> None:
    """While a rank computes it does not wait, even if its collective is open already."""
    store(
        database,
        [
            step(0, 0, 100),
            span(3, 0, 10, 50, "backward"),
            reduce(1, 0, 20, 80),
            step(1, 0, 100),
            reduce(2, 1, 60, 80),
        ],
    )
    assert times(database, step=1, rank=0)["step", WAIT, "collective"] == 10


def test_each_attempt_and_step_is_matched_for_itself(database: Database) -> None:
    """Sequence numbers start anew in every attempt."""
    other = [replace(each, attempt=1, trace=2) for each in (step(1, 0, 100), reduce(2, 1, 90, 95))]
    store(database, [step(0, 0, 100), replace(reduce(1, 0, 20, 80), world=1), *other])
    assert times(database, step=1, rank=0)["step", COMM, "collective"] == 60
    assert [(unit["attempt"], unit["rank"]) for unit in steps(database)] == [(0, 0), (1, 1)]


def test_operations_belong_to_the_step_of_the_nearest_span_above_that_names_one(database: Database) -> None:
    """A span without step of its own is part of the step it lies in, however deep."""
    store(
        database,
        [
            step(0, 0, 100),
            span(1, 0, 10, 60, "forward", step=None),
            span(2, 0, 20, 30, "copy", step=None, parent=1),
        ],
    )
    assert times(database, step=1, rank=0)["step", "step.compute", "forward"] == 50
    assert steps(database)[0]["span_count"] == 3


def test_spans_of_the_job_belong_to_no_step(database: Database) -> None:
    """Start, restore and the attempt itself are the job's, even where they name a step or enclose it."""
    job = [
        span(7, 0, 0, 500, "attempt", step=None, parent=0),
        span(8, 0, 0, 90, "init", step=1, parent=7),
        span(9, 0, 90, 99, "checkpoint_load", step=1, parent=7),
        span(10, 0, 400, 410, "forward", step=None, parent=7),
    ]
    store(database, [*job, replace(step(0, 100, 200), parent=7)])
    assert update_units(database).requests == 0
    assert times(database, step=1, rank=0) == {("step", "unattributed", "step"): 100}
    assert steps(database)[0]["span_count"] == 1


def test_a_span_in_a_step_that_names_no_stage_is_unattributed_under_its_name(database: Database) -> None:
    """Nothing says what it is, but which span it was helps."""
    plain = Span(1, 10, 40, "evaluate", parent=100, job="j", attempt=0, rank=0)
    store(database, [step(0, 0, 100), plain])
    assert times(database, step=1, rank=0) == {
        ("step", "unattributed", "step"): 70,
        ("step", "unattributed", "evaluate"): 30,
    }


def test_a_step_that_failed_says_so(database: Database) -> None:
    """The status of the step span is the outcome."""
    store(database, [replace(step(0, 0, 100), status=ERROR), step(1, 0, 100)])
    assert [unit["outcome"] for unit in steps(database)] == ["failed", "ok"]


def test_of_several_step_spans_of_a_rank_the_earliest_is_the_unit(database: Database) -> None:
    """The others are reported, not added."""
    store(database, [step(0, 0, 100), replace(step(0, 200, 300), id=7), span(1, 0, 210, 220, "forward")])
    [unit] = steps(database)
    assert (unit["start_ns"], unit["end_ns"], unit["flags"]) == (0, 100, "several_step_spans")
    assert (unit["outside_count"], unit["post_root_ns"]) == (0, 120)


def test_background_work_of_the_host_does_not_hold_up_a_step(database: Database) -> None:
    """An asynchronous checkpoint runs beside the step."""
    store(database, [step(0, 0, 100), span(1, 0, 10, 90, "checkpoint_save", also={"tracekit.async": True})])
    assert times(database, step=1, rank=0) == {("step", "unattributed", "step"): 100}


def test_the_critical_path_is_the_alternative_of_a_step(database: Database) -> None:
    """Where operations overlap the two rules differ; both sum to the step."""
    store(database, [step(0, 0, 100), span(1, 0, 0, 60, "forward"), span(2, 0, 40, 100, "data_load")])
    update_units(database)
    rows = database.sql("SELECT stage, self_ns, alternative_ns FROM unit_stages ORDER BY stage").rows()
    assert rows == [("step.compute", 60, 0), ("step.data_load", 40, 60), ("unattributed", 0, 40)]


def test_processes_without_rank_or_attempt_count_as_the_first(database: Database) -> None:
    """A single process need not say which it is."""
    store(database, [replace(step(0, 0, 100), rank=None, attempt=None)])
    [unit] = steps(database)
    assert (unit["job_id"], unit["attempt"], unit["rank"]) == ("j", 0, 0)


def between(id: int, rank: int, start: int, end: int, stage: str) -> Span:
    """A span of a rank outside its steps, which names none."""
    return span(id, rank, start, end, stage, step=None, parent=0)


def test_a_late_rank_is_followed_into_the_time_between_its_steps(database: Database) -> None:
    """Rank 1 saves from 100 to 150 after its step 0, pauses to 160, and comes to the collective of step 1 at 180."""
    before = [span(200 + rank, rank, 0, 100, "step", step=0, parent=0) for rank in (0, 1)]
    late = [step(1, 160, 250), between(3, 1, 100, 150, "checkpoint_save"), reduce(2, 1, 180, 200)]
    store(database, [*before, step(0, 100, 250), reduce(1, 0, 110, 200), *late])
    assert waits(database, rank=0) == {
        (1, "job.checkpoint_save", "checkpoint_save"): 40,
        (1, "unattributed", "between steps"): 10,
        (1, "unattributed", "step"): 20,
    }
    led_in = database.sql(
        "SELECT rank, step, stage, self_ns FROM units JOIN step_lead_ins USING (unit_id) ORDER BY ALL"
    )
    assert led_in.rows() == [(1, 1, "job.checkpoint_save", 50), (1, 1, "unattributed", 10)]


def test_a_late_rank_is_followed_into_its_step_before(database: Database) -> None:
    """Rank 1 still computes in step 0 until 150, while rank 0 waits for it in step 1 from 110."""
    before = [
        span(200, 0, 0, 100, "step", step=0, parent=0),
        span(201, 1, 0, 150, "step", step=0, parent=0),
        span(202, 1, 0, 150, "forward", step=0, parent=201),
    ]
    store(database, [*before, step(0, 100, 250), reduce(1, 0, 110, 200), step(1, 150, 250), reduce(2, 1, 160, 200)])
    assert waits(database, rank=0) == {(1, "step.compute", "forward"): 40, (1, "unattributed", "step"): 10}
    steps_of = database.sql("SELECT culprit_stage, culprit_step FROM step_waits ORDER BY ALL").rows()
    assert steps_of == [("step.compute", 0), ("unattributed", 1)]


def test_the_span_of_an_epoch_is_no_work_between_steps(database: Database) -> None:
    """It goes on until the step has ended: what lies before the step is not explained by it."""
    before = [span(200 + rank, rank, 0, 100, "step", step=0, parent=0) for rank in (0, 1)]
    late = [step(1, 160, 250), between(3, 1, 50, 300, "custom"), reduce(2, 1, 160, 200)]
    store(database, [*before, step(0, 100, 250), reduce(1, 0, 110, 200), *late])
    assert waits(database, rank=0) == {(1, "unattributed", "between steps"): 50}
