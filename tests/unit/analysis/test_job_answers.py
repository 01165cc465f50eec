"""Goodput and failures of jobs: ratios, causes, costs and sentences."""

from __future__ import annotations

import json
from dataclasses import replace

import polars as pl
import pytest

from tests.unit.stages.job_rows import CLOSED, Job, built, crashed
from tracekit.analysis import failures, goodput
from tracekit.remote import packed, unpacked
from tracekit.report import answer_output
from tracekit.store import Database

S = 1_000_000_000
NS_PER_HOUR = 3600 * S


def test_the_factors_multiply_to_goodput_and_parts_to_the_whole(database: Database) -> None:
    """SG, RG, PG and goodput are ratios of sums of the same leaves; what did not train is listed with owners."""
    answer = goodput(built(database, crashed(resume=6)), price=2.0)
    job = answer.training.jobs.row(0, named=True)
    assert job["sg"] * job["rg"] * job["pg"] == pytest.approx(job["goodput"])
    assert int(answer.training.leaves["ns"].sum()) == int(job["total_ns"])
    ideal = answer.training.leaves.filter(pl.col("leaf").is_in(["step", "step.compute"]))["ns"].sum()
    assert int(answer.training.lost["ns"].sum()) == int(job["total_ns"]) - int(ideal or 0)
    assert job["cost"] == pytest.approx(2.0 * int(job["total_ns"]) / NS_PER_HOUR)
    owners = dict(answer.training.lost.filter(pl.col("cause").is_not_null()).select("owner", "cause").iter_rows())
    assert owners == {"provider": "device on node-0"}


def test_a_failure_has_one_first_cause_and_its_cost(database: Database) -> None:
    """The rank with the XID is first, whose connection was closed follows, and counts close."""
    answer = failures(built(database, crashed(resume=6)))
    incident = answer.as_dict()["incidents"][0]
    assert answer.failed == len(answer.as_dict()["incidents"]) == 1
    cause = incident["first_cause"]
    assert (cause["rank"], cause["host"], cause["kind"], cause["rule"]) == (0, "node-0", "device", "evidence")
    assert [(victim["rank"], victim["role"], victim["manner"]) for victim in incident["victims"]] == [
        (1, "cascade", "blocked")
    ]
    assert sum(role["process_count"] for role in incident["roles"]) == 2
    assert incident["lost_ns"] == incident["lost_work_ns"] + incident["detect_ns"] + incident["recover_ns"]
    assert (incident["resumed_step"], incident["recovery"]) == (5, "saved")


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("NVRM: Xid (PCI:0000:1b:00): 79, GPU has fallen off the bus.", "device"),
        ("mlx5_core 0000:3b:00.0: port down", "network"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "software"),
        ("Out of memory: Killed process 4242 (python)", "host"),
        ("Job preempted by a job of higher priority", "scheduler"),
        ("nvme0n1: I/O error", "storage"),
        (
            "botocore.exceptions.ClientError: An error occurred (SlowDown) when calling the PutObject operation",
            "storage",
        ),
        ("nfs: server 10.0.0.9 not responding, timed out", "storage"),
        ("OSError: [Errno 107] Transport endpoint is not connected: '/mnt/blob'", "storage"),
        ("NCCL WARN NET/IB : Got completion from 10.0.0.7 with status=12 opcode=0 len=0 vendor err 129", "network"),
        ("OSError: [Errno 113] No route to host", "network"),
        ("RuntimeError: CUDA error: out of memory", "software"),
        ("RuntimeError: CUDA error: device-side assert triggered", "software"),
        ("Node n7 failed: NODE_FAIL", "host"),
        ("slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2026-12-01T10:00:00 DUE TO PREEMPTION ***", "scheduler"),
        ("AssertionError: sequence too long", "software"),
        ("EDAC MC0: 1 UE memory read error: uncorrectable memory", "host"),
    ],
)
def test_messages_point_at_kinds_of_culprits(database: Database, message: str, kind: str) -> None:
    """What drivers, kernels, frameworks and schedulers write."""
    assert failures(built(database, broken(message))).training.incidents["kind"].to_list() == [kind]


@pytest.mark.parametrize(
    "message",
    [
        "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE)",
        "NCCL communicator was aborted on rank 2",
        "Connection reset by peer",
        "SIGTERM received",
        "CANCELLED AT 2026-01-01T00:00:00 DUE TO NODE FAILURE",
    ],
)
def test_who_only_follows_is_never_first(database: Database, message: str) -> None:
    """Where all say only that they follow, no first cause can be told."""
    incidents = failures(built(database, broken(message, others=message))).training.incidents
    assert incidents.select("kind", "rule").rows() == [("unknown", "unknown")]
    assert incidents["ranks"].to_list() == [[]]


def broken(message: str, *, others: str = CLOSED) -> Job:
    """Four ranks make steps; rank 2 breaks with a message, the others half a second later."""
    job = Job()
    job.steps(0, 4, 0, ranks=range(4), world=4)
    for rank in range(4):
        end = 53.0 if rank == 2 else 53.5
        said = message if rank == 2 else others
        job.add("step", 50, end, rank=rank, attempt=0, step=5, world=4, host=f"node-{rank}", error=said)
    return job


def test_an_error_that_was_put_right_is_no_cause(database: Database) -> None:
    """A corrected ECC error beside a real one names nobody."""
    job = broken("RuntimeError: shape mismatch")
    job.add("init", 52, 53, rank=0, attempt=0, world=4, host="node-0", error="corrected ECC error on GPU 3")
    incident = failures(built(database, job)).training.incidents.row(0, named=True)
    assert (incident["ranks"], incident["kind"]) == ([2], "software")


def test_the_process_that_ends_first_without_a_word_is_first(database: Database) -> None:
    """No message anywhere: the order of ends tells."""
    job = Job()
    for rank in range(8):
        job.add("init", 0, 10, rank=rank, attempt=0, world=8, host=f"node-{rank}")
        end = 100 if rank == 5 else 130
        error = None if rank == 5 else "SIGTERM received"
        job.add("run", 10, end, rank=rank, attempt=0, world=8, host=f"node-{rank}", error=error)
    job.add("steps", 10, 95, rank=0, attempt=0, world=8, host="node-0",
            **{"tracekit.steps.first": 1, "tracekit.steps.last": 10})  # fmt: skip
    incident = failures(built(database, job)).training.incidents.row(0, named=True)
    assert (incident["hosts"], incident["rule"], incident["onset_ns"]) == (["node-5"], "stopped_first", 100 * S)
    assert incident["kind"] == "unknown"


def slow_job(slow_ns: int) -> Job:
    """Four ranks reduce after 60 s of 100 s steps; rank 2 takes `slow_ns` longer than that, so that all do."""
    job = Job()
    for rank in range(4):
        for step in range(12):
            begin, own = 200 * step, 60 + (slow_ns if rank == 2 else 0)
            told = {"rank": rank, "attempt": 0, "world": 4, "step": step, "host": f"node-{rank}"}
            whole = job.add("step", begin, begin + 100 + slow_ns, **told)
            job.add("forward", begin, begin + own, **told)
            keys = {"tracekit.collective.name": "all_reduce", "tracekit.collective.group": "dp"}
            job.add("collective", begin + own, begin + 100 + slow_ns, **told, **keys, **{"tracekit.collective.seq": 1})
            job.spans[-2:] = [replace(span, parent=whole.id) for span in job.spans[-2:]]
    return job


def test_what_it_would_give_back_stands_beside_the_ledger(database: Database) -> None:
    """20 of 120 s a step go with rank 2; the leaves are what they are without it."""
    answer = goodput(built(database, slow_job(20)), price=3600.0)
    rows = answer.training.savings.select("change", "verdict", "steps").rows()
    assert rows == [("without=stragglers", "faster", 11), ("without=rank:2", "faster", 11)]
    kept = answer.training.leaves.filter(pl.col("leaf") != "job.post")["ns"].sum()
    for row in answer.training.savings.iter_rows(named=True):
        assert row["saving_low"] <= row["saving"] <= row["saving_high"]
        assert row["step_ns"] * (1 - row["saving"]) == pytest.approx(row["after_ns"])
        assert int(row["given_back_ns"]) == pytest.approx(row["saving"] * int(kept or 0), abs=1)
        assert row["cost"] == pytest.approx(int(row["given_back_ns"]) / S)
    job = answer.training.jobs.row(0, named=True)
    assert int(answer.training.leaves["ns"].sum()) == int(job["total_ns"])
    assert "By replay, beside these shares and no part of them: without rank 2 a step would be" in answer.summary
    assert "What it would give back" in answer_output(answer).text
    [told] = answer.as_dict()["training"]
    assert [row["change"] for row in told["savings"]] == ["without=stragglers", "without=rank:2"]


def test_nothing_is_given_back_where_nobody_is_slow(database: Database) -> None:
    answer = goodput(built(database, slow_job(0)))
    assert answer.training.savings.select("change", "verdict").rows() == [("without=stragglers", "no_difference")]
    assert "By replay" not in answer.summary


def test_steps_too_many_to_replay_unasked_are_told(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.analysis.jobs.savings.MOST_SPANS", 100)
    answer = goodput(built(database, slow_job(20)))
    assert answer.training.savings.select("change", "verdict", "spans").rows() == [(None, "too_large", 144)]
    assert "its steps have 144 spans" in answer.summary


def test_model_flops_utilisation_needs_all_of_its_parts(database: Database) -> None:
    """No tokens were counted: none is told, whatever else is given."""
    answer = goodput(built(database, crashed(resume=6)), flops_per_token=6e9, device="h100")
    assert answer.training.jobs["mfu"].to_list() == [None]


def test_scaling_compares_runs_of_different_size(database: Database) -> None:
    """Twice the ranks at the same time a step: half the efficiency."""
    small, large = Job("small", trace=1), Job("large", trace=2)
    small.steps(0, 3, 0, world=2, service="a")
    large.steps(0, 3, 0, ranks=range(4), world=4, service="b")
    scaling = goodput(built(database, small, large)).training.scaling
    assert scaling.select("world_size", "efficiency").rows() == [(2, 1.0), (4, 0.5)]


def test_a_job_that_is_not_there_is_told_with_those_that_are(database: Database) -> None:
    """The answers say what to ask instead."""
    answer = goodput(built(database, crashed(resume=6)), job="k")
    assert (answer.verdict, answer.summary) == ("no_jobs", "The store holds no job 'k'; there are 'j'.")
    assert failures(database, job="k").summary == answer.summary


def test_a_job_without_a_failure_is_there(database: Database) -> None:
    job = Job()
    job.steps(0, 3, 0, world=2)
    assert failures(built(database, job), job="j").summary == "No attempt of a job failed."


def test_an_empty_store_has_no_jobs(database: Database) -> None:
    """Nothing to tell, and it is said."""
    assert goodput(database).summary == "The store holds no training job."
    assert failures(database).as_dict()["failed"] == 0


def test_answers_cross_the_wire_and_print_everywhere(database: Database) -> None:
    """What arrives from a server says the same; sums of all sizes are whole numbers in JSON."""
    built(database, crashed(resume=6))
    for answer in (goodput(database, price=2.0), failures(database)):
        arrived = unpacked(json.loads(json.dumps(packed(answer))))
        assert arrived.as_dict() == answer.as_dict()
        assert answer_output(answer).text


def test_steps_whose_gradients_overflowed_are_told_beside_the_ledger(database: Database) -> None:
    """Two ranks, ten steps of 10 s; the loss scaler skips steps 4 and 7, as rank 0 says of both and rank 1 of one."""
    job = Job()
    for rank in range(2):
        for step in range(10):
            said = {"optimizer.overflow": True} if step == 4 or (step == 7 and rank == 0) else {}
            job.add("step", 10 * step, 10 * step + 10, rank=rank, attempt=0, world=2, step=step, host="node-0", **said)
    answer = goodput(built(database, job)).training
    told = answer.skipped.select("job_id", "step", "rank_count", "ns").rows()
    assert told == [("j", 4, 2, 20 * S), ("j", 7, 2, 20 * S)]
    assert "2 steps were skipped because gradients overflowed, between steps 4 and 7: their work, " in answer.summary
    assert "40 accelerator-seconds or 20.0%" in answer.summary
    assert int(answer.leaves["ns"].sum()) == int(answer.jobs["total_ns"][0])
    assert unpacked(packed(answer)).skipped.equals(answer.skipped)
