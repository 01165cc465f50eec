"""What a finished step gives: tokens on their way to the client, prompts on their way to a decode replica."""

from __future__ import annotations

from generators.serving import engine, failures, gateway, queues, stages, state
from generators.serving.journal import Heap, close, drawn_ns, enter, is_active, is_struck, record, schedule
from generators.serving.state import World
from tracekit.kernels import kernel


@kernel
def step_ended(world: World, heap: Heap, replica: int, now_ns: int) -> None:
    """Book a finished step, then start the next one."""
    place, requests, batch = world.replicas[replica], world.requests, world.batches[replica]
    place.busy = False
    place.busy_ns += now_ns - place.step_start_ns
    place.steps += 1
    drafts, accepted_share = world.config.spec_tokens, engine.acceptance(world, replica, now_ns)
    for position in range(place.running - 1, -1, -1):
        row = requests[batch[position]]
        has_tokens = row.chunk > 0 and engine.advance(row, place, drafts, accepted_share)
        # Most decode steps change nothing but the count of tokens.
        if has_tokens and (row.stage != stages.ENG_DECODE or row.generated >= row.output_tokens):
            tokens_ready(world, heap, replica, batch[position], now_ns)
    engine.start_step(world, heap, replica, now_ns)


@kernel
def tokens_ready(world: World, heap: Heap, replica: int, request: int, now_ns: int) -> None:
    """A step gave tokens: the first, the last, or the sign that a prompt can go to its decode replica."""
    row = world.requests[request]
    if row.attempt_first_ns < 0 and failures.fails(world, replica, request, now_ns):
        failures.engine_error(world, heap, request, now_ns)
        return
    if engine.only_prefills(world, replica) and row.generated < row.output_tokens:
        hand_over(world, heap, request, now_ns)
        return
    if row.attempt_first_ns < 0:
        row.attempt_first_ns = now_ns
    if row.engine_first_ns < 0:
        engine.first_token(world, request, now_ns)
    elif row.stage == stages.ENG_RECOMPUTE:
        enter(world, request, stages.ENG_DECODE, now_ns)
    if row.generated >= row.output_tokens:
        finish(world, heap, replica, request, now_ns)


@kernel
def finish(world: World, heap: Heap, replica: int, request: int, now_ns: int) -> None:
    """The last token leaves the engine; the response closes when the client has read it."""
    row = world.requests[request]
    row.engine_last_ns = now_ns
    world.replicas[replica].finished += 1
    gateway.detach(world, request)
    detok_ns = drawn_ns(world, request, stages.OUT_DETOK, now_ns)
    enter(world, request, stages.OUT_DETOK, now_ns)
    enter(world, request, stages.OUT_STREAM, now_ns + detok_ns)
    record(
        world,
        request,
        stages.OUT_STREAM,
        now_ns + detok_ns + drawn_ns(world, request, stages.OUT_STREAM, now_ns),
    )
    row.last_ns = row.since_ns
    drained_ns = row.first_ns + row.output_tokens * read_ns(world, request)
    close(world, request, state.OK, 200, max(row.last_ns, drained_ns))
    if world.config.max_inflight > 0:
        schedule(world, heap, row.close_ns, gateway.CLOSES, request, 0)


@kernel
def read_ns(world: World, request: int) -> int:
    """Time that the client needs to take one token off the wire."""
    row = world.requests[request]
    if is_active(world, row.arrival_ns) and row.fault_read_ns > row.read_ns:
        without_ns = max(row.last_ns, row.first_ns + row.output_tokens * row.read_ns)
        extra_ns = row.first_ns + row.output_tokens * row.fault_read_ns - without_ns
        world.injected[request, stages.OUT_STREAM] += max(extra_ns, 0)
        return row.fault_read_ns
    return row.read_ns


@kernel
def hand_over(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Prefill is done here: leave the batch, keep the blocks, and shake hands with a decode replica."""
    row = world.requests[request]
    blocks = row.blocks
    queues.leave(world, row.replica, request)
    row.blocks = blocks
    world.replicas[row.replica].used_blocks += blocks
    row.held = state.IN_TRANSFER
    gateway.spend(world, heap, request, stages.KV_BOOTSTRAP, now_ns)


@kernel
def start_transfer(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Send the KV blocks over the replica's link, one transfer after the other."""
    row = world.requests[request]
    enter(world, request, stages.KV_TRANSFER, now_ns)
    place = world.replicas[row.replica]
    base_ns = int(row.prompt_tokens * world.config.transfer_ns_per_token)
    factor = world.fault.link_factor if is_struck(world, row.replica, now_ns) else 1.0
    world.injected[request, stages.KV_TRANSFER] += int(base_ns * factor) - base_ns
    place.link_free_ns = max(now_ns, place.link_free_ns) + int(base_ns * factor)
    place.transferred_bytes += row.prompt_tokens * world.config.kv_bytes_per_token
    schedule(world, heap, place.link_free_ns, gateway.STAGE_ENDS, request, row.attempt)


@kernel
def finish_transfer(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The blocks have arrived: wait for a place in the decode replica's batch."""
    row = world.requests[request]
    decode = gateway.least_assigned(world, world.config.first_decode_replica, world.replicas.shape[0], now_ns)
    if decode < 0:
        failures.lose(world, heap, request, now_ns)
        return
    prefill_replica = gateway.detach(world, request)
    enter(world, request, stages.ENG_DECODE_WAIT, now_ns)
    world.replicas[decode].assigned += 1
    row.decode_replica, row.is_assigned = decode, True
    queues.push(world, decode, request)
    engine.wake(world, heap, decode, now_ns)
    engine.wake(world, heap, prefill_replica, now_ns)
