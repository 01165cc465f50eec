"""First-in first-out queues inside the request array, and the batch of each replica."""

from __future__ import annotations

from generators.serving.state import (
    AT_ENGINE_QUEUE,
    AT_GATEWAY_QUEUE,
    IN_BATCH,
    NONE,
    NOWHERE,
    QUEUE_HEAD,
    QUEUE_TAIL,
    QUEUED,
    World,
)
from tracekit.kernels import kernel


@kernel
def push(world: World, replica: int, request: int) -> None:
    """Put a request at the end of a replica's waiting queue."""
    place = world.replicas[replica]
    world.requests[request].next = NONE
    world.requests[request].held = AT_ENGINE_QUEUE
    if place.tail == NONE:
        place.head = request
    else:
        world.requests[place.tail].next = request
    place.tail = request
    place.waiting += 1


@kernel
def push_front(world: World, replica: int, request: int) -> None:
    """Put a preempted request before all that wait."""
    place = world.replicas[replica]
    world.requests[request].next = place.head
    world.requests[request].held = AT_ENGINE_QUEUE
    place.head = request
    if place.tail == NONE:
        place.tail = request
    place.waiting += 1


@kernel
def remove(world: World, replica: int, request: int) -> None:
    """Take a request out of a replica's waiting queue, wherever it stands."""
    place = world.replicas[replica]
    before, current = NONE, place.head
    while current != request:
        before, current = current, world.requests[current].next
    after = world.requests[request].next
    if before == NONE:
        place.head = after
    else:
        world.requests[before].next = after
    if after == NONE:
        place.tail = before
    place.waiting -= 1
    world.requests[request].held = NOWHERE


@kernel
def join(world: World, replica: int, request: int) -> None:
    """Add a request to the end of a replica's batch."""
    place = world.replicas[replica]
    world.batches[replica, place.running] = request
    place.running += 1
    world.requests[request].held = IN_BATCH


@kernel
def leave(world: World, replica: int, request: int) -> None:
    """Take a request out of a replica's batch and free its KV blocks; the order of the others stays."""
    place, batch = world.replicas[replica], world.batches[replica]
    position = 0
    while batch[position] != request:
        position += 1
    for later in range(position + 1, place.running):
        batch[later - 1] = batch[later]
    place.running -= 1
    world.requests[request].held, world.requests[request].chunk = NOWHERE, 0
    free(world, replica, request)


@kernel
def free(world: World, replica: int, request: int) -> None:
    """Give the request's KV blocks back to its replica."""
    world.replicas[replica].used_blocks -= world.requests[request].blocks
    world.requests[request].blocks = 0


@kernel
def wait_at_gateway(world: World, request: int) -> None:
    """Put a request at the end of the gateway's admission queue."""
    world.requests[request].next = NONE
    world.requests[request].held = AT_GATEWAY_QUEUE
    if world.counters[QUEUE_TAIL] == NONE:
        world.counters[QUEUE_HEAD] = request
    else:
        world.requests[world.counters[QUEUE_TAIL]].next = request
    world.counters[QUEUE_TAIL] = request
    world.counters[QUEUED] += 1


@kernel
def next_at_gateway(world: World) -> int:
    """Take the first request that still waits at the gateway; NONE where none does.

    Requests whose clients left stay linked, closed, and are passed over here.
    """
    while world.counters[QUEUE_HEAD] != NONE:
        request = world.counters[QUEUE_HEAD]
        world.counters[QUEUE_HEAD] = world.requests[request].next
        if world.counters[QUEUE_HEAD] == NONE:
            world.counters[QUEUE_TAIL] = NONE
        world.counters[QUEUED] -= 1
        if world.requests[request].held == AT_GATEWAY_QUEUE:
            world.requests[request].held = NOWHERE
            return request
    return NONE
