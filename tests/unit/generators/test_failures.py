"""Engines that fail, calls that cancel their requests, replicas that start cold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from generators.serving import dialects, stages, state
from generators.serving.dialects.common import STARTUP_NAMES
from generators.serving.simulation import Run
from generators.serving.timeline import stage_ns

Short = Callable[..., Run]
NS_PER_S = 1_000_000_000


def test_an_engine_fails_its_share_of_attempts_after_prefill(short_run: Short) -> None:
    """500 only from the replica concerned, only while the fault is on, and about as often as asked."""
    run = short_run("engine_errors", clients__rate_per_s=60.0, fault__error_share=0.5)
    requests = run.requests
    failed = requests[requests["status"] == 500]
    assert set(failed["replica"].tolist()) == {1}
    assert set(failed["engine_errors"].tolist()) == {1}
    assert failed["close_ns"].min() >= 4 * NS_PER_S
    assert failed["close_ns"].max() < 9 * NS_PER_S
    on_time = (requests["replica"] == 1) & (requests["arrival_ns"] > 4.2e9) & (requests["arrival_ns"] < 8.5e9)
    assert 0.35 < (requests["status"][on_time] == 500).mean() < 0.65
    spent = stage_ns(run)[requests["status"] == 500].sum(axis=(0, 1))
    assert spent[stages.ENG_PREFILL] > 0
    assert spent[stages.ENG_DECODE] == 0


def test_attempts_that_an_engine_fails_are_repeated_where_the_gateway_may(short_run: Short) -> None:
    """Each attempt has luck of its own, so most requests get through in the end."""
    run = short_run("engine_errors", gateway__max_attempts=5, clients__rate_per_s=40.0)
    again = run.requests[run.requests["attempt"] > 0]
    assert again.size > 5
    assert (again["outcome"] == state.OK).mean() > 0.9
    assert stage_ns(run)[run.requests["attempt"] > 0][:, :, stages.RETRY].sum(axis=1).all()


def test_a_failed_request_takes_its_siblings_with_it(short_run: Short) -> None:
    """Whoever was cancelled names a sibling that failed just before; nobody else is cancelled."""
    run = short_run("cancel_cascade", clients__rate_per_s=40.0)
    requests = run.requests
    cancelled = requests[requests["cancelled_by"] >= 0]
    assert cancelled.size > 5
    assert (cancelled["status"] == 499).all()
    cause = requests[cancelled["cancelled_by"]]
    assert np.isin(cause["status"], [500, 503]).all()
    assert (cause["arrival_ns"] == cancelled["arrival_ns"]).all()
    assert (cancelled["close_ns"] - cause["close_ns"] == 2_000_000).all()
    assert ((requests["status"] == 499) == (requests["cancelled_by"] >= 0)).all()
    calls = requests["status"].reshape(-1, 4)
    assert not ((calls == 500).any(axis=1) & (calls == 200).all(axis=1)).any()


def test_requests_of_a_call_arrive_together_at_the_rate_asked_for(short_run: Short) -> None:
    """The fan-out changes how requests come, not how many."""
    run = short_run("healthy", clients__fan_out=4, clients__rate_per_s=100.0, run__duration_s=30.0)
    times = run.requests["arrival_ns"].reshape(-1, 4)
    assert (times == times[:, :1]).all()
    assert abs(run.requests.size / 30.0 - 100.0) < 15.0


COLD = {"fault__image_s": 2.0, "fault__weights_s": 1.5, "fault__compile_s": 1.0}


def test_while_all_replicas_start_requests_wait_at_the_gateway(short_run: Short) -> None:
    """From the rollout on until the new ones are ready, then all at once; what runs is finished."""
    run = short_run("cold_start", **COLD)
    waited = run.intervals[run.intervals["stage"] == stages.GW_QUEUE]
    assert waited.size > 10
    assert (waited["start_ns"] >= 4 * NS_PER_S).all()
    assert (waited["end_ns"] == 8.5 * NS_PER_S).all()
    assert (run.requests["outcome"] == state.OK).all()


def test_while_one_replica_starts_the_other_takes_all(short_run: Short) -> None:
    """Nobody waits at the gateway."""
    run = short_run("scale_up_lag", **COLD)
    assert not (run.intervals["stage"] == stages.GW_QUEUE).any()
    routed = run.intervals[run.intervals["stage"] == stages.NET_DISPATCH]
    during = (routed["start_ns"] >= 4 * NS_PER_S) & (routed["start_ns"] < 8.5 * NS_PER_S)
    assert set(routed["replica"][during].tolist()) == {0}
    assert set(routed["replica"].tolist()) == {0, 1}


def test_each_replica_that_starts_tells_its_phases_in_a_trace_of_its_own(short_run: Short) -> None:
    """Image, weights, compilation, one after the other, never below a request."""
    run = short_run("cold_start", **COLD)
    emission = dialects.emission(run, seed=1)
    phases = {group.name: group for group in emission.groups if group.name in STARTUP_NAMES}
    lengths = {name: (group.end_ns - group.start_ns).tolist() for name, group in phases.items()}
    assert lengths == {"pull_image": [2 * NS_PER_S] * 2, "load_weights": [1.5 * NS_PER_S] * 2,
                       "compile": [1 * NS_PER_S] * 2}  # fmt: skip
    assert all((group.trace >= run.requests.size).all() for group in phases.values())
