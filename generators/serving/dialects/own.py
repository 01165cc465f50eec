"""tracekit's own convention: every stage is a span that names it; containers name the stage of their own
time.

The spans of a request tile its time: the root's own time is ingress, that of the upstream call is transit,
that of the server span is the hand-over to the scheduler, and every other interval is a leaf.
"""

from __future__ import annotations

import numpy as np

from generators.serving import stages, state
from generators.serving.dialects.common import (
    PLAIN_NAMES,
    STARTUP_NAMES,
    Sketch,
    engine_resources,
    finished,
    gateway_groups,
    sketch,
    startup_groups,
)
from generators.serving.simulation import Run
from generators.serving.timeline import attempt_of_interval, upstream
from generators.spans import ERROR, INTERNAL, SERVER, Emission, Optional, SpanGroup

SCOPE = "engine"
LEAVES = {
    stages.FE_PREPROCESS: "tokenise", stages.ENG_GRAMMAR: "grammar", stages.ENG_QUEUE: "queue",
    stages.ENG_PREFILL: "prefill", stages.KV_BOOTSTRAP: "kv_bootstrap", stages.KV_TRANSFER: "kv_transfer",
    stages.ENG_DECODE_WAIT: "decode_wait", stages.ENG_DECODE: "decode", stages.ENG_PREEMPT_WAIT: "preempted",
    stages.ENG_RECOMPUTE: "recompute", stages.OUT_DETOK: "detokenise", stages.OUT_STREAM: "send",
}  # fmt: skip
"""Span names of the stages inside an engine."""


def emission(run: Run, *, seed: int) -> Emission:
    """The run in tracekit's own convention."""
    plan = sketch(run, seed=seed, shows_stages=True)
    groups = [*gateway_groups(plan, PLAIN_NAMES), *engine_groups(plan)]
    groups += startup_groups(plan, STARTUP_NAMES, root="start_replica", scope=SCOPE)
    return finished(plan, groups, engine_resources(run, "engine"))


def engine_groups(plan: Sketch) -> list[SpanGroup]:
    """The server span of each attempt that reached a frontend, and a leaf for each stage inside it."""
    table = plan.attempts
    server_ids = plan.ids("generate", table.request.size)
    intervals = plan.run.intervals[upstream(plan.run)]
    owner = attempt_of_interval(table, intervals)
    leaves = [
        _leaf(plan, stage, intervals[chosen], server_ids[owner[chosen]])
        for stage in LEAVES
        for chosen in [intervals["stage"] == stage]
    ]
    return [*leaves, _server(plan, server_ids)]


def _leaf(plan: Sketch, stage: int, rows: np.ndarray, parents: np.ndarray) -> SpanGroup:
    requests = plan.run.requests[rows["request"]]
    more = {}
    if stage == stages.ENG_PREFILL:
        more = {
            "gen_ai.usage.input_tokens": requests["prompt_tokens"],
            "cached_tokens": Optional(requests["cached_tokens"], requests["cached_tokens"] >= 0),
        }
    return SpanGroup(
        LEAVES[stage], SCOPE, INTERNAL, rows["replica"] + 1, rows["request"], plan.ids(f"leaf.{stage}",
        rows.size),
        parents, plan.origin_ns + rows["start_ns"], plan.origin_ns + rows["end_ns"],
        attributes={**plan.stage(stages.NAMES[stage]), **more},
    )  # fmt: skip


def _server(plan: Sketch, server_ids: np.ndarray) -> SpanGroup:
    table = plan.attempts
    has_server = table.frontend_ns >= 0
    requests = plan.run.requests[table.request]
    is_ok = (requests["outcome"] == state.OK) & ~table.is_failed
    whole = SpanGroup(
        "generate", SCOPE, SERVER, table.replica + 1, table.request, server_ids, plan.chat_ids,
        plan.origin_ns + table.frontend_ns, plan.origin_ns + table.end_ns, is_parent_remote=True,
        status=np.where(table.is_failed, ERROR, 0).astype(np.uint8),
        attributes={
            **plan.stage("fe.dispatch"), "gen_ai.request.max_tokens": requests["output_tokens"],
            "gen_ai.usage.output_tokens": Optional(requests["output_tokens"], is_ok),
        },
    )  # fmt: skip
    return whole.take(has_server)
