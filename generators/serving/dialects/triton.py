"""Triton Inference Server in OpenTelemetry mode: an ensemble of tokeniser, language model and detokeniser.

All spans have kind SERVER and tell their stages by events, named as in Triton's traces. Prefill and decode
are one inference there. Attempts that were given up show only what they reached.
"""

from __future__ import annotations

import numpy as np

from generators.serving import stages, state
from generators.serving.dialects.common import (
    LITELLM_NAMES,
    Sketch,
    engine_resources,
    finished,
    gateway_groups,
    sketch,
)
from generators.serving.simulation import Run
from generators.spans import SERVER, Emission, EventGroup, SpanGroup

SCOPE = "triton-server"
ENSEMBLE, TOKENISER, MODEL, DETOKENISER = "ensemble", "preprocessing", "tensorrt_llm", "postprocessing"


def emission(run: Run, *, seed: int) -> Emission:
    """The run as LiteLLM-like gateway spans around Triton's."""
    plan = sketch(run, seed=seed, shows_stages=False)
    ids = {name: plan.ids(f"triton.{name}", plan.attempts.request.size) for name in (*_MODELS, "root")}
    groups = [group for name in (TOKENISER, MODEL, DETOKENISER) for group in _model_groups(plan, name, ids)]
    groups += [_ensemble(plan, ids), _root(plan, ids["root"])]
    return finished(plan, [*groups, *gateway_groups(plan, LITELLM_NAMES)], engine_resources(run, "triton"))


_MODELS = (ENSEMBLE, TOKENISER, MODEL, DETOKENISER)


def _root(plan: Sketch, ids: np.ndarray) -> SpanGroup:
    """One an attempt that reached the server; its last events are missing where the client did not wait."""
    table, requests = plan.attempts, plan.run.requests[plan.attempts.request]
    is_whole = (requests["outcome"] == state.OK) & ~table.is_failed
    start_ns, end_ns = plan.origin_ns + table.frontend_ns, plan.origin_ns + table.end_ns
    answered_ns = plan.origin_ns + _detokenised_ns(plan)
    events = [
        ("HTTP_RECV_START", start_ns, table.frontend_ns >= 0), ("HTTP_RECV_END", start_ns,
        table.frontend_ns >= 0),
        ("INFER_RESPONSE_COMPLETE", answered_ns, is_whole), ("HTTP_SEND_START", answered_ns, is_whole),
        ("HTTP_SEND_END", end_ns, is_whole),
    ]  # fmt: skip
    whole = SpanGroup(
        "InferRequest", SCOPE, SERVER, table.replica + 1, table.request, ids, plan.chat_ids, start_ns, end_ns,
        is_parent_remote=True, events=tuple(EventGroup(*event) for event in events),
    )  # fmt: skip
    return whole.take(table.frontend_ns >= 0)


def _ensemble(plan: Sketch, ids: dict[str, np.ndarray]) -> SpanGroup:
    table, requests = plan.attempts, plan.run.requests[plan.attempts.request]
    is_whole = (requests["outcome"] == state.OK) & ~table.is_failed
    end_ns = np.where(is_whole, _detokenised_ns(plan), table.end_ns)
    return _span(plan, ENSEMBLE, ids[ENSEMBLE], ids["root"], table.frontend_ns, end_ns).take(table.frontend_ns >= 0)


def _model_groups(plan: Sketch, name: str, ids: dict[str, np.ndarray]) -> list[SpanGroup]:
    """The span of a model of the ensemble and, where it was computed, that of the computation."""
    start_ns, queue_ns, compute_ns, end_ns = _instants(plan)[name]
    reached, computed = (queue_ns >= 0) & (end_ns >= 0), (compute_ns >= 0) & (end_ns >= 0)
    model = _span(plan, name, ids[name], ids[ENSEMBLE], start_ns, end_ns, queue_ns=queue_ns)
    instants = {
        "COMPUTE_START": compute_ns, "COMPUTE_INPUT_END": compute_ns, "COMPUTE_OUTPUT_START": end_ns,
        "COMPUTE_END": end_ns,
    }  # fmt: skip
    compute = SpanGroup(
        "compute", SCOPE, SERVER, plan.attempts.replica + 1, plan.attempts.request,
        plan.ids(f"triton.compute.{name}", start_ns.size), ids[name], plan.origin_ns + compute_ns,
        plan.origin_ns + end_ns,
        events=tuple(EventGroup(key, plan.origin_ns + value, computed) for key, value in instants.items()),
    )  # fmt: skip
    return [compute.take(reached & computed), model.take(reached)]


def _span(
    plan: Sketch, name: str, ids: np.ndarray, parents: np.ndarray, start_ns: np.ndarray, end_ns: np.ndarray,
    *, queue_ns: np.ndarray | None = None,
) -> SpanGroup:  # fmt: skip
    """The span of a model with its events; an ensemble has no queue."""
    has_span = np.ones(start_ns.size, bool)
    instants = {"REQUEST_START": start_ns, "QUEUE_START": queue_ns, "REQUEST_END": end_ns}
    return SpanGroup(
        name, SCOPE, SERVER, plan.attempts.replica + 1, plan.attempts.request, ids, parents,
        plan.origin_ns + start_ns, plan.origin_ns + end_ns,
        attributes={"triton.model_name": name, "triton.model_version": 1},
        events=tuple(
            EventGroup(key, plan.origin_ns + value, has_span)
            for key, value in instants.items() if value is not None
        ),
    )  # fmt: skip


def _instants(plan: Sketch) -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Start, queue, computation and end of each model by attempt; -1 where it was not reached."""
    table, requests = plan.attempts, plan.run.requests[plan.attempts.request]
    is_final = table.attempt == requests["attempt"]
    is_whole = is_final & (requests["engine_last_ns"] >= 0) & (requests["outcome"] == state.OK)
    tokenised_ns = _ends_of(plan, stages.FE_PREPROCESS)
    queued_ns = np.where(is_final, requests["queued_ns"], state.NONE)
    scheduled_ns = np.where(is_final, requests["scheduled_ns"], state.NONE)
    last_ns = np.where(is_whole, requests["engine_last_ns"], np.where(queued_ns >= 0, table.end_ns, state.NONE))
    done_ns = np.where(is_whole, _detokenised_ns(plan), state.NONE)
    handed_ns = np.where(is_whole, requests["engine_last_ns"], state.NONE)
    return {
        TOKENISER: (table.frontend_ns, table.frontend_ns, table.frontend_ns, tokenised_ns),
        MODEL: (tokenised_ns, queued_ns, scheduled_ns, last_ns),
        DETOKENISER: (handed_ns, handed_ns, handed_ns, done_ns),
    }


def _detokenised_ns(plan: Sketch) -> np.ndarray:
    """When the last token was text again."""
    table = plan.attempts
    last_ns = plan.run.requests["engine_last_ns"][table.request]
    return last_ns + plan.run.durations_ns[table.request, stages.OUT_DETOK]


def _ends_of(plan: Sketch, stage: int) -> np.ndarray:
    """When each attempt's interval in a stage ended; -1 where it has none."""
    table, intervals = plan.attempts, plan.run.intervals
    rows = intervals[intervals["stage"] == stage]
    keys = table.request.astype(np.int64) * 1000 + table.attempt
    position = np.searchsorted(keys, rows["request"].astype(np.int64) * 1000 + rows["attempt"])
    ends_ns = np.full(table.request.size, state.NONE, np.int64)
    ends_ns[position] = rows["end_ns"]
    return ends_ns
