"""The replay of engines that batch continuously, step by step, compiled.

An engine plans a step when the one before it has ended: every sequence that decodes gets one token, prompts get what is
left of the token budget in order of admission, and waiting requests are admitted while there are seats, budget and KV
blocks. A step takes `base + sequences x a + context x b` and the prefill work of its chunks.
"""

from __future__ import annotations

import numpy as np

from tracekit.kernels import kernel
from tracekit.partition import Array

NONE = -1
NEVER = np.iinfo(np.int64).max
AS_OBSERVED, LEAST_REQUESTS, ROUND_ROBIN, SHARED, DRAWN = range(5)
"""How an engine is chosen. SHARED: as observed, but each new engine takes its part of everybody's requests, evenly;
DRAWN: so, but by lot."""

SCHEDULED, FIRST, LAST, ENGINE = range(4)
"""Columns of what the replay finds."""

PROMPT, DONE, GENERATED, CHUNK, NEXT = range(5)
"""Columns of the state of a request."""

HEAD, TAIL, RUNNING, ASSIGNED, CONTEXT, IS_BUSY = range(6)
"""Columns of the state of an engine."""


@kernel
def replay_batches(
    dispatched_ns: Array, queued_ns: Array, by_dispatch: Array, by_queue: Array, observed_engine: Array,
    prompt_tokens: Array, output_tokens: Array, work_ns: Array, step_ns: Array, speed: Array, seats: Array,
    kv_tokens: Array, first_bin_ns: int, bin_ns: int, budget: int, router: int, lot: int, is_apart: bool,
    found: Array,
) -> None:  # fmt: skip
    """Into `found[request]`: when it was scheduled, gave its first and its last token, and the engine that served it.

    `step_ns`: base, by sequence, by token of context. `speed[engine, bin]`: how many times as long steps take.
    `seats[engine, bin]`, `kv_tokens[engine, bin]`: sequences that may run, and tokens that they may hold. `budget`:
    tokens of a step. `lot`: which lots are drawn. `is_apart`: prompts are prefilled beside the decode steps.
    `observed_engine` may be NONE for an engine that is no more.
    """
    count, engine_count = len(queued_ns), seats.shape[0]
    requests = np.zeros((count, 5), np.int64)
    engines = np.zeros((engine_count, 6), np.int64)
    engines[:, HEAD] = engines[:, TAIL] = NONE
    batches = np.full((engine_count, max(1, min(count, 8192))), NONE, np.int64)
    ends_ns = np.full((engine_count, 2), NEVER, np.int64)
    lanes = np.full((engine_count, 2), NONE, np.int64)
    requests[:, PROMPT] = prompt_tokens
    at_dispatch, at_queue, turn, known = 0, 0, lot, observed_engine.max() + 1
    while True:
        now_ns, engine, lane = _next_end(ends_ns)
        dispatch_ns = dispatched_ns[by_dispatch[at_dispatch]] if at_dispatch < count else NEVER
        queue_ns = queued_ns[by_queue[at_queue]] if at_queue < count else NEVER
        if min(dispatch_ns, queue_ns, now_ns) == NEVER:
            break
        if dispatch_ns <= queue_ns and dispatch_ns < now_ns:
            request = by_dispatch[at_dispatch]
            at_dispatch += 1
            turn += 1
            found[request, ENGINE] = _chosen(router, observed_engine[request], known, turn, engines)
            engines[found[request, ENGINE], ASSIGNED] += 1
            continue
        if queue_ns < now_ns:
            engine, now_ns = found[by_queue[at_queue], ENGINE], queue_ns
            _push(engines, requests, engine, by_queue[at_queue])
            at_queue += 1
        elif lane == 1:
            _prefilled(engines, requests, batches, lanes, ends_ns, engine, now_ns, output_tokens, found)
        else:
            ends_ns[engine, 0] = NEVER
            engines[engine, IS_BUSY] = 0
            _deliver(engines, requests, batches, engine, now_ns, output_tokens, found)
        at = min(max((now_ns - first_bin_ns) // bin_ns, 0), seats.shape[1] - 1)
        if is_apart:
            _prefill_next(engines, requests, lanes, ends_ns, engine, now_ns, work_ns, step_ns, speed[engine, at],
                          seats[engine, at], found)  # fmt: skip
        if engines[engine, IS_BUSY] == 0:
            taken_ns = _planned(engines, requests, batches, engine, now_ns, work_ns, step_ns, seats[engine, at],
                                kv_tokens[engine, at], budget, is_apart, found)  # fmt: skip
            if taken_ns > 0.0:
                engines[engine, IS_BUSY] = 1
                ends_ns[engine, 0] = now_ns + max(1, int(taken_ns * speed[engine, at]))


@kernel
def _next_end(ends_ns: Array) -> tuple[int, int, int]:
    """When the next step ends, on which engine, and whether it is a decode step (0) or a prefill beside it (1)."""
    next_ns, engine, lane = NEVER, NONE, 0
    for one in range(len(ends_ns)):
        for part in range(2):
            if ends_ns[one, part] < next_ns:
                next_ns, engine, lane = ends_ns[one, part], one, part
    return next_ns, engine, lane


@kernel
def _chosen(router: int, observed: int, known: int, turn: int, engines: Array) -> int:
    """The engine for a request that is dispatched now."""
    if router == ROUND_ROBIN:
        return turn % len(engines)
    if router in (SHARED, DRAWN):
        # Multiples of the golden ratio fill the unit interval evenly; squares of the turn do it as a lot would.
        spread = turn if router == SHARED else turn * (turn % 65521)
        place = int(spread * 0.6180339887498949 % 1.0 * len(engines))
        return place if observed == NONE or place >= known else observed
    if router != LEAST_REQUESTS:
        return observed
    best = 0
    for engine in range(1, len(engines)):
        if engines[engine, ASSIGNED] < engines[best, ASSIGNED]:
            best = engine
    return best


@kernel
def _push(engines: Array, requests: Array, engine: int, request: int) -> None:
    """Put a request at the end of an engine's queue."""
    requests[request, NEXT] = NONE
    if engines[engine, TAIL] == NONE:
        engines[engine, HEAD] = request
    else:
        requests[engines[engine, TAIL], NEXT] = request
    engines[engine, TAIL] = request


@kernel
def _pop(engines: Array, requests: Array, engine: int) -> int:
    """Take the first request out of an engine's queue."""
    request = engines[engine, HEAD]
    engines[engine, HEAD] = requests[request, NEXT]
    if engines[engine, HEAD] == NONE:
        engines[engine, TAIL] = NONE
    return request


@kernel
def _preempt(engines: Array, requests: Array, batches: Array, engine: int) -> None:
    """The youngest sequence goes back to the head of the queue; what it had must be computed again."""
    engines[engine, RUNNING] -= 1
    victim = batches[engine, engines[engine, RUNNING]]
    state = requests[victim]
    engines[engine, CONTEXT] -= state[DONE]
    state[PROMPT] += state[GENERATED]
    state[DONE] = 0
    state[NEXT] = engines[engine, HEAD]
    engines[engine, HEAD] = victim
    if engines[engine, TAIL] == NONE:
        engines[engine, TAIL] = victim


@kernel
def _planned(
    engines: Array, requests: Array, batches: Array, engine: int, now_ns: int, work_ns: Array, step_ns: Array,
    seats: int, kv_tokens: int, budget: int, is_apart: bool, found: Array,
) -> float:  # fmt: skip
    """Plan the engine's next step; the time that it takes at usual speed, 0 where nothing can run."""
    place, left, sequences, context, prefill_ns = engines[engine], budget, 0, 0, 0.0
    admits = not is_apart
    while place[RUNNING] > 1 and place[CONTEXT] + place[RUNNING] > kv_tokens:
        _preempt(engines, requests, batches, engine)
        admits = False
    for position in range(place[RUNNING]):
        state = requests[batches[engine, position]]
        missing = state[PROMPT] - state[DONE]
        if missing <= 0:
            sequences += 1
            context += state[DONE]
            state[CHUNK] = 1
            left -= 1
        else:
            state[CHUNK] = max(min(missing, left), 0)
            left -= state[CHUNK]
            prefill_ns += state[CHUNK] * work_ns[batches[engine, position]]
    while admits and place[HEAD] != NONE and left > 0 and place[RUNNING] < min(seats, batches.shape[1]):
        request = place[HEAD]
        state = requests[request]
        chunk = min(state[PROMPT], left)
        if place[RUNNING] > 0 and place[CONTEXT] + state[PROMPT] > kv_tokens:
            break
        _pop(engines, requests, engine)
        batches[engine, place[RUNNING]] = request
        place[RUNNING] += 1
        state[CHUNK] = chunk
        left -= chunk
        prefill_ns += chunk * work_ns[request]
        if found[request, SCHEDULED] == NONE:
            found[request, SCHEDULED] = now_ns
    if sequences == 0 and prefill_ns == 0.0 and left == budget:
        return 0.0
    return step_ns[0] + sequences * step_ns[1] + context * step_ns[2] + prefill_ns


@kernel
def _deliver(
    engines: Array, requests: Array, batches: Array, engine: int, now_ns: int, output_tokens: Array, found: Array
) -> None:
    """Book a finished step: tokens, and who is done; the order of the others stays."""
    place, kept = engines[engine], 0
    for position in range(place[RUNNING]):
        request = batches[engine, position]
        state = requests[request]
        state[DONE] += state[CHUNK]
        place[CONTEXT] += state[CHUNK]
        if state[CHUNK] > 0 and state[DONE] >= state[PROMPT]:
            state[GENERATED] += 1
            if found[request, FIRST] == NONE:
                found[request, FIRST] = now_ns
        state[CHUNK] = 0
        if state[GENERATED] >= output_tokens[request]:
            _finished(engines, requests, engine, request, now_ns, found)
        else:
            batches[engine, kept] = request
            kept += 1
    place[RUNNING] = kept


@kernel
def _finished(engines: Array, requests: Array, engine: int, request: int, now_ns: int, found: Array) -> None:
    found[request, LAST] = now_ns
    engines[engine, ASSIGNED] -= 1
    engines[engine, CONTEXT] -= requests[request, DONE]


@kernel
def _prefill_next(
    engines: Array, requests: Array, lanes: Array, ends_ns: Array, engine: int, now_ns: int, work_ns: Array,
    step_ns: Array, speed: float, seats: int, found: Array,
) -> None:  # fmt: skip
    """Prefill the first request that waits, beside the decode steps, one at a time."""
    place = engines[engine]
    if lanes[engine, 1] != NONE or place[HEAD] == NONE or place[RUNNING] >= seats:
        return
    request = _pop(engines, requests, engine)
    lanes[engine, 1] = request
    found[request, SCHEDULED] = now_ns
    taken_ns = step_ns[0] + requests[request, PROMPT] * work_ns[request]
    ends_ns[engine, 1] = now_ns + max(1, int(taken_ns * speed))


@kernel
def _prefilled(
    engines: Array, requests: Array, batches: Array, lanes: Array, ends_ns: Array, engine: int, now_ns: int,
    output_tokens: Array, found: Array,
) -> None:  # fmt: skip
    """A prompt prefilled beside the decode steps joins the batch with its first token."""
    request = lanes[engine, 1]
    lanes[engine, 1] = NONE
    ends_ns[engine, 1] = NEVER
    state, place = requests[request], engines[engine]
    state[DONE] = state[PROMPT]
    state[GENERATED] = 1
    found[request, FIRST] = now_ns
    place[CONTEXT] += state[DONE]
    if output_tokens[request] <= 1 or place[RUNNING] >= batches.shape[1]:
        _finished(engines, requests, engine, request, now_ns, found)
        return
    batches[engine, place[RUNNING]] = request
    place[RUNNING] += 1
