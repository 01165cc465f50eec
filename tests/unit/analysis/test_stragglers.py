"""Stragglers: who was slow itself, and what it cost the others."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence

import pytest

from tests.unit.analysis.rows import Step, write_units
from tracekit.analysis import quality, stragglers, tail
from tracekit.store import Database

Write = Callable[[Sequence[Step]], Database]
MS = 1_000_000
RANKS = 4


def _steps(
    count: int, slow: dict[tuple[int, int], int], *, stage: str = "step.data_load", ranks: int = RANKS
) -> list[Step]:
    """Steps of four ranks (or `ranks`) that compute about 100 ms and load for 5 ms.

    `slow` adds time to the loading of (step, rank); the others wait for the slowest in each step.
    """
    draw = random.Random(5)
    steps = []
    for step in range(count):
        loads = [5 * MS + draw.randrange(MS) + slow.get((step, rank), 0) for rank in range(ranks)]
        latest = max(loads)
        culprit = loads.index(latest)
        for rank, load in enumerate(loads):
            wait = latest - load
            waits = [(culprit, stage, wait)] if wait else []
            parts = [(stage, load), ("step.compute", 100 * MS), ("step.straggler_wait", wait)]
            steps.append(Step(step, rank, parts, waits))
    return steps


def _place(
    database: Database,
    hosts: Sequence[str | None],
    stages: Sequence[int] | None = None,
    *,
    attempt: int | None = 0,
    world_size: int | None = None,
) -> None:
    """Tell on which host each rank runs, and in which stage of the pipeline."""
    with database.transaction() as cursor:
        for rank, host in enumerate(hosts):
            attributes = {} if stages is None else {"tracekit.parallel.pp": stages[rank]}
            cursor.execute(
                "INSERT INTO base.resources (resource_id, identity_hash, host_name, job_id, attempt, rank, "
                "world_size, attributes, dropped_attributes_count) "
                "VALUES ($rank, $rank, $host, 'job', $attempt, $rank, $world_size, $attributes::JSON::VARIANT, 0)",
                {
                    "rank": rank,
                    "host": host,
                    "attempt": attempt,
                    "world_size": world_size,
                    "attributes": json.dumps(attributes),
                },
            )


def test_a_slow_rank_is_named_with_its_stage_and_steps(store: Write) -> None:
    """Rank 2 loads 150 ms longer in steps 20 to 29: one row, and not the ranks that wait for it."""
    answer = stragglers(store(_steps(60, {(step, 2): 150 * MS for step in range(20, 30)})))
    culprit = answer.culprits.row(0, named=True)
    named = (culprit["rank"], culprit["stage"], culprit["steps"], culprit["first_step"], culprit["last_step"])
    assert len(answer.culprits) == 1
    assert named == (2, "step.data_load", 10, 20, 29)
    assert culprit["lost_ns"] == culprit["own_ns"] + culprit["waited_ns"]
    assert 1490 * MS < culprit["own_ns"] < 1510 * MS
    assert 4400 * MS < culprit["waited_ns"] < 4500 * MS
    assert "step.data_load (step.data_load) on rank 2, steps 20-29" in answer.summary
    assert "Shares are of all accelerator time in the 59 steps looked at." in answer.summary


def test_a_rank_that_is_slow_now_and_then_is_named_once(store: Write) -> None:
    """Nine single steps of 200, none of which cost a hundredth of the job's time, together five: one row."""
    answer = stragglers(store(_steps(200, {(step, 2): 150 * MS for step in range(20, 200, 20)})))
    [culprit] = answer.culprits.rows(named=True)
    assert (culprit["rank"], culprit["steps"], culprit["first_step"], culprit["last_step"]) == (2, 9, 20, 180)


@pytest.mark.parametrize(("hosts", "places"), [(("a", "a", "b", "b"), {"b"}), (("a", "b", "c", "d"), {"2", "3"})])
def test_ranks_of_one_host_count_together(store: Write, hosts: tuple[str, ...], places: set[str]) -> None:
    """Ranks 2 and 3 are slow in the same steps: on one host it is the host, else each for itself."""
    slow = {(step, rank): 20 * MS for step in range(20, 35) for rank in (2, 3)}
    database = store(_steps(200, slow))
    _place(database, hosts)
    answer = stragglers(database)
    assert set(answer.culprits["rank"].to_list()) == {2, 3}
    assert set(answer.culprits["place"].to_list()) == places


@pytest.mark.parametrize("count", [40, 400])
def test_what_is_named_does_not_depend_on_how_long_the_job_is(store: Write, count: int) -> None:
    """Twelve steps of 20 ms on one rank, the rest healthy."""
    [culprit] = stragglers(store(_steps(count, {(step, 2): 20 * MS for step in range(20, 32)}))).culprits.to_dicts()
    assert (culprit["rank"], culprit["steps"], culprit["first_step"], culprit["last_step"]) == (2, 12, 20, 31)


def test_what_comes_now_on_one_and_now_on_another_rank_is_told_as_spread(store: Write) -> None:
    answer = stragglers(store(_steps(60, {(step, step * 7 % RANKS): 100 * MS for step in range(1, 60)})))
    assert answer.verdict == "spread"
    assert answer.culprits.is_empty()
    assert answer.summary.startswith(
        "step.data_load (step.data_load) held up 59 steps, now on one and now on another of 4 ranks: "
    )


STAGE_1 = {(None, 1)}
ITS_RANKS = {(2, None), (3, None)}


@pytest.mark.parametrize(
    ("hosts", "stages", "named"),
    [
        ("abcd", (0, 0, 1, 1), STAGE_1),
        ("abab", (0, 0, 1, 1), STAGE_1),
        ("aaaa", (0, 0, 1, 1), STAGE_1),
        ((None,) * 4, (0, 0, 1, 1), STAGE_1),
        ("aabb", (0, 0, 1, 1), ITS_RANKS),
        ("abcd", (0, 1, 2, 3), ITS_RANKS),
        ("abcd", (0, 1, 1, 1), ITS_RANKS),
        ("abcd", None, ITS_RANKS),
    ],
    ids=[
        "a host a rank", "replicas on hosts", "one host for all", "hosts unknown", "the stage is a host",
        "the stage is a rank", "a part of the stage", "stages unknown",
    ],
)  # fmt: skip
def test_a_pipeline_stage_is_named_where_nothing_else_unites_its_slow_ranks(
    store: Write,
    hosts: Sequence[str | None],
    stages: Sequence[int] | None,
    named: set[tuple[int | None, int | None]],
) -> None:
    """Ranks 2 and 3 are slow in steps 20 to 29: as all of pipeline stage 1, or as ranks."""
    slow = {(step, rank): 150 * MS for step in range(20, 30) for rank in (2, 3)}
    database = store(_steps(60, slow))
    _place(database, hosts, stages)
    answer = stragglers(database)
    assert set(answer.culprits.select("rank", "pipeline_stage").rows()) == named
    assert 2990 * MS < answer.culprits["own_ns"].sum() < 3010 * MS
    assert answer.culprits["waited_ns"].sum() + answer.unnamed_wait_ns == answer.waited_ns


@pytest.mark.parametrize(
    ("ranks", "said"), [(4, "all its 2 ranks alike"), (2, "a heavy cut of the model or a slow rank")]
)
def test_stages_of_uneven_length_are_told(store: Write, ranks: int, said: str) -> None:
    """The later stage computes 40 ms longer in every step; nobody is slower than usual."""
    steps = [
        Step(step, rank, [("step.compute", taken_ns), ("step.straggler_wait", wait_ns)], waits)
        for step in range(20)
        for rank in range(ranks)
        for taken_ns, wait_ns, waits in [
            (140 * MS, 0, []) if rank >= ranks // 2
            else (100 * MS, 40 * MS, [(ranks - 1, "step.compute", 40 * MS)])
        ]
    ]  # fmt: skip
    database = store(steps)
    _place(database, ["a"] * ranks, [rank * 2 // ranks for rank in range(ranks)])
    answer = stragglers(database)
    assert (answer.verdict, len(answer.culprits)) == ("uneven_pipeline", 0)
    columns = ("pipeline_stage", "rank_count", "compute_ns", "typical_ns", "waited_ns", "is_heavy")
    waited_ns = 19 * 40 * MS * ranks // 2
    assert answer.pipeline.select(columns).rows() == [
        (0, ranks // 2, 100 * MS, 100 * MS, 0, False),
        (1, ranks // 2, 140 * MS, 100 * MS, waited_ns, True),
    ]
    assert said in answer.summary


@pytest.mark.parametrize(("ranks", "slow"), [(2, {1}), (4, {2, 3}), (4, {2})])
def test_ranks_that_are_always_slow_are_named(store: Write, ranks: int, slow: set[int]) -> None:
    """A slow rank of two, or two of four on a bad host, is measured by the ranks that are not slow."""
    always = {(step, rank): 40 * MS for step in range(30) for rank in slow}
    answer = stragglers(store(_steps(30, always, ranks=ranks)))
    named = answer.culprits.select("rank", "stage", "first_step", "last_step").sort("rank").rows()
    assert named == [(rank, "step.data_load", 1, 29) for rank in sorted(slow)]


def test_waiting_for_a_rank_whose_work_is_usual_is_told(store: Write) -> None:
    """Rank 0 waits 30 ms in each step for rank 1, which works no longer: a late clock, or late starts."""
    waiting = ("step.straggler_wait", 30 * MS)
    steps = [
        part
        for step in range(20)
        for part in (
            Step(step, 0, [("step.compute", 100 * MS), waiting], [(1, "unattributed", 30 * MS)]),
            Step(step, 1, [("step.compute", 100 * MS)]),
        )
    ]
    summary = stragglers(store(steps)).summary
    assert "No rank's own work stands out in 19 steps." in summary
    assert "The ranks waited 570 ms for each other, 100% of it for rank 1." in summary


def test_all_waiting_is_either_charged_or_unnamed(store: Write) -> None:
    """What ranks waited is split exactly into named culprits and the rest."""
    answer = stragglers(store(_steps(60, {(40, 1): 400 * MS, (41, 1): 400 * MS})))
    assert answer.unnamed_wait_ns > 0
    assert answer.culprits["waited_ns"].sum() + answer.unnamed_wait_ns == answer.waited_ns


def test_healthy_jitter_is_not_named(store: Write) -> None:
    """Ranks that differ by less than a millisecond are no stragglers."""
    answer = stragglers(store(_steps(60, {})))
    assert (answer.verdict, len(answer.culprits)) == ("no_stragglers", 0)


def test_one_short_hiccup_is_not_named(store: Write) -> None:
    """A single slow step that costs less than a hundredth of the job's time is jitter."""
    answer = stragglers(store(_steps(100, {(50, 0): 60 * MS})))
    assert answer.verdict == "no_stragglers"


def test_a_stall_of_all_ranks_has_no_culprit_rank(store: Write) -> None:
    """Where every rank is slow in the same stage at once, the spans do not tell who held them."""
    stalled = {(39, rank): 1500 * MS for rank in range(RANKS)}
    answer = stragglers(store(_steps(60, stalled, stage="job.checkpoint_save")))
    culprit = answer.culprits.row(0, named=True)
    assert (culprit["rank"], culprit["stage"], culprit["first_step"]) == (None, "job.checkpoint_save", 39)
    assert culprit["own_ns"] > 5900 * MS
    assert "all ranks together, step 39" in answer.summary


@pytest.mark.parametrize("ranks", [(0, 1, 2, 3), (2,)])
def test_a_small_run_beside_a_large_one_is_not_named(store: Write, ranks: tuple[int, ...]) -> None:
    """What was lost in one stall does not lift a hiccup of the same operation over the limit."""
    slow = {(50, rank): 1500 * MS for rank in ranks} | {(9, rank): 20 * MS for rank in ranks}
    answer = stragglers(store(_steps(80, slow)))
    assert answer.culprits.select("first_step", "last_step").rows() == [(50, 50)]


def test_separate_runs_of_steps_are_separate_rows(store: Write) -> None:
    """The same rank at fault twice is two episodes."""
    slow = {(step, 3): 150 * MS for step in [*range(10, 15), *range(40, 45)]}
    answer = stragglers(store(_steps(60, slow)))
    assert answer.culprits.select("first_step", "last_step").sort("first_step").rows() == [(10, 14), (40, 44)]


def test_the_first_step_of_an_attempt_warms_up(store: Write) -> None:
    """A slow first step is counted and not blamed on a rank."""
    answer = stragglers(store(_steps(30, {(0, rank): 2000 * MS for rank in range(RANKS)})))
    assert answer.verdict == "no_stragglers"
    assert answer.jobs["warm_up_count"].to_list() == [1]


def test_steps_that_failed_are_counted_and_not_compared(store: Write) -> None:
    """The step in which a rank died says nothing about its speed."""
    steps = _steps(30, {})
    died = [Step(30, rank, [("step.compute", 900 * MS)], outcome="failed") for rank in range(RANKS)]
    answer = stragglers(store(steps + died))
    assert answer.jobs["failed_count"].to_list() == [1]
    assert answer.verdict == "no_stragglers"


def test_few_steps_give_no_reference(store: Write) -> None:
    """Four steps are too few to call one of them slow."""
    assert stragglers(store(_steps(4, {(2, 1): 900 * MS}))).verdict == "too_few_steps"


def test_only_the_asked_job_is_looked_at(store: Write) -> None:
    """A job that is not there has no steps, whatever characters its name has."""
    database = store(_steps(60, {(step, 2): 150 * MS for step in range(20, 30)}))
    assert stragglers(database, job="job").verdict == "stragglers"
    absent = stragglers(database, job="o'neil")
    assert absent.verdict == "no_steps"
    assert absent.summary == "The store holds no steps of job \"o'neil\"; there are steps of 'job'."


def test_an_empty_store_has_no_steps(database: Database) -> None:
    """No steps is an answer, not an error."""
    answer = stragglers(database)
    assert (answer.verdict, answer.slowdown, answer.wall_ns) == ("no_steps", None, 0)


def test_the_dictionary_is_json_with_the_stable_keys(store: Write) -> None:
    """Scripts rely on these keys."""
    slow = {(step, 2): 150 * MS for step in range(20, 30)}
    answer = json.loads(json.dumps(stragglers(store(_steps(60, slow)), job="job").as_dict()))
    assert answer["slowdown"] > 1.1
    assert answer["quality"]["verdict"] == "good"
    assert {"rank", "stage", "steps", "lost_ns", "share"} <= answer["culprits"][0].keys()


def _uneven_job(attempt: int | None) -> list[Step]:
    """Two pipeline stages of two ranks, the second twice as heavy; rank 1 stalls in steps 20 to 29."""
    steps = []
    for step in range(40):
        for rank in range(RANKS):
            compute = (100 if rank < 2 else 200) * MS + (step * 7 + rank) % 5 * 1000
            stall = 150 * MS if rank == 1 and 20 <= step < 30 else 0
            parts = [("step.data_load", 5 * MS + stall), ("step.compute", compute)]
            steps.append(Step(step, rank, parts, attempt=attempt))
    return steps


def test_a_job_that_does_not_tell_its_attempt_is_treated_like_all_others() -> None:
    """Roles, hosts, heavy stages and missing ranks are known all the same, so that no heavy stage looks slow."""
    told = []
    for attempt in (0, None):
        with Database.open(None) as database:
            write_units(database, _uneven_job(attempt))
            _place(database, ["a", "a", "b", "b"], [0, 0, 1, 1], attempt=attempt, world_size=5)
            answer = stragglers(database)
            slowest = tail(database, "step", quantile=0.94)
            hosts = slowest.differences.filter(dimension="host_name").drop("adjusted_p")
            missing = answer.evidence.reasons, quality(database).reasons
            told.append((answer.culprits.drop("attempt").rows(), answer.pipeline.rows(), hosts.rows(), missing))
    assert told[0] == told[1]
    culprits, pipeline, hosts, (reasons, of_store) = told[1]
    assert [row[:4] for row in culprits] == [("job", "1", 1, None)]
    assert [row[-1] for row in pipeline] == [False, True]
    assert hosts
    assert reasons == of_store == ["40 of 40 training steps lack ranks of their world"]
