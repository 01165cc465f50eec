"""SGLang behind a gateway: per request a root, a thread span for each process, and slices joined by links.

Prefill and decode on different replicas give two roots (`prefill Req …`, `decode Req …`). Preemption is an
event `retract` on `decode_forward`, which stays open while the prompt is computed again. `gen_ai.latency.*`
has vLLM's keys with SGLang's meanings: prefill counts from the end of dispatch, decode on the API server's
clock. The roots hang below the gateway's call by W3C context, so the gateway's trace ids are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from generators.serving import stages, state
from generators.serving.dialects.common import (
    LITELLM_NAMES,
    MODEL_NAME,
    Sketch,
    engine_resources,
    finished,
    gateway_groups,
    sketch,
)
from generators.serving.simulation import Run
from generators.serving.timeline import attempt_of_interval, upstream
from generators.spans import ERROR, INTERNAL, Column, Emission, EventGroup, LinkGroup, Optional, SpanGroup

SCOPE = "sglang server"
TOKENIZER = (stages.FE_PREPROCESS, stages.FE_DISPATCH)
SLICES = {
    stages.FE_PREPROCESS: "tokenize",
    stages.FE_DISPATCH: "api_server_dispatch",
    stages.ENG_QUEUE: "prefill_waiting",
    stages.ENG_PREFILL: "prefill_forward",
    stages.ENG_RECOMPUTE: "prefill_forward",
    stages.KV_BOOTSTRAP: "prefill_bootstrap",
    stages.KV_TRANSFER: "prefill_transfer_kv_cache",
    stages.ENG_DECODE_WAIT: "decode_waiting",
}
DECODING = (stages.ENG_DECODE, stages.ENG_PREEMPT_WAIT, stages.ENG_RECOMPUTE)


@dataclass(frozen=True)
class Side:
    """The intervals of one role (unified, prefill or decode) and the attempts that they belong to."""

    role: str
    rows: np.ndarray
    owner: np.ndarray
    """Attempt of each interval."""
    attempts: np.ndarray
    """Attempts that have intervals here, ascending."""
    called_ns: np.ndarray
    """When the request reached this side."""
    start_ns: np.ndarray
    """When it had all that it needs to begin."""
    end_ns: np.ndarray
    replica: np.ndarray

    def place(self) -> np.ndarray:
        """Position in `attempts` of each interval's attempt."""
        return np.searchsorted(self.attempts, self.owner)


def emission(run: Run, *, seed: int) -> Emission:
    """The run as LiteLLM-like gateway spans around SGLang's trees."""
    plan = sketch(run, seed=seed, shows_stages=False)
    groups = [group for side in sides(plan) for group in side_groups(plan, side)]
    return finished(plan, [*groups, *gateway_groups(plan, LITELLM_NAMES)], engine_resources(run, "sglang"))


def sides(plan: Sketch) -> list[Side]:
    """Unified engines have one side; disaggregated ones a prefill and a decode side."""
    rows = plan.run.intervals[upstream(plan.run)]
    rows = rows[(rows["stage"] != stages.NET_DISPATCH) & (rows["stage"] != stages.OUT_STREAM)]
    first_decode = _first_decode_replica(plan)
    if first_decode is None:
        return [_side(plan, "", rows)]
    is_decode = rows["replica"] >= first_decode
    decode = _side(plan, "decode", rows[is_decode])
    # The router calls both sides at once; the decode side then waits for the blocks.
    called_ns = plan.attempts.frontend_ns[decode.attempts]
    return [_side(plan, "prefill", rows[~is_decode]), replace(decode, called_ns=called_ns)]


def _first_decode_replica(plan: Sketch) -> int | None:
    prefill = int(plan.run.values["disagg.prefill_replicas"])
    return prefill or None


def _side(plan: Sketch, role: str, rows: np.ndarray) -> Side:
    owner = attempt_of_interval(plan.attempts, rows)
    attempts, first = np.unique(owner, return_index=True)
    last = np.concatenate([first[1:], [rows.size]]) - 1 if rows.size else first
    start_ns = rows["start_ns"][first]
    return Side(role, rows, owner, attempts, start_ns, start_ns, rows["end_ns"][last], rows["replica"][last])


def side_groups(plan: Sketch, side: Side) -> list[SpanGroup]:
    """Slices, decode, threads and root of one side."""
    root_ids = plan.ids(f"sglang.root.{side.role}", side.attempts.size)
    threads = {is_api: plan.ids(f"sglang.thread.{side.role}.{is_api}", side.attempts.size) for is_api in (True, False)}
    return [
        *_slices(plan, side, threads),
        _transferred(plan, side, threads[False]),
        _decode(plan, side, threads[False]),
        *(_thread(plan, side, root_ids, ids, is_api=is_api) for is_api, ids in threads.items()),
        _root(plan, side, root_ids),
    ]


def _slices(plan: Sketch, side: Side, threads: dict[bool, np.ndarray]) -> list[SpanGroup]:
    """One span an interval, linked to the slice before it in the same thread."""
    shown = np.isin(side.rows["stage"], list(SLICES))
    rows, place = side.rows[shown], side.place()[shown]
    ids = plan.ids(f"sglang.slice.{side.role}", rows.size)
    is_api = np.isin(rows["stage"], TOKENIZER)
    parents = np.where(is_api, threads[True][place], threads[False][place])
    follows = np.concatenate([[False], parents[1:] == parents[:-1]]) if rows.size else np.zeros(0, bool)
    whole = SpanGroup(
        _slice_names(rows["stage"]), SCOPE, INTERNAL, rows["replica"] + 1, rows["request"], ids, parents,
        plan.origin_ns + rows["start_ns"], plan.origin_ns + rows["end_ns"],
        links=(LinkGroup(np.roll(ids, 1), follows),),
    )  # fmt: skip
    return [whole]


def _transferred(plan: Sketch, side: Side, threads: np.ndarray) -> SpanGroup:
    """The decode side's wait for the KV blocks, prefill included."""
    whole = SpanGroup(
        "decode_transferred", SCOPE, INTERNAL, side.replica + 1, plan.attempts.request[side.attempts],
        plan.ids(f"sglang.transferred.{side.role}", side.attempts.size), threads,
        plan.origin_ns + side.called_ns, plan.origin_ns + side.start_ns,
    )  # fmt: skip
    return whole.take(side.called_ns < side.start_ns)


def _slice_names(codes: np.ndarray) -> np.ndarray:
    names = np.array([SLICES.get(code, "") for code in range(stages.COUNT)], dtype=object)
    return names[codes]


def _decode(plan: Sketch, side: Side, threads: np.ndarray) -> SpanGroup:
    """From the first token to the last one, preemptions inside as `retract` events."""
    requests = plan.run.requests[plan.attempts.request[side.attempts]]
    is_final = plan.attempts.attempt[side.attempts] == requests["attempt"]
    last_ns = np.where(requests["engine_last_ns"] >= 0, requests["engine_last_ns"], side.end_ns)
    chosen = is_final & (requests["attempt_first_ns"] >= 0) & (side.role != "prefill")
    whole = SpanGroup(
        "decode_forward", SCOPE, INTERNAL, side.replica + 1, plan.attempts.request[side.attempts],
        plan.ids(f"sglang.decode.{side.role}", side.attempts.size), threads,
        plan.origin_ns + requests["attempt_first_ns"], plan.origin_ns + last_ns, events=_retractions(plan,
        side),
    )  # fmt: skip
    return whole.take(chosen)


def _retractions(plan: Sketch, side: Side) -> tuple[EventGroup, ...]:
    """The first, second, … preemption of each attempt."""
    is_preempted = side.rows["stage"] == stages.ENG_PREEMPT_WAIT
    place, times = side.place()[is_preempted], side.rows["start_ns"][is_preempted]
    turn = np.arange(place.size) - np.searchsorted(place, place)
    events = []
    for number in range(int(turn.max(initial=-1)) + 1):
        present = np.zeros(side.attempts.size, bool)
        time_ns = np.zeros(side.attempts.size, np.int64)
        present[place[turn == number]] = True
        time_ns[place[turn == number]] = plan.origin_ns + times[turn == number]
        events.append(EventGroup("retract", time_ns, present))
    return tuple(events)


def _thread(plan: Sketch, side: Side, root_ids: np.ndarray, ids: np.ndarray, *, is_api: bool) -> SpanGroup:
    """The span of the tokenizer manager or the scheduler of one request."""
    label = "Tokenizer" if is_api else f"{side.role.capitalize()} Scheduler".strip()
    mine = np.isin(side.rows["stage"], TOKENIZER) == is_api
    has_any = np.zeros(side.attempts.size, bool)
    has_any[side.place()[mine]] = True
    start_ns = np.full(side.attempts.size, np.iinfo(np.int64).max)
    np.minimum.at(start_ns, side.place()[mine], side.rows["start_ns"][mine])
    start_ns = np.where(side.called_ns < side.start_ns, np.minimum(start_ns, side.called_ns), start_ns)
    end_ns = side.end_ns.copy()
    hosts = [f"{replica + 0xA0000000:08x}" for replica in side.replica.tolist()]
    pid = 1000 + int(is_api)
    suffix = "" if is_api else " [TP 0]"
    names = np.array([f"{label}{suffix} (host:{host} | pid:{pid})" for host in hosts], dtype=object)
    whole = SpanGroup(
        names, SCOPE, INTERNAL, side.replica + 1, plan.attempts.request[side.attempts], ids, root_ids,
        plan.origin_ns + np.where(has_any, start_ns, 0), plan.origin_ns + end_ns,
        attributes={
            "tp_rank": 0, "dp_rank": side.replica, "host_id": np.array(hosts, dtype=object), "pid": pid,
            "thread_label": label,
        },
    )  # fmt: skip
    return whole.take(has_any)


def _root(plan: Sketch, side: Side, root_ids: np.ndarray) -> SpanGroup:
    rids = [f"{number:032x}" for number in plan.ids("sglang.rid", plan.attempts.request.size).tolist()]
    rids = np.array(rids, dtype=object)[side.attempts]
    names = np.array([f"{side.role} Req {rid[-8:]}" for rid in rids.tolist()], dtype=object)
    return SpanGroup(
        names, SCOPE, INTERNAL, side.replica + 1, plan.attempts.request[side.attempts], root_ids,
        plan.chat_ids[side.attempts], plan.origin_ns + side.called_ns, plan.origin_ns + side.end_ns,
        is_parent_remote=True, status=np.where(plan.attempts.is_failed[side.attempts], ERROR,
        0).astype(np.uint8),
        attributes={
            "rid": rids, "module": "sglang::request", **_room(plan, side), **_results(plan, side, rids),
        },
    )  # fmt: skip


def _results(plan: Sketch, side: Side, rids: np.ndarray) -> dict[str, Column | Optional]:
    """Usage and latencies, on the roots of attempts that finished."""
    requests = plan.run.requests[plan.attempts.request[side.attempts]]
    is_done = (requests["outcome"] == state.OK) & ~plan.attempts.is_failed[side.attempts]
    first, last = requests["attempt_first_ns"], requests["engine_last_ns"]
    arrival, dispatched = plan.attempts.frontend_ns[side.attempts], requests["queued_ns"]
    values = {
        "gen_ai.usage.prompt_tokens": requests["prompt_tokens"],
        "gen_ai.usage.completion_tokens": requests["output_tokens"],
        "gen_ai.usage.cached_tokens": np.maximum(requests["cached_tokens"], 0),
        "gen_ai.request.id": rids,
        "gen_ai.request.max_tokens": requests["output_tokens"],
        "gen_ai.response.model": np.full(rids.size, MODEL_NAME, dtype=object),
        "gen_ai.response.finish_reasons": np.full(rids.size, '["length"]', dtype=object),
        "gen_ai.latency.time_to_first_token": (first - arrival) / 1e9,
        "gen_ai.latency.e2e": (last - arrival) / 1e9,
        "gen_ai.latency.time_in_model_prefill": (first - dispatched) / 1e9,
        "gen_ai.latency.time_in_model_decode": (last - first) / 1e9,
        "gen_ai.latency.time_in_model_inference": (last - dispatched) / 1e9,
    }
    shown = {key for key in values if side.role != "prefill" or "latency" not in key}
    shown -= {"gen_ai.usage.completion_tokens"} if side.role == "prefill" else set()
    return {key: Optional(column, is_done) for key, column in values.items() if key in shown}


def _room(plan: Sketch, side: Side) -> dict[str, Column]:
    """What joins the two sides of an attempt."""
    if not side.role:
        return {}
    numbers = plan.ids("sglang.rooms", plan.attempts.request.size)[side.attempts].tolist()
    return {"bootstrap_room": np.array([f"{number:x}" for number in numbers], dtype=object)}
