"""Units of jobs: rows in, the ledger and its incidents out, also from bad rows."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.unit.stages.job_rows import CLOSED, Job, S, built, crashed
from tests.unit.stages.stored import Span, store
from tracekit.analysis import failures, goodput, quality
from tracekit.stages import update_units
from tracekit.store import Database


def leaves(database: Database, job: str = "j") -> dict[str, float]:
    """Accelerator-seconds by leaf."""
    rows = goodput(database, job=job).training.leaves
    return {leaf: int(ns) / S for leaf, ns in rows.select("leaf", "ns").iter_rows()}


def exact(database: Database) -> bool:
    """Whether the leaves of every job sum to all accelerators from submission to release."""
    sums = database.sql("SELECT job_id, sum(accelerator_ns)::DECIMAL(38, 0) AS ns FROM job_leaves GROUP BY job_id")
    whole = database.sql("SELECT job_id, (accelerators::HUGEINT * (end_ns - start_ns))::DECIMAL(38, 0) AS ns FROM jobs")
    return sums.sort("job_id").equals(whole.sort("job_id"))


def noted(database: Database) -> set[str]:
    """Codes of what was noticed about jobs, which `quality` tells too."""
    codes = set(database.sql("SELECT note FROM job_notes")["note"])
    told = {name.partition(":")[2] for name in quality(database).checks["check"] if name.startswith("job:")}
    assert codes == told
    return codes


def test_a_job_from_the_spans_of_its_ranks_alone(database: Database) -> None:
    """Nobody tells the job, its attempts have no span: kept steps, lost ones, the outage, all exact."""
    built(database, crashed(resume=6))
    assert leaves(database) == {
        "job.init": 60, "unattributed": 2 * (60 + 140), "job.checkpoint_save": 1, "job.lost_work": 2 * 36,
        "job.recover": 2000,
    }  # fmt: skip
    assert exact(database)
    assert noted(database) == {"attempts_without_root", "job_not_ended"}


def test_an_outage_shows_though_no_step_number_comes_again(database: Database) -> None:
    """Resumed at step 9: what ml-goodput-measurement takes for 99 % is the time of kept steps, and no more."""
    built(database, crashed(resume=9))
    found = leaves(database)
    assert (found["job.recover"], found["job.lost_work"]) == (2000, 12)
    assert found["unattributed"] == 2 * 200
    incident = failures(database).training.incidents.row(0, named=True)
    assert (incident["resumed_step"], incident["recovery"]) == (8, "unsaved")


def test_stragglers_inside_steps_are_no_goodput(database: Database) -> None:
    """One of four ranks computes twice as long every second step: two thirds train, 65.6 % of the whole."""
    job = Job()
    start = 5.0
    for step in range(20):
        slow = step % 2
        for rank in range(4):
            span = job.add("step", start, start + 10 + 10 * slow, rank=rank, attempt=0, step=step, world=4)
            busy = 20 if slow and rank == 3 else 10
            job.add("compute", start, start + busy, rank=rank, attempt=0, step=step, world=4, parent=span)
        start += 10 + 10 * slow
    for rank in range(4):
        job.add("init", 0, 5, rank=rank, attempt=0, world=4)
    spans = [span if "parent" not in span.attributes else _below(span) for span in job.spans]
    store(database, spans)
    update_units(database)
    answer = goodput(database).training.jobs.row(0, named=True)
    assert answer["goodput"] == pytest.approx(200 / 305)
    assert leaves(database)["step.slow_compute"] == 100
    assert answer["sg"] * answer["rg"] * answer["pg"] == pytest.approx(answer["goodput"])


def _below(span: Span) -> Span:
    attributes = dict(span.attributes)
    parent: Span = attributes.pop("parent")
    return replace(span, parent=parent.id, attributes=attributes)


def test_the_order_and_portions_of_arrival_do_not_matter(database: Database) -> None:
    """Spans one after the other, shuffled, late ones included, give what all at once give."""
    spans = crashed(resume=6).spans
    with Database.open(None) as other:
        store(other, spans)
        update_units(other)
        at_once = {name: other.sql(f"FROM {name} ORDER BY ALL") for name in VIEWS}
    random.Random(7).shuffle(spans)
    for start in range(0, len(spans), 11):
        store(database, spans[start : start + 11])
        update_units(database)
    for name, frame in at_once.items():
        ids = [column for column in frame.columns if column in ("resource_id", "ingest_id")]
        assert database.sql(f"FROM {name} ORDER BY ALL").drop(ids).equals(frame.drop(ids)), name


VIEWS = ("jobs", "job_attempts", "job_leaves", "job_incidents", "job_members", "job_notes")


def test_attempts_that_nobody_tells_are_cut_where_ranks_come_again(database: Database) -> None:
    """No attempt in sight, other processes: the same ledger as with attempts."""
    job = crashed(resume=6)
    job.spans = [replace(span, attempt=None, service=f"trainer-{span.attempt}") for span in job.spans]
    built(database, job)
    found = leaves(database)
    assert (found["job.recover"], found["job.lost_work"]) == (2000, 72)
    assert exact(database)
    assert "attempts_inferred" in noted(database)


def test_attempts_inside_one_process_are_cut_where_steps_begin_again(database: Database) -> None:
    """The loop goes back to the save inside the process: steps 6 to 8 are lost."""
    job = Job()
    job.steps(0, 8, 0, attempt=None)
    job.steps(6, 11, 100, attempt=None)
    built(database, job)
    assert leaves(database)["job.lost_work"] == 2 * 30
    assert exact(database)
    assert "attempts_inferred" in noted(database)


def test_summaries_give_the_ledger_without_any_step_span(database: Database) -> None:
    """Steps from save to save, one process for eight accelerators; a failure behind the last save."""
    job = Job()
    for number, (at, resume) in enumerate([(0, 0), (2000, 100)]):
        job.add("attempt", at, at + 1000, attempt=number, service="scheduler", world=16)
        job.add("job.queue", at, at + 50, attempt=number, service="scheduler")
        for rank in (0, 8):
            where = {"rank": rank, "attempt": number, "world": 16, "host": f"node-{rank}"}
            job.add("job.provision", at + 50, at + 80, attempt=number, host=f"node-{rank}", service="agent")
            job.add("init", at + 80, at + 100, **where)
            error = CLOSED if number == 0 and rank else None
            job.add("run", at + 100, at + (510 if number else 900), error=error, **where)
        lead = {"rank": 0, "attempt": number, "world": 16, "host": "node-0"}
        told = {"tracekit.steps.first": resume + 1, "tracekit.steps.last": resume + 100}
        job.add("steps", at + 100, at + 500, **lead, **told)
        job.add("checkpoint_save", at + 500, at + 510, **lead, **{"tracekit.steps.last": resume + 100})
    built(database, job)
    found = leaves(database)
    assert exact(database)
    assert found["job.queue"] == 2 * 16 * 50
    assert found["job.provision"] == 2 * 16 * 30
    assert found["step"] == 16 * 400 * 2
    assert found["job.checkpoint_save"] == 2 * 16 * 10


def test_a_job_that_never_ended_counts_until_the_last_thing_seen(database: Database) -> None:
    """Its end is said to be unknown."""
    job = Job()
    job.steps(0, 3, 0)
    built(database, job)
    row = goodput(database).training.jobs.row(0, named=True)
    assert (row["end_ns"], row["is_ended"]) == (40 * S, False)
    assert "Its end was not seen" in goodput(database).summary
    assert "job_not_ended" in noted(database)


def test_jobs_rest_while_data_keeps_arriving_and_are_made_at_the_end(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two seconds of work give eighteen of rest to who follows; who asks for all gets all."""
    clock = iter([0.0, 0.0, 2.0, 19.0, 19.5, 20.0])
    spans = crashed(resume=6).spans
    store(database, spans[:20])
    monkeypatch.setattr("tracekit.stages.update.jobs.time.monotonic", lambda: next(clock))
    update_units(database, is_following=True)
    first = database.sql("FROM jobs")
    store(database, spans[20:])
    update_units(database, is_following=True)
    assert database.sql("FROM jobs").equals(first)
    update_units(database)
    assert not database.sql("FROM jobs").equals(first)
