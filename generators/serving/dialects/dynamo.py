"""NVIDIA Dynamo with vLLM workers: frontend, KV router, worker endpoint, engine.

`http-request` is the root; authentication, quota and response cache of the simulated gateway leave no span of
their own there. `kv_router.select_worker` covers admission and choice, `kv_router.schedule` the admission
queue inside it. `kv_router.route_request` is one attempt, from dispatch to the end of its stream; migrations
say so.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from generators.serving import stages, state
from generators.serving.dialects import vllm
from generators.serving.dialects.common import (
    MODEL_NAME,
    VLLM_STARTUP_NAMES,
    Sketch,
    engine_resources,
    error_types,
    finished,
    has_clients,
    on_gateway,
    root_parents,
    sketch,
    startup_groups,
)
from generators.serving.simulation import Run
from generators.spans import CLIENT, ERROR, INTERNAL, SERVER, Emission, EventGroup, Optional, SpanGroup

SCOPE = "dynamo"


def emission(run: Run, *, seed: int) -> Emission:
    """The run as Dynamo's spans around vLLM's."""
    plan = sketch(run, seed=seed, shows_stages=False)
    payload_ids, engine_ids = (plan.ids(f"dynamo.{part}", plan.attempts.request.size) for part in ("payload", "engine"))
    groups = [
        _engine_request(plan, engine_ids), _generate(plan, payload_ids, engine_ids), _payload(plan,
        payload_ids),
        *_selections(plan), _route(plan), _root(plan),
        *startup_groups(plan, VLLM_STARTUP_NAMES, root="Overall Loading", scope=vllm.SCOPE),
    ]  # fmt: skip
    named = {"service.name": "dynamo", "service.instance.id": "dynamo-frontend-0"}
    whole = finished(plan, groups, engine_resources(run, "dynamo-worker"))
    return replace(whole, resources=(dict(whole.resources[0]) | named, *whole.resources[1:]))


def _engine_request(plan: Sketch, engine_ids: np.ndarray) -> SpanGroup:
    """vLLM's own span, below the worker's; it is exported after its parent has ended."""
    group = vllm.request_group(plan, arrival="queued_ns")
    position = np.searchsorted(plan.chat_ids, group.parent_id, sorter=np.argsort(plan.chat_ids))
    owner = np.argsort(plan.chat_ids)[position]
    return replace(group, parent_id=engine_ids[owner], is_parent_remote=False)


def _root(plan: Sketch) -> SpanGroup:
    requests, count = plan.run.requests, plan.run.requests.size
    has_first, is_ok = requests["first_ns"] >= 0, requests["outcome"] == state.OK
    tokens = np.maximum(requests["output_tokens"] - 1, 1)
    has_gaps = is_ok & (requests["output_tokens"] > 1)
    ids = request_ids(plan)
    return SpanGroup(
        "http-request", SCOPE, SERVER, on_gateway(count), np.arange(count), plan.root_ids, root_parents(plan),
        plan.origin_ns + requests["arrival_ns"], plan.origin_ns + requests["close_ns"],
        is_parent_remote=has_clients(plan.run), status=np.where(requests["status"] >= 500, ERROR, 0).astype(np.uint8),
        attributes={
            "method": "POST", "uri": "/v1/chat/completions", "version": "HTTP/1.1", "model": MODEL_NAME,
            "request_id": ids, "x_request_id": ids, "http.response.status_code": requests["status"],
            "input_tokens": Optional(requests["prompt_tokens"], is_ok),
            "output_tokens": Optional(requests["output_tokens"], is_ok),
            "ttft_ms": Optional((requests["first_ns"] - requests["arrival_ns"]) / 1e6, has_first),
            "avg_itl_ms": Optional((requests["last_ns"] - requests["first_ns"]) / 1e6 / tokens, has_gaps),
        },
        events=(EventGroup("first_token", plan.origin_ns + requests["first_ns"], has_first),),
    )  # fmt: skip


def request_ids(plan: Sketch) -> np.ndarray:
    """Ids that the frontend gives to requests."""
    numbers = plan.ids("dynamo.request", plan.run.requests.size).tolist()
    return np.array([f"{number:016x}" for number in numbers], dtype=object)


def _selections(plan: Sketch) -> list[SpanGroup]:
    """Choice of a worker, and inside it the wait for admission."""
    intervals = plan.run.intervals
    chosen = intervals[intervals["stage"] == stages.GW_ROUTE]
    waited = intervals[intervals["stage"] == stages.GW_QUEUE]
    ids = plan.ids("dynamo.select", chosen.size)
    # The wait of an attempt ends where its choice begins.
    keys = chosen["request"].astype(np.int64) * 1000 + chosen["attempt"]
    position = np.searchsorted(keys, waited["request"].astype(np.int64) * 1000 + waited["attempt"])
    is_routed = position < keys.size
    waited, position = waited[is_routed], position[is_routed]
    start_ns = chosen["start_ns"].copy()
    start_ns[position] = waited["start_ns"]
    return [
        SpanGroup(
            "kv_router.schedule", SCOPE, INTERNAL, on_gateway(waited.size), waited["request"],
            plan.ids("dynamo.schedule", waited.size), ids[position], plan.origin_ns + waited["start_ns"],
            plan.origin_ns + waited["end_ns"],
        ),
        SpanGroup(
            "kv_router.select_worker", SCOPE, INTERNAL, on_gateway(chosen.size), chosen["request"], ids,
            plan.root_ids[chosen["request"]], plan.origin_ns + start_ns, plan.origin_ns + chosen["end_ns"],
        ),
    ]  # fmt: skip


def _route(plan: Sketch) -> SpanGroup:
    """One attempt, with its outcome and whether it goes on with another worker's request."""
    table, requests = plan.attempts, plan.run.requests[plan.attempts.request]
    is_migrated = (table.attempt > 0) & (requests["migrations"] > 0)
    is_aborted = (requests["outcome"] == state.ABORTED) & ~table.is_failed
    errors = error_types(plan)
    reasons = np.where(errors == "timeout", "timeout", "worker_disconnected")
    reasons = np.where(errors == "503", "rejected", np.where(errors == "500", "error", reasons))
    outcome = np.where(table.is_failed, reasons, np.where(is_aborted, "cancelled", "success"))
    return SpanGroup(
        "kv_router.route_request", SCOPE, CLIENT, on_gateway(table.request.size), table.request,
        plan.chat_ids,
        plan.root_ids[table.request], plan.origin_ns + table.start_ns, plan.origin_ns + table.end_ns,
        status=np.where(table.is_failed, ERROR, 0).astype(np.uint8),
        attributes={
            "request_id": request_ids(plan)[table.request], "worker_id": np.maximum(table.replica, 0),
            "dp_rank": 0, "overlap_blocks": np.maximum(requests["cached_tokens"], 0) // 16,
            "phase": "Prefill" if plan.run.values["disagg.prefill_replicas"] else "Aggregated",
            "request.attempt": table.attempt, "request.outcome": outcome.astype(object),
            "migration.is_retry": Optional(is_migrated, is_migrated),
            "migration.tokens_completed": Optional(requests["carried_tokens"], is_migrated),
            "cancellation.signal": Optional(np.full(table.request.size, "stop", dtype=object), is_aborted),
            "error.type": Optional(reasons.astype(object), table.is_failed),
        },
    )  # fmt: skip


def _payload(plan: Sketch, payload_ids: np.ndarray) -> SpanGroup:
    """The worker's endpoint: it lasts while the response is pumped."""
    table = plan.attempts
    whole = SpanGroup(
        "handle_payload", SCOPE, SERVER, table.replica + 1, table.request, payload_ids, plan.chat_ids,
        plan.origin_ns + table.frontend_ns, plan.origin_ns + table.end_ns, is_parent_remote=True,
        status=np.where(table.is_failed, ERROR, 0).astype(np.uint8),
        attributes={
            "component": "backend", "endpoint": "generate", "namespace": "dynamo",
            "instance_id": np.maximum(table.replica, 0),
        },
    )  # fmt: skip
    return whole.take(table.frontend_ns >= 0)


def _generate(plan: Sketch, payload_ids: np.ndarray, engine_ids: np.ndarray) -> SpanGroup:
    """The worker's call into its engine, for final attempts that reached the queue."""
    table, requests = plan.attempts, plan.run.requests[plan.attempts.request]
    has_queue = (table.attempt == requests["attempt"]) & (requests["queued_ns"] >= 0)
    is_ok = (requests["outcome"] == state.OK) & ~table.is_failed
    has_first = requests["attempt_first_ns"] >= 0
    whole = SpanGroup(
        "engine.generate", SCOPE, INTERNAL, table.replica + 1, table.request, engine_ids, payload_ids,
        plan.origin_ns + requests["queued_ns"], plan.origin_ns + table.end_ns,
        attributes={
            "disagg_role": "prefill_and_decode", "model": MODEL_NAME,
            "input_tokens": requests["prompt_tokens"],
            "ttft_ms": Optional((requests["attempt_first_ns"] - requests["queued_ns"]) / 1e6, has_first),
            "output_tokens": Optional(requests["output_tokens"], is_ok),
            "finish_reason": Optional(np.full(table.request.size, "length", dtype=object), is_ok),
        },
    )  # fmt: skip
    return whole.take(has_queue)
