"""What ends an attempt before its time: dead replicas, clients that leave, time-outs."""

from __future__ import annotations

from generators.serving import engine, gateway, state
from generators.serving.journal import Heap, is_struck
from generators.serving.state import World
from tracekit.kernels import kernel

GOLDEN = 0.6180339887498949
"""Steps of the golden ratio spread the draws of repeated attempts evenly."""


@kernel
def lose(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The replica is dead: move the request elsewhere once that is noticed, or fail it."""
    row = world.requests[request]
    gateway.detach(world, request)
    if row.migrations >= world.config.max_migrations:
        gateway.end(world, heap, request, state.FAILED, 502, now_ns)
        return
    row.migrations += 1
    row.carried_tokens = row.generated if row.engine_first_ns >= 0 else 0
    gateway.repeat(world, heap, request, world.fault.detect_ns, now_ns)


@kernel
def crash(world: World, heap: Heap, replica: int, now_ns: int) -> None:
    """The replica dies with everything that it holds."""
    place = world.replicas[replica]
    place.is_up, place.busy = False, False
    place.epoch += 1
    while place.running > 0:
        lose(world, heap, world.batches[replica, place.running - 1], now_ns)
    while place.head >= 0:
        lose(world, heap, place.head, now_ns)


@kernel
def give_up(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The client leaves: 499, and the engine stops working for it."""
    if world.requests[request].held == state.CLOSED:
        return
    replica = gateway.detach(world, request)
    gateway.end(world, heap, request, state.ABORTED, 499, now_ns)
    engine.wake(world, heap, replica, now_ns)


@kernel
def cancel(world: World, heap: Heap, request: int, sibling: int, now_ns: int) -> None:
    """The client cancels the request because a sibling failed: 499."""
    if world.requests[request].held == state.CLOSED:
        return
    world.requests[request].cancelled_by = sibling
    give_up(world, heap, request, now_ns)


@kernel
def fails(world: World, replica: int, request: int, now_ns: int) -> bool:
    """Whether the engine fails this attempt; every attempt has luck of its own."""
    share = world.fault.error_share
    if share <= 0.0 or not is_struck(world, replica, now_ns):
        return False
    row = world.requests[request]
    return (row.error_draw + row.attempt * GOLDEN) % 1.0 < share


@kernel
def engine_error(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The engine fails the attempt: try again, or answer 500."""
    row = world.requests[request]
    row.engine_errors += 1
    if row.attempt + 1 < world.config.max_attempts:
        gateway.detach(world, request)
        gateway.repeat(world, heap, request, world.config.backoff_ns, now_ns)
    else:
        gateway.end(world, heap, request, state.FAILED, 500, now_ns)


@kernel
def time_out(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The attempt has no first token in time: try again, or fail with 504."""
    row = world.requests[request]
    if row.held == state.CLOSED or row.engine_first_ns >= 0:
        return
    replica = gateway.detach(world, request)
    if row.attempt + 1 < world.config.max_attempts:
        gateway.repeat(world, heap, request, world.config.backoff_ns, now_ns)
    else:
        gateway.end(world, heap, request, state.FAILED, 504, now_ns)
    engine.wake(world, heap, replica, now_ns)
