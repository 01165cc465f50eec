"""SGLang's and Dynamo's shapes: what they report is there, what they hide is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from generators.serving import counters, dialects, stages
from generators.serving.parameters import DIALECTS
from generators.serving.simulation import Run
from generators.serving.timeline import stage_ns
from generators.spans import Emission, Optional, SpanGroup

Short = Callable[..., Run]


def named(emission: Emission, name: str) -> SpanGroup:
    """The spans whose name is, or for arrays of names holds, this text."""
    for group in emission.groups:
        if isinstance(group.name, np.ndarray):
            chosen = np.array([name in one for one in group.name.tolist()])
            if chosen.any():
                return group.take(chosen)
        elif group.name == name:
            return group
    raise AssertionError(f"no span is called {name}")


def seconds(group: SpanGroup) -> int:
    """Total length in ns."""
    return int((group.end_ns - group.start_ns).sum())


def true_ns(run: Run, *codes: int) -> int:
    """True time of all requests in these stages."""
    return int(stage_ns(run)[:, :, list(codes)].sum())


def test_sglang_slices_are_the_stages_they_stand_for(short_run: Short) -> None:
    """Tokenising, dispatch, waiting and prefill to the nanosecond."""
    run = short_run("healthy", emit__dialect="sglang", clients__rate_per_s=30.0)
    emission = dialects.emission(run, seed=1)
    assert seconds(named(emission, "tokenize")) == true_ns(run, stages.FE_PREPROCESS)
    assert seconds(named(emission, "api_server_dispatch")) == true_ns(run, stages.FE_DISPATCH)
    assert seconds(named(emission, "prefill_waiting")) == true_ns(run, stages.ENG_QUEUE) > 0
    assert seconds(named(emission, "prefill_forward")) == true_ns(run, stages.ENG_PREFILL)


def test_sglang_retracts_inside_decode_and_prefills_again(short_run: Short) -> None:
    """One event a preemption; `prefill_forward` appears again while `decode_forward` is open."""
    run = short_run("healthy", emit__dialect="sglang", engine__kv_tokens=16000, clients__rate_per_s=40.0)
    emission = dialects.emission(run, seed=1)
    decode = named(emission, "decode_forward")
    assert sum(int(event.present.sum()) for event in decode.events) == run.requests["preemptions"].sum() > 0
    again = true_ns(run, stages.ENG_PREFILL, stages.ENG_RECOMPUTE)
    assert seconds(named(emission, "prefill_forward")) == again > true_ns(run, stages.ENG_PREFILL)


def test_sglang_names_its_roots_by_role(short_run: Short) -> None:
    """A leading space where one process does both, two roots where prefill and decode are apart."""
    unified = dialects.emission(short_run("healthy", emit__dialect="sglang"), seed=1)
    assert all(name.startswith(" Req ") and len(name) == 13 for name in named(unified, " Req ").name.tolist())
    run = short_run("slow_kv_link", emit__dialect="sglang")
    apart = dialects.emission(run, seed=1)
    assert len(named(apart, "prefill Req ")) == run.requests.size
    assert len(named(apart, "decode Req ")) == (run.requests["decode_replica"] >= 0).sum()
    assert seconds(named(apart, "prefill_transfer_kv_cache")) == true_ns(run, stages.KV_TRANSFER)


def test_sglang_slices_of_a_thread_are_linked_in_order(short_run: Short) -> None:
    """Each slice but the first of its thread links to the one before, which ends where it starts."""
    emission = dialects.emission(short_run("healthy", emit__dialect="sglang"), seed=1)
    slices = next(group for group in emission.groups if group.links)
    end_ns, parent = (
        dict(zip(slices.span_id.tolist(), part.tolist(), strict=True)) for part in (slices.end_ns, slices.parent_id)
    )
    link = slices.links[0]
    assert link.present.sum() > 50
    for row in np.flatnonzero(link.present).tolist():
        before = int(link.span_id[row])
        assert parent[before] == slices.parent_id[row]
        assert end_ns[before] == slices.start_ns[row]


def test_sglang_prefill_latency_has_the_queue_in_it(short_run: Short) -> None:
    """vLLM's key with SGLang's meaning."""
    run = short_run("healthy", emit__dialect="sglang", clients__rate_per_s=30.0)
    root = named(dialects.emission(run, seed=1), " Req ")
    parts = stage_ns(run)[root.trace].sum(axis=1) / 1e9
    column = root.attributes["gen_ai.latency.time_in_model_prefill"]
    assert isinstance(column, Optional)
    assert np.allclose(column.values, parts[:, stages.ENG_QUEUE] + parts[:, stages.ENG_PREFILL], atol=1e-9)


def test_dynamo_reports_admission_inside_the_choice_of_a_worker(short_run: Short) -> None:
    """select_worker less schedule is the choice, schedule is the wait."""
    run = short_run("healthy", emit__dialect="dynamo", gateway__max_inflight=12)
    emission = dialects.emission(run, seed=1)
    waited = seconds(named(emission, "kv_router.schedule"))
    assert waited == true_ns(run, stages.GW_QUEUE) > 0
    assert seconds(named(emission, "kv_router.select_worker")) - waited == true_ns(run, stages.GW_ROUTE)


def test_dynamo_says_which_attempts_failed_and_which_are_migrations(short_run: Short) -> None:
    """One route span an attempt; the first of a migrated request was disconnected."""
    run = short_run("worker_crash", emit__dialect="dynamo", clients__rate_per_s=30.0)
    route = named(dialects.emission(run, seed=1), "kv_router.route_request")
    moved = np.flatnonzero(run.requests["migrations"] > 0)
    retried = route.attributes["migration.is_retry"]
    assert isinstance(retried, Optional)
    assert sorted(route.trace[retried.present].tolist()) == moved.tolist()
    outcome = route.attributes["request.outcome"]
    assert (outcome == "worker_disconnected").sum() == moved.size > 0
    assert (outcome == "success").sum() == run.requests.size


def test_dynamo_gives_ttft_and_mean_gap_in_milliseconds(short_run: Short) -> None:
    """The root's own measurements are the truth at the frontend."""
    run = short_run("healthy", emit__dialect="dynamo")
    root = named(dialects.emission(run, seed=1), "http-request")
    ttft, gap = root.attributes["ttft_ms"], root.attributes["avg_itl_ms"]
    assert isinstance(ttft, Optional)
    assert isinstance(gap, Optional)
    assert np.allclose(ttft.values * 1e6, stage_ns(run)[:, 0].sum(axis=1))
    several = run.requests["output_tokens"] > 1
    assert np.allclose(
        gap.values[several] * 1e6 * (run.requests["output_tokens"][several] - 1),
        stage_ns(run)[several, 1].sum(axis=1),
    )


@pytest.mark.parametrize("dialect", ["sglang", "dynamo"])
@pytest.mark.parametrize("scenario", ["retry_storm", "worker_crash", "slow_kv_link", "client_aborts", "admission_503"])
def test_no_span_is_an_orphan_or_ends_before_it_starts(short_run: Short, dialect: str, scenario: str) -> None:
    """Also for requests that were given up, refused, moved or failed."""
    emission = dialects.emission(short_run(scenario, emit__dialect=dialect, clients__rate_per_s=20.0), seed=1)
    ids = set(np.concatenate([group.span_id for group in emission.groups]).tolist())
    assert len(ids) == emission.span_count
    for group in emission.groups:
        assert (group.end_ns >= group.start_ns).all(), group.name
        assert set(group.parent_id.tolist()) <= ids | {0}


def test_tritons_events_are_the_stages_they_stand_for(short_run: Short) -> None:
    """Queue from the model's span to the computation's, tokenising and inference inside computations."""
    run = short_run("healthy", emit__dialect="triton", clients__rate_per_s=30.0)
    emission = dialects.emission(run, seed=1)
    model = named(emission, "tensorrt_llm")
    compute = next(
        group for group in emission.groups
        if group.name == "compute" and np.array_equal(group.parent_id, model.span_id)
    )  # fmt: skip
    at = {event.name: event.time_ns for event in (*model.events, *compute.events)}
    assert int((at["COMPUTE_START"] - at["QUEUE_START"]).sum()) == true_ns(run, stages.ENG_QUEUE)
    assert seconds(named(emission, "preprocessing")) == true_ns(run, stages.FE_PREPROCESS)
    decoding = run.requests["engine_last_ns"] - run.requests["scheduled_ns"]
    assert int((at["COMPUTE_OUTPUT_START"] - at["COMPUTE_INPUT_END"]).sum()) == int(decoding.sum())


def test_tritons_cancelled_requests_stop_where_they_were(short_run: Short) -> None:
    """In the queue: no computation, and a root without the events of an answer."""
    run = short_run("healthy", emit__dialect="triton", engine__max_num_seqs=2, clients__abort_share=1.0)
    emission = dialects.emission(run, seed=1)
    roots, models = named(emission, "InferRequest"), named(emission, "tensorrt_llm")
    computed = next(
        group for group in emission.groups if group.name == "compute" and group.parent_id[0] in models.span_id
    )
    queued = run.requests[(run.requests["queued_ns"] >= 0) & (run.requests["scheduled_ns"] < 0)]
    assert len(models) - len(computed) == queued.size > 0
    complete = next(event for event in roots.events if event.name == "INFER_RESPONSE_COMPLETE")
    assert int(complete.present.sum()) == int((run.requests["status"] == 200).sum())


@pytest.mark.parametrize("dialect", ["litellm", "litellm_v1"])
def test_behind_litellm_the_provider_shows_nothing(short_run: Short, dialect: str) -> None:
    """Spans come from the gateway only, and its counters too."""
    run = short_run("healthy", emit__dialect=dialect)
    emission = counters.with_counters(dialects.emission(run, seed=1), run)
    assert {int(number) for group in emission.groups for number in group.resource} == {0}
    assert {series.resource for series in emission.series} == {0}


def test_litellm_tells_the_time_to_the_first_chunk(short_run: Short) -> None:
    """As an attribute of the call, in seconds."""
    run = short_run("healthy", emit__dialect="litellm")
    call = named(dialects.emission(run, seed=1), "chat llama-3.1-8b-instruct")
    column = call.attributes["gen_ai.response.time_to_first_chunk"]
    assert isinstance(column, Optional)
    start_ns = call.start_ns - 1767225600 * 10**9
    assert np.allclose(column.values, (run.requests["first_ns"] - start_ns) / 1e9, atol=1e-9)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_clients_enclose_what_the_gateway_sees_by_their_way_to_it(short_run: Short, dialect: str) -> None:
    """Half a round trip before the gateway's outermost span, half after it, the first token likewise."""
    run = short_run("healthy", emit__dialect=dialect, emit__client_spans=True)
    emission = dialects.emission(run, seed=1)
    number = len(emission.resources) - 1
    [client] = [group for group in emission.groups if (group.resource == number).all()]
    [root] = [group for group in emission.groups if np.isin(group.parent_id, client.span_id).all()]
    assert emission.resources[number]["service.name"] == "assistant"
    assert not client.parent_id.any()
    assert (root.start_ns - client.start_ns == run.requests["up_ns"]).all()
    assert (client.end_ns - root.end_ns == run.requests["down_ns"]).all()
    seen_ns = client.events[0].time_ns - run.requests["first_ns"] - 1767225600 * 10**9
    assert (seen_ns[client.events[0].present] == run.requests["down_ns"][client.events[0].present]).all()
    assert 15e6 < np.median(run.requests["up_ns"] + run.requests["down_ns"]) < 30e6
