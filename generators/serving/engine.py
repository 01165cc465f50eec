"""A continuous-batching engine: token budget, KV blocks, chunked prefill, preemption with recompute,
speculation.

A request needs its prompt and the tokens generated so far in the KV cache before the next token can be
sampled. A step brings it nearer by a chunk; when nothing is missing, the step yields a token. Decoding is a
chunk of one token, so prefill, decode and recompute after preemption are one rule, as in vLLM's scheduler.
Step time is `base + prefill tokens / throughput + decoding sequences x a + their context x b`.
"""

from __future__ import annotations

from typing import Any

from generators.serving import queues, stages, state
from generators.serving.journal import Heap, enter, inject, is_active, is_struck, schedule
from generators.serving.state import World
from tracekit.kernels import kernel

Record = Any
"""One row of a structured array, passed by reference."""

STEP_ENDS = 1
"""Event: the step of a replica is over; its guard is the replica's epoch, which a crash changes."""


@kernel
def missing_tokens(row: Record) -> int:
    """Tokens of a request that are not in the KV cache and must be before the next one can be sampled."""
    return row.prompt_tokens + row.generated - row.context


@kernel
def is_decoding(row: Record) -> bool:
    """Whether the next step of a request is a decode step."""
    return row.generated > 0 and missing_tokens(row) == 1


@kernel
def blocks_for(row: Record, chunk: int, block_tokens: int) -> int:
    """KV blocks that a request lacks for a chunk of this many tokens."""
    return (row.context + chunk + block_tokens - 1) // block_tokens - row.blocks


@kernel
def allocate(row: Record, place: Record, chunk: int, blocks: int) -> None:
    """Give a request the blocks for its chunk and plan the chunk."""
    row.blocks += blocks
    row.chunk = chunk
    place.used_blocks += blocks


@kernel
def usable_blocks(world: World, replica: int, now_ns: int) -> int:
    """KV blocks of a replica, free or not; fewer while a fault has taken some away."""
    if is_struck(world, replica, now_ns):
        return int(world.config.kv_blocks * world.fault.kv_factor)
    return world.config.kv_blocks


@kernel
def max_sequences(world: World, replica: int, now_ns: int) -> int:
    """How many sequences the replica may run at once."""
    if world.fault.max_num_seqs > 0 and is_struck(world, replica, now_ns):
        return min(world.fault.max_num_seqs, world.config.max_num_seqs)
    return world.config.max_num_seqs


@kernel
def mixes_chunks(world: World, replica: int, now_ns: int) -> bool:
    """Whether prompts are prefilled in chunks beside decode steps."""
    return world.config.is_chunked and not (world.fault.is_chunking_off and is_struck(world, replica, now_ns))


@kernel
def preempt_last(world: World, replica: int, now_ns: int) -> int:
    """Throw the youngest request out of the batch, to be computed again; returns it."""
    place = world.replicas[replica]
    victim = world.batches[replica, place.running - 1]
    queues.leave(world, replica, victim)
    row = world.requests[victim]
    row.context, row.chunk = 0, 0
    row.preemptions += 1
    place.preemptions += 1
    queues.push_front(world, replica, victim)
    enter(world, victim, stages.ENG_PREEMPT_WAIT, now_ns)
    return victim


@kernel
def make_room(world: World, replica: int, request: int, blocks: int, usable: int, now_ns: int) -> bool:
    """Preempt the youngest until `blocks` are free; false where the request itself had to go."""
    place = world.replicas[replica]
    while place.used_blocks + blocks > usable:
        if preempt_last(world, replica, now_ns) == request:
            return False
    return True


@kernel
def plan_running(world: World, replica: int, budget: int, now_ns: int, decodes: bool) -> tuple[int, bool]:
    """Plan a chunk for each running request; returns the budget left and whether someone was preempted.

    Without `decodes` only unfinished prompts are planned (chunked prefill off, prompts first).
    """
    place, batch, requests = world.replicas[replica], world.batches[replica], world.requests
    usable, size = usable_blocks(world, replica, now_ns), world.config.block_tokens
    position, has_preempted = 0, False
    while position < place.running and budget > 0:
        row = requests[batch[position]]
        position += 1
        if not decodes and is_decoding(row):
            continue
        chunk = min(missing_tokens(row), budget)
        blocks = blocks_for(row, chunk, size)
        if place.used_blocks + blocks > usable:
            has_preempted = True
            if not make_room(world, replica, batch[position - 1], blocks, usable, now_ns):
                break
        allocate(row, place, chunk, blocks)
        budget -= chunk
    return budget, has_preempted


@kernel
def start_context(world: World, replica: int, request: int, now_ns: int) -> None:
    """Look the prompt up in the prefix cache when the request is first scheduled."""
    row, place = world.requests[request], world.replicas[replica]
    if row.cached_tokens >= 0 or row.generated > 0:
        return
    is_cold = world.fault.is_prefix_cold and is_struck(world, replica, now_ns)
    row.context = 0 if is_cold else row.hit_tokens
    row.cached_tokens = row.context
    place.queried_tokens += row.prompt_tokens
    place.cached_tokens += row.context


@kernel
def admit(world: World, replica: int, budget: int, now_ns: int) -> int:
    """Move waiting requests into the batch while seats, tokens and blocks allow; returns the budget left."""
    place, size = world.replicas[replica], world.config.block_tokens
    usable, limit = usable_blocks(world, replica, now_ns), max_sequences(world, replica, now_ns)
    whole = not mixes_chunks(world, replica, now_ns)
    while place.head >= 0 and budget > 0 and place.running < limit:
        request = place.head
        row = world.requests[request]
        start_context(world, replica, request, now_ns)
        missing = missing_tokens(row)
        chunk = missing if whole and budget == world.config.max_batched_tokens else min(missing, budget)
        blocks = blocks_for(row, chunk, size)
        if (whole and chunk < missing) or place.used_blocks + blocks > usable:
            break
        queues.remove(world, replica, request)
        queues.join(world, replica, request)
        allocate(row, place, chunk, blocks)
        budget = max(budget - chunk, 0)
        enter_batch(world, request, now_ns)
    return budget


@kernel
def enter_batch(world: World, request: int, now_ns: int) -> None:
    """The request is scheduled: it is prefilling, recomputing or, after a KV transfer, decoding."""
    row = world.requests[request]
    if row.scheduled_ns < 0:
        row.scheduled_ns = now_ns
    if is_decoding(row) and row.stage == stages.ENG_DECODE_WAIT:
        enter(world, request, stages.ENG_DECODE, now_ns)
        row.attempt_first_ns = now_ns
        if row.engine_first_ns < 0:
            first_token(world, request, now_ns)
        return
    is_repeated = row.generated > 0 or row.preemptions > 0
    enter(world, request, stages.ENG_RECOMPUTE if is_repeated else stages.ENG_PREFILL, now_ns)


@kernel
def step_cost_ns(world: World, replica: int) -> tuple[float, float]:
    """Time of the planned step and the part of it that prefill adds, from the chunks planned."""
    config, requests, batch = world.config, world.requests, world.batches[replica]
    prefill, sequences, context = 0, 0, 0
    for position in range(world.replicas[replica].running):
        row = requests[batch[position]]
        if row.chunk == 1 and is_decoding(row):
            sequences += 1
            context += row.context
        else:
            prefill += row.chunk
    prefill_ns = prefill * config.prefill_ns_per_token
    decode_ns = sequences * config.step_ns_per_sequence + context * config.step_ns_per_context
    drafting_ns = config.draft_ns if config.spec_tokens > 0 and sequences > 0 else 0.0
    return config.step_base_ns + prefill_ns + decode_ns + drafting_ns, prefill_ns


@kernel
def start_step(world: World, heap: Heap, replica: int, now_ns: int) -> None:
    """Plan the next step of an idle replica and schedule its end; nothing where no request can run."""
    place, budget = world.replicas[replica], world.config.max_batched_tokens
    if mixes_chunks(world, replica, now_ns):
        budget, has_preempted = plan_running(world, replica, budget, now_ns, True)
        budget = budget if has_preempted else admit(world, replica, budget, now_ns)
    else:
        budget, has_preempted = plan_running(world, replica, budget, now_ns, False)
        budget = budget if has_preempted else admit(world, replica, budget, now_ns)
        if budget == world.config.max_batched_tokens:
            budget, has_preempted = plan_running(world, replica, budget, now_ns, True)
    place.busy = budget < world.config.max_batched_tokens
    if place.busy:
        run_step(world, heap, replica, now_ns)


@kernel
def run_step(world: World, heap: Heap, replica: int, now_ns: int) -> None:
    """Let the planned step take its time; charge what prefill and the fault add to those who wait."""
    cost_ns, prefill_ns = step_cost_ns(world, replica)
    factor = world.fault.step_factor if is_struck(world, replica, now_ns) else 1.0
    duration_ns, extra_ns = int(cost_ns * factor), int(cost_ns * (factor - 1.0))
    place, requests, batch = world.replicas[replica], world.requests, world.batches[replica]
    stall_ns = int(prefill_ns * factor)
    for position in range(place.running):
        row = requests[batch[position]]
        if is_decoding(row):
            row.stall_ns += duration_ns if row.chunk == 0 else stall_ns
        if extra_ns > 0:
            inject(world, batch[position], row.stage, extra_ns)
    place.step_start_ns = now_ns
    schedule(world, heap, now_ns + duration_ns, STEP_ENDS, replica, place.epoch)


@kernel
def acceptance(world: World, replica: int, now_ns: int) -> float:
    """Share of draft tokens that the replica accepts now."""
    if world.fault.spec_acceptance >= 0 and is_struck(world, replica, now_ns):
        return world.fault.spec_acceptance
    return world.config.spec_acceptance


@kernel
def accepted_drafts(row: Record, place: Record, drafts: int, accepted_share: float) -> int:
    """Draft tokens of one step that were accepted.

    Fractions of a token are carried over to the next step, so that the mean is exact without a random number
    per step.
    """
    row.credit += drafts * accepted_share
    accepted = min(int(row.credit), drafts)
    row.credit -= accepted
    place.drafted += drafts
    place.accepted += accepted
    return accepted


@kernel
def first_token(world: World, request: int, now_ns: int) -> None:
    """The engine has the first token: it travels to the gateway while decoding goes on."""
    row = world.requests[request]
    row.engine_first_ns = now_ns
    row.good_attempt = row.attempt
    way_ns = world.durations[request, stages.OUT_DETOK] + world.durations[request, stages.OUT_STREAM]
    if world.fault.delay_stage in (stages.OUT_DETOK, stages.OUT_STREAM) and is_active(world, now_ns):
        way_ns += row.delay_ns
        inject(world, request, world.fault.delay_stage, row.delay_ns)
    enter(world, request, stages.OUT_DETOK, now_ns)
    enter(world, request, stages.OUT_STREAM, now_ns + world.durations[request, stages.OUT_DETOK])
    enter(world, request, stages.ENG_DECODE, now_ns + way_ns)
    row.first_ns = row.since_ns


@kernel
def advance(row: Record, place: Record, drafts: int, accepted_share: float) -> bool:
    """Book a request's chunk of a finished step; returns whether its context was complete, so that tokens
    came.
    """
    if row.generated == 0:
        place.prompt_tokens += row.chunk
    row.context += row.chunk
    row.chunk = 0
    if missing_tokens(row) > 0:
        return False
    tokens = 1
    if drafts > 0 and row.generated > 0:
        tokens = min(1 + accepted_drafts(row, place, drafts, accepted_share), row.output_tokens - row.generated)
    # All tokens of a step but the last are in the KV cache already.
    row.context += tokens - 1
    row.generated += tokens
    place.generation_tokens += tokens
    return True


@kernel
def only_prefills(world: World, replica: int) -> bool:
    """Whether the replica only prefills, so that its requests go on elsewhere."""
    return world.replicas[replica].role == state.PREFILL


@kernel
def wake(world: World, heap: Heap, replica: int, now_ns: int) -> None:
    """Start a step on a replica that is idle."""
    if replica >= 0 and world.replicas[replica].is_up and not world.replicas[replica].busy:
        start_step(world, heap, replica, now_ns)
