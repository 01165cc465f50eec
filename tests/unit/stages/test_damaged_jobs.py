"""Jobs with ranks, steps, attempts or ids missing, more than once, or in contradiction."""

from __future__ import annotations

import random
from dataclasses import replace

import polars as pl
import pytest

from tests.unit.stages.job_rows import Job, S, built
from tests.unit.stages.test_jobs import exact, leaves, noted
from tracekit.analysis import failures, goodput, quality
from tracekit.store import Database


def test_missing_ranks_follow_the_others(database: Database) -> None:
    """Two of four ranks send nothing: their accelerators are in the sum, and that it is derived is told."""
    job = Job()
    job.steps(0, 3, 0, world=4)
    built(database, job)
    assert exact(database)
    row = goodput(database).training.leaves.filter(pl.col("derived_ns") > 0)
    assert int(row["derived_ns"].sum()) == 2 * 40 * S
    assert "processes_missing" in noted(database)


def test_a_restart_with_another_world_size_leaves_accelerators_idle_or_queued(database: Database) -> None:
    """Which of both cannot be told without a scheduler: it is not split."""
    job = Job()
    job.steps(0, 3, 0, ranks=range(4), world=4)
    job.steps(4, 7, 40, attempt=1, world=2)
    built(database, job)
    assert exact(database)
    assert leaves(database)["unsplit(job.queue|job.degraded_idle)"] == 2 * 40
    assert "world_changed" in noted(database)


def test_steps_skipped_repeated_and_out_of_order(database: Database) -> None:
    """Each is counted; the ledger stays exact."""
    job = Job()
    job.steps(0, 3, 0)
    job.steps(6, 7, 40)
    job.add("step", 5, 15, rank=0, attempt=0, step=1, world=2, host="node-0")
    random.Random(3).shuffle(job.spans)
    built(database, job)
    assert exact(database)
    assert {"steps_skipped", "steps_repeated", "steps_overlap"} <= noted(database)


def test_attempts_that_overlap_are_cut_where_the_next_begins(database: Database) -> None:
    """A process of the old attempt that lives on gets no second time."""
    job = Job()
    job.steps(0, 9, 0)
    job.steps(5, 9, 80, attempt=1)
    built(database, job)
    assert exact(database)
    assert "attempts_overlap" in noted(database)


def test_no_step_spans_at_all(database: Database) -> None:
    """A job that only starts: all is start."""
    job = Job()
    job.add("init", 0, 100, rank=0, attempt=0, world=1)
    built(database, job)
    assert leaves(database) == {"job.init": 100}
    assert "attempts_without_steps" in noted(database)


def test_clocks_minutes_apart_are_moved_to_each_other(database: Database) -> None:
    """One of four hosts is two minutes ahead: the ledger is that of one clock, and that it was moved is told."""
    job = Job()
    for rank in range(4):
        job.add("init", 0, 50, rank=rank, attempt=0, world=4, host=f"node-{rank}")
    job.steps(0, 9, 50, ranks=range(4), world=4)
    job.spans = [
        replace(span, start=span.start + 120 * S, end=span.end + 120 * S) if span.host == "node-2" else span
        for span in job.spans
    ]
    built(database, job)
    assert leaves(database) == {"job.init": 200, "unattributed": 400}
    assert "clocks_apart" in noted(database)


def test_two_jobs_of_one_name_are_two_jobs(database: Database) -> None:
    """Each has its own outermost span: their times are not added up."""
    jobs = []
    for trace, at in ((1, 0), (2, 5000)):
        job = Job(trace=trace)
        job.add("job", at, at + 100, service="scheduler")
        job.steps(0, 3, at + 20, service=f"trainer-{trace}")
        jobs.append(job)
    built(database, *jobs)
    rows = goodput(database).training.jobs
    assert rows["job_id"].to_list() == ["j", "j (2)"]
    assert (rows["end_ns"] - rows["start_ns"]).to_list() == [100 * S, 100 * S]
    assert exact(database)
    assert "several_runs" in noted(database)


@pytest.mark.parametrize("with_roots", [True, False])
@pytest.mark.parametrize("attempt", [0, None])
def test_two_jobs_of_one_name_at_the_same_time_share_no_time(
    database: Database, with_roots: bool, attempt: int | None
) -> None:
    """Their ranks send traces of their own: who is rank 0 while another is rank 0 belongs to another job."""
    jobs = []
    for number, at in ((1, 0), (2, 15)):
        job = Job(trace=number)
        job.steps(0, 9, at, attempt=attempt, service=f"trainer-{number}")
        job.spans = [replace(span, trace=10 * number + (span.rank or 0)) for span in job.spans]
        if with_roots:
            job.add("job", at, at + 100, service="scheduler")
        jobs.append(job)
    built(database, *jobs)
    rows = goodput(database).training.jobs
    assert rows["job_id"].to_list() == ["j", "j (2)"]
    assert (rows["end_ns"] - rows["start_ns"]).to_list() == [100 * S, 100 * S]
    assert exact(database)
    assert {"several_runs"} <= noted(database)
    told = quality(database)
    assert told.verdict == "poor"
    assert any("more than once under one number" in reason for reason in told.reasons)


def test_a_job_of_the_same_name_an_hour_later_is_no_clock_that_is_off(database: Database) -> None:
    """Without spans of the jobs it is a restart, as far as anybody can tell; but nobody's clock is moved."""
    for number, at in ((1, 0), (2, 3600)):
        job = Job(trace=number)
        job.steps(0, 9, at, ranks=range(4), world=4, service=f"trainer-{number}")
        job.spans = [replace(span, host=f"{span.host}-{number}") for span in job.spans]
        built(database, job)
    assert goodput(database).training.jobs.select("job_id", "attempt_count").rows() == [("j", 2)]
    assert exact(database)
    assert "attempts_inferred" in noted(database)
    assert "clocks_apart" not in noted(database)


def test_more_ranks_than_the_world_has_are_told(database: Database) -> None:
    """The world says two, four train: which number is wrong cannot be known, and the answer is no good one."""
    job = Job()
    job.steps(0, 9, 0, ranks=range(4), world=2)
    built(database, job)
    assert exact(database)
    assert "world_exceeded" in noted(database)
    assert quality(database).verdict == "usable"
    assert goodput(database).evidence.verdict == "usable"


def test_steps_without_numbers_are_neither_kept_nor_over(database: Database) -> None:
    job = Job()
    job.steps(0, 9, 0)
    job.spans = [replace(span, attributes={"tracekit.stage": "step"}) for span in job.spans]
    built(database, job)
    assert leaves(database) == {"unsplit(step|job.post)": 200}
    assert "attempts_without_steps" in noted(database)


def test_spans_that_say_nothing_of_the_job_are_told_as_such(database: Database) -> None:
    """No ledger can be made, but the store does not say that it holds no job."""
    job = Job()
    for step in range(4):
        job.add("forward", 10 * step, 10 * step + 5, rank=0, attempt=0, world=1, step=step)
    built(database, job)
    assert "spans of job 'j'" in goodput(database).summary
    assert "spans of job 'j'" in goodput(database, job="j").summary
    assert goodput(database, job="other").summary == "The store holds no training job."


@pytest.mark.parametrize("attempts", [[0, 1, 2], [None, None, None]])
def test_each_of_several_hangs_has_its_own_culprit(database: Database, attempts: list[int | None]) -> None:
    """Who makes no next step while all others run into their time-outs is silent, though no span tells its end."""
    job = Job()
    for place, attempt in enumerate(attempts):
        at, culprit, service = 1000 * place, (2, 3, 1)[place], f"trainer-{place}"
        job.steps(5 * place, 5 * place + 4, at, ranks=range(4), world=4, attempt=attempt, service=service)
        for rank in {0, 1, 2, 3} - {culprit}:
            job.add(
                "step",
                at + 50,
                at + 650,
                rank=rank,
                attempt=attempt,
                world=4,
                step=5 * place + 5,
                host=f"node-{rank}",
                service=service,
                error="Watchdog caught collective operation timeout",
            )
    built(database, job)
    found = failures(database).training.incidents
    assert found.select("attempt", "rule", "ranks").rows() == [
        (0, "silent", [2]), (1, "silent", [3]), (2, "silent", [1])
    ]  # fmt: skip
    assert exact(database)


def test_a_rank_without_any_span_may_be_the_one_that_hung(database: Database) -> None:
    """The three others waited: that nobody was missing would be false."""
    job = Job()
    for rank in range(3):
        job.add(
            "step",
            0,
            600,
            rank=rank,
            attempt=0,
            world=4,
            step=0,
            host=f"node-{rank}",
            error="Watchdog caught collective operation timeout",
        )
    built(database, job)
    incident = failures(database).training.incidents.row(0, named=True)
    assert incident["rule"] == "unknown"
    assert incident["message"] == "all processes that were seen waited; 1 of the world sent no span, and may be first"


def test_a_job_id_on_some_spans_only(database: Database) -> None:
    """A rank that does not name its job belongs to the job in whose trace its spans lie."""
    job = Job()
    job.steps(0, 3, 0)
    job.spans = [replace(span, job=None) if span.rank == 1 else span for span in job.spans]
    built(database, job)
    rows = goodput(database).training.jobs
    assert rows.select("job_id", "accelerators").rows() == [("j", 2)]
    assert "job_id_missing" in noted(database)
    assert quality(database).verdict != "good"


def test_a_job_id_that_only_some_spans_of_a_process_have(database: Database) -> None:
    """No process names its job, every third span does."""
    job = Job(None)
    job.steps(0, 8, 0)
    job.spans = [
        replace(span, attributes=span.attributes | ({"tracekit.job.id": "j"} if at % 3 == 0 else {}))
        for at, span in enumerate(job.spans)
    ]
    built(database, job)
    assert goodput(database).training.jobs.select("job_id", "accelerators").rows() == [("j", 2)]
    assert exact(database)
    assert "job_id_missing" in noted(database)
