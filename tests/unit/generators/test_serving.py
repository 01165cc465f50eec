"""The serving model behaves like the systems it stands for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from generators.serving import stages, state
from generators.serving.simulation import Run, simulate
from generators.serving.timeline import attempts, stage_ns
from generators.serving.workload import arrival_times_ns, draw
from tests.unit.generators.conftest import short_values

Short = Callable[..., Run]


def seconds(run: Run, stage: int) -> float:
    """Time of all requests in one stage."""
    return float(stage_ns(run)[:, :, stage].sum()) / 1e9


@settings(max_examples=15)
@given(
    rate=st.floats(0.5, 40), kv=st.integers(16_000, 60_000), seats=st.integers(1, 64), chunked=st.booleans(),
    aborts=st.floats(0, 1), timeout=st.sampled_from([0.0, 0.05, 0.5]), inflight=st.sampled_from([0, 3, 30]),
    disaggregated=st.booleans(), crash=st.booleans(), spec=st.integers(0, 4), seed=st.integers(0, 2**32),
)  # fmt: skip
def test_time_is_conserved_whatever_the_configuration(
    rate: float, kv: int, seats: int, chunked: bool, aborts: float, timeout: float, inflight: int,
    disaggregated: bool, crash: bool, spec: int, seed: int,
) -> None:  # fmt: skip
    """Stages sum to the request, every request ends, and nothing stays in an engine."""
    split = {"disagg__prefill_replicas": 1, "disagg__decode_replicas": 2} if disaggregated else {}
    values = short_values(
        "healthy", run__duration_s=8.0, clients__rate_per_s=rate, engine__kv_tokens=kv,
        engine__max_num_seqs=seats,
        engine__chunked_prefill=chunked, clients__abort_share=aborts, clients__patience_median_s=1.0,
        gateway__attempt_timeout_s=timeout, gateway__max_attempts=3, gateway__max_inflight=inflight,
        gateway__max_migrations=1, engine__spec_tokens=spec, fault__crash=crash, **split,
    )  # fmt: skip
    run = simulate(values, seed=seed)
    assert (stage_ns(run).sum(axis=(1, 2)) == run.requests["close_ns"] - run.requests["arrival_ns"]).all()
    assert (run.requests["outcome"] > 0).all()
    assert (run.requests["blocks"] == 0).all()
    assert (run.injected_ns >= 0).all()


def test_the_same_seed_gives_the_same_run_and_another_seed_another(short_run: Short) -> None:
    """Nothing depends on the clock, the process or the order of dictionaries."""
    one, again, other = short_run("slow_worker"), short_run("slow_worker"), short_run("slow_worker", seed=2)
    assert np.array_equal(one.intervals, again.intervals)
    assert not np.array_equal(one.intervals, other.intervals)


def test_requests_in_the_system_are_arrival_rate_times_their_time(short_run: Short) -> None:
    """Little's law, from two independent readings: the intervals, and the counters of the engines."""
    run = short_run("healthy", run__duration_s=200.0, emit__metrics_interval_s=0.05, fault__start_s=1.0)
    inside = np.isin(run.intervals["stage"], [stages.ENG_QUEUE, stages.ENG_PREFILL, stages.ENG_DECODE])
    rows = run.intervals[inside]
    span_ns = run.reading_times_ns[-1]
    by_time = float((rows["end_ns"] - rows["start_ns"]).sum()) / span_ns
    by_count = float((run.readings["running"] + run.readings["waiting"]).sum(axis=1).mean())
    assert abs(by_time / by_count - 1) < 0.02


def test_engines_are_busy_as_long_as_their_steps_take(short_run: Short) -> None:
    """Utilisation never exceeds one, and generated tokens are those that requests received."""
    run = short_run("healthy")
    last = run.readings[-1]
    assert (last["busy_ns"] <= run.reading_times_ns[-1]).all()
    assert last["generation_tokens"].sum() == run.requests["generated"].sum()
    computed = run.requests["prompt_tokens"] - run.requests["cached_tokens"]
    assert last["prompt_tokens"].sum() == computed.sum()


def test_arrivals_have_the_rate_and_the_burstiness_asked_for() -> None:
    """Mean rate within 3 %, gamma gaps with their coefficient of variation, bursts with a larger one."""
    spread = {}
    for process in ("poisson", "gamma", "on_off"):
        values = short_values(
            "healthy",
            run__duration_s=4000.0,
            clients__arrivals=process,
            clients__arrival_cv=3.0,
            clients__rate_per_s=20.0,
        )
        gaps = np.diff(arrival_times_ns(values, seed=4)) / 1e9
        spread[process] = gaps.std() / gaps.mean()
        assert abs(1 / gaps.mean() / 20 - 1) < (0.3 if process == "on_off" else 0.03)
    assert abs(spread["poisson"] - 1) < 0.05
    assert abs(spread["gamma"] - 3) < 0.2
    assert spread["on_off"] > 3


def test_a_change_of_load_multiplies_arrivals_only_in_its_window() -> None:
    """Before the change, the same instants; inside it, the rate times the factor."""
    usual = arrival_times_ns(short_values("healthy", run__duration_s=400.0), seed=3) / 1e9
    change = {"change__start_s": 100.0, "change__duration_s": 100.0, "change__load_factor": 3.0}
    raised = arrival_times_ns(short_values("healthy", run__duration_s=400.0, **change), seed=3) / 1e9
    assert np.array_equal(usual[usual < 100], raised[raised < 100])
    within = ((raised >= 100) & (raised < 200)).sum() / ((usual >= 100) & (usual < 200)).sum()
    assert 2.6 < within < 3.4


def test_token_counts_follow_the_published_statistics() -> None:
    """Median and 90th percentile of the Azure conversation trace's fit, within 5 %."""
    requests, _ = draw(short_values("healthy", run__duration_s=2000.0), seed=1)
    assert abs(np.median(requests["prompt_tokens"]) / np.exp(6.63) - 1) < 0.05
    assert abs(np.median(requests["output_tokens"]) / np.exp(5.02) - 1) < 0.05
    assert requests["prompt_tokens"].max() <= 14000
    assert (requests["hit_tokens"] < requests["prompt_tokens"]).all()


def test_a_mix_shift_leaves_the_other_requests_as_they_were() -> None:
    """A new share of long prompts changes those prompts and nothing else."""
    usual, _ = draw(short_values("healthy"), seed=3)
    shifted, _ = draw(short_values("healthy", change__long_share=0.5), seed=3)
    changed = usual["prompt_tokens"] != shifted["prompt_tokens"]
    inside = (usual["arrival_ns"] >= 4e9) & (usual["arrival_ns"] < 9e9)
    assert 0 < changed.sum() <= inside.sum()
    assert not changed[~inside].any()
    assert np.array_equal(usual["output_tokens"], shifted["output_tokens"])


def test_a_delay_is_injected_into_its_stage_and_noted_to_the_nanosecond(short_run: Short) -> None:
    """What the truth calls injected is what the stage gained."""
    run, other = short_run("auth_slowdown"), short_run("healthy")
    gained = stage_ns(run)[:, :, stages.GW_AUTH].sum() - stage_ns(other)[:, :, stages.GW_AUTH].sum()
    assert run.injected_ns[:, stages.GW_AUTH].sum() == gained > 0
    assert run.injected_ns.sum() == gained


def test_a_slow_worker_slows_its_own_requests(short_run: Short) -> None:
    """Time per token in the window is far higher on the worker concerned."""
    run = short_run("slow_worker", run__duration_s=30.0, fault__duration_s=25.0)
    requests = run.requests[(run.requests["arrival_ns"] > 5e9) & (run.requests["output_tokens"] > 20)]
    per_token = (requests["last_ns"] - requests["first_ns"]) / (requests["output_tokens"] - 1)
    on_slow = requests["replica"] == 1
    assert np.median(per_token[on_slow]) > 2 * np.median(per_token[~on_slow])


def test_a_small_cache_preempts_and_computes_again(short_run: Short) -> None:
    """Preempted requests wait and are recomputed; those stages are empty otherwise."""
    full = short_run("healthy", engine__kv_tokens=16000, clients__rate_per_s=40.0)
    assert full.requests["preemptions"].sum() > 0
    assert seconds(full, stages.ENG_PREEMPT_WAIT) > 0
    assert seconds(full, stages.ENG_RECOMPUTE) > 0
    assert seconds(short_run("healthy"), stages.ENG_RECOMPUTE) == 0
    assert (full.readings["used_blocks"] <= 1000).all()


def test_a_quota_rejects_with_429_and_a_full_queue_with_503(short_run: Short) -> None:
    """Rejections are no failures, and each says why."""
    quota = short_run("rate_limit_burst", gateway__quota_burst=1.0).requests
    queue = short_run("admission_503", engine__max_num_seqs=4).requests
    assert set(quota["status"][quota["outcome"] == state.REJECTED]) == {429}
    assert set(queue["status"][queue["outcome"] == state.REJECTED]) == {503}


def test_an_impatient_client_ends_its_request_when_its_patience_does(short_run: Short) -> None:
    """499, at the instant of leaving unless a token was just on its way."""
    requests = short_run("healthy", clients__abort_share=1.0, clients__patience_median_s=0.5).requests
    left = requests[requests["outcome"] == state.ABORTED]
    assert left.size > 20
    assert set(left["status"]) == {499}
    late = left["close_ns"] - left["arrival_ns"] - left["patience_ns"]
    assert (late >= 0).all()
    assert np.median(late) == 0


def test_a_crash_moves_requests_with_the_tokens_they_had(short_run: Short) -> None:
    """They lose the time until detection, are recomputed elsewhere, and are served whole."""
    run = short_run("worker_crash", clients__rate_per_s=30.0)
    moved = run.requests[run.requests["migrations"] > 0]
    assert moved.size > 3
    assert (moved["outcome"] == state.OK).all()
    after = moved["close_ns"] > 4e9
    assert (moved["replica"][after] == 0).all()
    assert seconds(run, stages.RETRY) >= 0.5 * moved.size


def test_without_migration_a_crash_fails_what_was_on_the_worker(short_run: Short) -> None:
    """502 for them, and the gateway routes around the dead worker once it has noticed."""
    run = short_run("worker_crash", gateway__max_migrations=0, clients__rate_per_s=30.0)
    failed = run.requests[run.requests["outcome"] == state.FAILED]
    assert failed.size > 3
    assert set(failed["status"]) == {502}
    assert failed["arrival_ns"].max() < 4.6e9


def test_attempts_that_time_out_are_retry_time_in_the_truth(short_run: Short) -> None:
    """What a thrown-away attempt spent in queue or prefill helped nobody."""
    run = short_run("retry_storm")
    table = attempts(run)
    repeated = np.unique(table.request[table.attempt > 0])
    parts = stage_ns(run)[:, :, stages.RETRY].sum(axis=1)
    assert repeated.size > 5
    assert (parts[repeated] > 0).all()
    assert parts.sum() == parts[repeated].sum()


def test_disaggregation_moves_the_cache_between_prefill_and_decode(short_run: Short) -> None:
    """Each request of more than one token is transferred, at the bandwidth of the link."""
    run = short_run("slow_kv_link", fault__link_factor=1.0, clients__rate_per_s=1.0)
    requests = run.requests[run.requests["output_tokens"] > 1]
    transfer = stage_ns(run)[run.requests["output_tokens"] > 1][:, :, stages.KV_TRANSFER].sum(axis=1)
    expected = requests["prompt_tokens"] * 131072 / 12
    assert set(requests["decode_replica"]) <= {1, 2}
    assert np.median(transfer / expected) == 1.0 or abs(np.median(transfer / expected) - 1) < 1e-6


def test_speculation_gives_its_share_of_extra_tokens(short_run: Short) -> None:
    """Accepted drafts are the acceptance share of those drafted, within rounding."""
    last = short_run("spec_acceptance_drop", fault__spec_acceptance=-1.0).readings[-1]
    assert abs(last["accepted"].sum() / last["drafted"].sum() - 0.7) < 0.03


def test_a_response_cache_answers_without_an_engine(short_run: Short) -> None:
    """Hits have tokens at once and no replica."""
    requests = short_run("healthy", gateway__cache_hit_share=0.5).requests
    hits = requests[requests["is_cache_hit"]]
    assert (hits["replica"] == state.NONE).all()
    assert (hits["outcome"] == state.OK).all()
    assert (hits["close_ns"] - hits["arrival_ns"] < 50e6).all()
