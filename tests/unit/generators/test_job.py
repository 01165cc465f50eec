"""The life of a job: every accelerator's time is in one leaf, failures are those of the published runs."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.json.file import FileSpanExporter

from generators import scenarios
from generators.generate import generate, prepare
from generators.job import causes
from generators.job.emission import emission
from generators.job.ledger import ledger
from generators.job.life import NONE, Life, simulate
from generators.job.truth import failures, owners_ns, truth
from generators.sdk_export import export_spans
from generators.spans import SpanGroup
from tracekit.errors import UsageError

NS_PER_S = 1_000_000_000
JOBS = scenarios.names(model="job")


def lived(scenario: str = "job_life", *, seed: int = 1, **overrides: Any) -> Life:
    """The life of a scenario's job; `a__b=1` stands for `a.b`."""
    more = {name.replace("__", "."): value for name, value in overrides.items()}
    return simulate(prepare(scenarios.load(scenario), overrides=more)[1], seed=seed)


@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32), hosts=st.sampled_from([4, 16, 64]), is_elastic=st.booleans(),
    rate=st.floats(0, 30000), every=st.integers(1, 400), steps=st.integers(1, 1500),
)  # fmt: skip
def test_every_place_is_in_one_leaf_at_any_time(
    seed: int, hosts: int, is_elastic: bool, rate: float, every: int, steps: int
) -> None:
    """Over the leaves each host's time is the life of the job, to the nanosecond, and no leaf is negative."""
    life = lived(
        seed=seed, job__accelerators=hosts * 8, elastic__enabled=is_elastic, failures__per_1000_node_days=rate,
        checkpoint__every_steps=every, run__steps=steps, run__max_attempts=60,
    )  # fmt: skip
    found = ledger(life)
    assert set(sum(found.values()).tolist()) == {life.released_ns}
    assert all((spent >= 0).all() for spent in found.values())


@pytest.mark.parametrize("scenario", JOBS)
def test_kept_steps_add_up_to_the_work(scenario: str) -> None:
    """Each attempt starts after what was kept; together the attempts keep every step once."""
    life = lived(scenario)
    assert life.is_done
    assert [one.first_step for one in life.attempts] == [0, *(one.kept_step for one in life.attempts[:-1])]
    assert life.attempts[-1].kept_step == int(life.values["run.steps"])
    for one in life.attempts:
        durable = one.saved_step[one.durable_ns <= one.stopped_ns]
        if one.failure is not None:
            assert one.kept_step == durable.max(initial=one.first_step)


def test_failures_come_at_the_published_rate_with_the_published_causes() -> None:
    """Per 1000 node-days of running; a third are faulty accelerators."""
    found, node_days = [], 0.0
    for seed in range(12):
        life = lived(seed=seed, job__accelerators=8192, run__steps=60000, failures__per_1000_node_days=3.79)
        found += failures(life)
        ran_ns = sum(one.stopped_ns - one.first_step_ns for one in life.attempts)
        node_days += ran_ns / NS_PER_S / 86400 * life.places
    expected = 3.79 * node_days / 1000
    assert abs(len(found) - expected) < 3 * np.sqrt(expected)
    share = np.mean([one.cause.name == "faulty_gpu" for one in found])
    assert abs(share - 148 / 419) < 3 * np.sqrt(0.35 * 0.65 / len(found))
    hanging = np.mean([one.hangs for one in found])
    assert abs(hanging - 0.135) < 3 * np.sqrt(0.135 * 0.865 / len(found))


def test_causes_are_the_419_unexpected_interruptions() -> None:
    """Their counts sum to the published total."""
    assert sum(cause.count for cause in causes.CAUSES) == 419
    assert causes.drawn(0.0).name == "faulty_gpu"
    assert causes.drawn(1.0).name == "memory"


def test_what_hangs_is_declared_by_the_watchdog() -> None:
    """Ten minutes later; all other hosts are victims, and the detection is theirs and the culprit's."""
    life = lived("job_hang")
    [failure] = failures(life)
    assert failure.declared_ns - failure.onset_ns == 600 * NS_PER_S
    assert failure.onset_ns == 7200 * NS_PER_S
    assert (ledger(life)["job.detect"] == 600 * NS_PER_S).all()
    told = truth(life, seed=1, emission=emission(life, seed=1))
    assert told["culprits"][0]["host"] == "node-7"
    assert told["units"][0]["attempts"][0]["failure"]["victims"] == 127


def test_a_process_that_ends_is_noticed_in_seconds() -> None:
    """By inspection, long before the watchdog."""
    [failure] = failures(lived("job_hang", fault__hangs=False))
    assert 2 * NS_PER_S < failure.declared_ns - failure.onset_ns < 60 * NS_PER_S


def test_an_elastic_job_shrinks_by_a_unit_and_grows_back_at_a_checkpoint() -> None:
    """Nobody waits for the replacement; the three healthy hosts of the unit are idle meanwhile."""
    life = lived("job_elastic")
    hosts = [int(one.is_active.sum()) for one in life.attempts]
    assert hosts == [128, 124, 128]
    shrunk = life.attempts[1]
    assert shrunk.kept_step % int(life.values["checkpoint.every_steps"]) == 0
    spent = ledger(life)
    idle = spent["job.degraded_idle"]
    assert np.flatnonzero(idle).tolist() == [4, 5, 6, 7]
    # The replacement is there before the checkpoint at which it can join.
    assert idle[4] == idle[5] == idle[6] == idle[7] + spent["job.queue"][7] - life.attempts[0].granted_ns[7]
    assert spent["job.gang_wait"][0] == life.attempts[0].all_granted_ns - life.attempts[0].granted_ns[0]
    waits = lived("job_elastic", elastic__enabled=False)
    assert ledger(waits)["job.gang_wait"][0] > spent["job.gang_wait"][0]
    assert not ledger(waits)["job.degraded_idle"].any()


@pytest.mark.parametrize(("accelerators", "seconds"), [(16384, 17.0), (64000, 100.0), (98000, 200.0)])
def test_nccl_init_takes_as_long_as_published(accelerators: int, seconds: float) -> None:
    """From the last process that starts until all are connected."""
    life = lived("job_slow_registry", job__accelerators=accelerators, run__steps=10)
    one = life.attempts[0]
    assert one.connected_ns - one.process_ns.max() == seconds * NS_PER_S


def test_a_fault_changes_nothing_before_it() -> None:
    """Same seed, same queue, same hosts, same steps until it strikes."""
    life, other = lived("job_hang"), lived("job_hang", fault__cause="none")
    one, same = life.attempts[0], other.attempts[0]
    assert (one.process_ns == same.process_ns).all()
    assert (one.step_end_ns == same.step_end_ns[: one.step_end_ns.size]).all()


def by_name(life: Life) -> dict[str, list[SpanGroup]]:
    """Groups of spans by name."""
    found: dict[str, list[SpanGroup]] = {}
    for group in emission(life, seed=1).groups:
        found.setdefault(str(group.name), []).append(group)
    return found


def total_ns(groups: list[SpanGroup]) -> int:
    """Time of all spans."""
    return sum(int((group.end_ns - group.start_ns).sum()) for group in groups)


def test_spans_of_hosts_tell_provisioning_init_and_restore_exactly() -> None:
    """Host by host what the ledger has, in host time."""
    life = lived("job_life")
    groups, spent = by_name(life), ledger(life)
    assert total_ns(groups["checkpoint_load"]) == spent["job.checkpoint_load"].sum()
    assert total_ns(groups["init"]) + total_ns(groups["compile"]) == spent["job.init"].sum()
    placed = sum((one.placed_ns - one.all_granted_ns) * life.places for one in life.attempts)
    assert total_ns(groups["provision"]) + placed == spent["job.provision"].sum()
    steps = sum(int(one.attributes["tracekit.steps.last"].size) for one in groups["steps"])
    assert steps >= len(life.attempts)


def test_processes_end_as_they_do() -> None:
    """The culprit at once where it fails openly, all others when the failure is declared."""
    life = lived("job_hang", fault__hangs=False)
    failure, run = failures(life)[0], by_name(life)["run"][0]
    origin_ns = int(life.values["run.start_unix_s"]) * NS_PER_S
    ends = set((run.end_ns - origin_ns).tolist())
    assert ends == {failure.onset_ns, failure.declared_ns}
    assert int(np.flatnonzero(run.end_ns - origin_ns == failure.onset_ns)[0]) == failure.place
    assert failure.place != NONE


@pytest.mark.parametrize("scenario", JOBS)
def test_nothing_in_the_spans_gives_the_truth_away(scenario: str) -> None:
    """No cause is named, nothing injected, no lost work; the same seed gives the same bytes."""
    texts = []
    for _ in range(2):
        stream = StringIO()
        export_spans(emission(lived(scenario), seed=1), FileSpanExporter(stream=stream))
        texts.append(stream.getvalue().lower())
    assert texts[0] == texts[1]
    for word in ("inject", "culprit", "lost_work", "truth", "scenario", scenario, "faulty_gpu", "hbm3"):
        assert word not in texts[0]


def test_owners_share_all_of_the_time() -> None:
    """Time lost to a broken machine is the provider's, to a software bug the application's."""
    life = lived("job_life")
    shared = owners_ns(life)
    assert sum(shared.values()) == life.released_ns * 1024
    assert shared["provider"] > 0


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"job.accelerators": 1001}, "no multiple of job.per_host"),
        ({"elastic.enabled": True, "elastic.unit_hosts": 7}, "does not divide"),
        ({"fault.cause": "nic", "fault.host": 128}, "fault.host 128 does not exist"),
        ({"failures.per_1000_node_days": -1}, "must be a number from 0"),
        ({"fault.cause": "gremlins"}, "must be one of none, faulty_gpu"),
    ],
)
def test_impossible_jobs_are_refused(overrides: dict[str, Any], message: str) -> None:
    """Before anything is written, with the parameters at odds."""
    with pytest.raises(UsageError, match=message):
        prepare(scenarios.load("job_life"), overrides=overrides)


def test_one_scenario_goes_from_the_job_to_a_call_of_its_model(tmp_path: Path) -> None:
    """Job first, requests apart from it, linked to it; each account has owners and sums to its own whole."""
    small = {"training.job.accelerators": 64, "training.run.steps": 300}
    told = generate("cloud_boundary", seed=3, overrides=small, out=tmp_path / "out").content
    job, request = told["units"]
    assert sum(told["owners_ns"]["training"].values()) == job["total_ns"]
    e2e_ns = request["end_ns"] - request["start_ns"] + sum(request["client_net_ns"])
    assert sum(told["owners_ns"]["serving"].values()) == e2e_ns
    assert set(told["owners_ns"]["serving"]) == {"client", "application", "platform"}
    assert request["start_ns"] >= job["end_ns"] + 3599 * NS_PER_S
    text = (tmp_path / "out" / "traces.jsonl").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    spans = [
        span
        for line in lines for part in line["resourceSpans"] for scope in part["scopeSpans"] for span in scope["spans"]
    ]  # fmt: skip
    links = [link for span in spans for link in span.get("links", [])]
    assert [link["traceId"] for link in links] == [job["trace_id"]]
    assert {span["traceId"] for span in spans} == {job["trace_id"], request["trace_id"]}
