"""What the gateway decides: who may pass, who waits, which replica serves, what follows a failure."""

from __future__ import annotations

from generators.serving import queues, stages, state
from generators.serving.journal import Heap, close, drawn_ns, enter, is_active, is_struck, schedule
from generators.serving.state import INFLIGHT, TURN, World
from tracekit.kernels import kernel

STAGE_ENDS = 2
"""Event: a request's stage of drawn duration is over; its guard is the attempt."""
GIVES_UP = 3
"""Event: the client's patience ends."""
TIMES_OUT = 4
"""Event: an attempt's time without first token ends; its guard is the attempt."""
CLOSES = 6
"""Event: the response is closed, its place behind the gateway is free."""
CANCELLED = 9
"""Event: the client cancels a request because a sibling failed, the guard."""

ROUND_ROBIN, LEAST_REQUESTS, RANDOM, TWO_CHOICES, TENANT_HASH = range(5)


@kernel
def spend(world: World, heap: Heap, request: int, stage: int, now_ns: int) -> None:
    """The request enters a stage of drawn duration; an event ends it."""
    enter(world, request, stage, now_ns)
    end_ns = now_ns + drawn_ns(world, request, stage, now_ns)
    schedule(world, heap, end_ns, STAGE_ENDS, request, world.requests[request].attempt)


@kernel
def passes_quota(world: World, request: int, now_ns: int) -> bool:
    """Take a token from the tenant's bucket; false where it is empty."""
    config = world.config
    if config.quota_per_ns <= 0.0:
        return True
    rate = config.quota_per_ns * (world.fault.quota_factor if is_active(world, now_ns) else 1.0)
    tenant = world.tenants[world.requests[request].tenant]
    tenant.bucket = min(config.quota_burst, tenant.bucket + rate * (now_ns - tenant.refilled_ns))
    tenant.refilled_ns = now_ns
    if tenant.bucket < 1.0:
        return False
    tenant.bucket -= 1.0
    return True


@kernel
def pass_or_wait(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """Route the request when a place behind the gateway is free, else let it wait for one."""
    row = world.requests[request]
    if all_starting(world, now_ns):
        enter(world, request, stages.GW_QUEUE, now_ns)
        queues.wait_at_gateway(world, request)
        return
    if world.config.max_inflight > 0 and not row.has_slot:
        if world.counters[INFLIGHT] >= world.config.max_inflight:
            enter(world, request, stages.GW_QUEUE, now_ns)
            queues.wait_at_gateway(world, request)
            return
        take_slot(world, request)
    spend(world, heap, request, stages.GW_ROUTE, now_ns)


@kernel
def take_slot(world: World, request: int) -> None:
    """Count the request as one behind the gateway."""
    world.requests[request].has_slot = True
    world.counters[INFLIGHT] += 1


@kernel
def release_slot(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """The request is no longer behind the gateway: the first that waits may pass."""
    if not world.requests[request].has_slot:
        return
    world.requests[request].has_slot = False
    world.counters[INFLIGHT] -= 1
    following = queues.next_at_gateway(world)
    if following >= 0:
        take_slot(world, following)
        spend(world, heap, following, stages.GW_ROUTE, now_ns)


@kernel
def is_starting(world: World, replica: int, now_ns: int) -> bool:
    """Whether a replica has been taken over by a new one that is not ready yet; what it runs it finishes."""
    return world.fault.is_cold_start and is_struck(world, replica, now_ns)


@kernel
def all_starting(world: World, now_ns: int) -> bool:
    """Whether no replica takes requests because all are starting: then requests wait for the first."""
    return world.fault.is_cold_start and least_assigned(world, 0, world.config.first_decode_replica, now_ns) < 0


@kernel
def can_serve(world: World, replica: int, now_ns: int) -> bool:
    """Whether the gateway believes that a replica takes new requests: dead ones are noticed after a while."""
    place = world.replicas[replica]
    if is_starting(world, replica, now_ns):
        return False
    return place.role != state.DECODE and (place.is_up or now_ns < world.fault.start_ns + world.fault.detect_ns)


@kernel
def least_assigned(world: World, first: int, last: int, now_ns: int) -> int:
    """The replica with fewest requests among `first` to `last`, the lowest number on ties; NONE where none
    serves.
    """
    best = state.NONE
    for replica in range(first, last):
        place = world.replicas[replica]
        is_up = place.is_up and not is_starting(world, replica, now_ns)
        is_open = is_up if place.role == state.DECODE else can_serve(world, replica, now_ns)
        if is_open and (best < 0 or place.assigned < world.replicas[best].assigned):
            best = replica
    return best


@kernel
def preferred(world: World, request: int, count: int) -> int:
    """The replica that the router's rule names, dead or alive; NONE for the rule that looks at all."""
    row, router = world.requests[request], world.config.router
    if router == ROUND_ROBIN:
        world.counters[TURN] += 1
        return world.counters[TURN] % count
    if router == RANDOM:
        return int(row.route_draw * count)
    if router == TWO_CHOICES:
        one, other = int(row.route_draw * count), int(row.route_draw_2 * count)
        return other if world.replicas[other].assigned < world.replicas[one].assigned else one
    if router == TENANT_HASH:
        return row.tenant * 2654435761 % 4294967296 % count
    return state.NONE


@kernel
def choose_replica(world: World, request: int, now_ns: int) -> int:
    """The replica for the next attempt; NONE where none serves."""
    count = world.config.first_decode_replica
    chosen = preferred(world, request, count)
    if is_active(world, now_ns) and world.requests[request].pin_draw < world.fault.router_share:
        chosen = max(world.fault.replica, 0) % count
    if chosen < 0 or not can_serve(world, chosen, now_ns):
        return least_assigned(world, 0, count, now_ns)
    return chosen


@kernel
def assign(world: World, request: int, replica: int) -> None:
    """Count the request on the replica that will serve it."""
    world.requests[request].replica = replica
    world.requests[request].is_assigned = True
    world.replicas[replica].assigned += 1


@kernel
def detach(world: World, request: int) -> int:
    """Take the request out of whatever engine holds it; returns that replica or NONE."""
    row = world.requests[request]
    replica = row.replica if row.decode_replica < 0 else row.decode_replica
    if row.held == state.AT_ENGINE_QUEUE:
        queues.remove(world, replica, request)
    elif row.held == state.IN_BATCH:
        queues.leave(world, replica, request)
    elif row.held == state.IN_TRANSFER:
        queues.free(world, row.replica, request)
    if row.is_assigned:
        world.replicas[replica].assigned -= 1
        row.is_assigned = False
    row.held = state.NOWHERE
    return replica


@kernel
def fresh_attempt(world: World, request: int) -> None:
    """Forget what the last attempt computed; tokens that reached the client stay."""
    row = world.requests[request]
    row.attempt += 1
    row.replica, row.decode_replica, row.context, row.chunk = state.NONE, state.NONE, 0, 0
    row.frontend_ns, row.queued_ns, row.scheduled_ns, row.attempt_first_ns = -1, -1, -1, -1
    if row.engine_first_ns < 0:
        row.generated, row.preemptions, row.cached_tokens = 0, 0, state.NONE
        row.good_attempt = row.attempt


@kernel
def repeat(world: World, heap: Heap, request: int, pause_ns: int, now_ns: int) -> None:
    """Give the attempt up and start another after a pause."""
    enter(world, request, stages.RETRY, now_ns)
    fresh_attempt(world, request)
    schedule(world, heap, now_ns + pause_ns, STAGE_ENDS, request, world.requests[request].attempt)


@kernel
def end(world: World, heap: Heap, request: int, outcome: int, status: int, now_ns: int) -> None:
    """Close a request that did not get its whole answer, and free what it holds."""
    detach(world, request)
    close(world, request, outcome, status, now_ns)
    release_slot(world, heap, request, now_ns)
    if world.config.fan_out > 1 and outcome != state.ABORTED:
        cancel_siblings(world, heap, request, now_ns)


@kernel
def cancel_siblings(world: World, heap: Heap, request: int, now_ns: int) -> None:
    """A call needs all of its requests: when one fails its client cancels the others a moment later."""
    first = request // world.config.fan_out * world.config.fan_out
    for sibling in range(first, min(first + world.config.fan_out, world.requests.shape[0])):
        if world.requests[sibling].held != state.CLOSED:
            schedule(world, heap, now_ns + world.config.cancel_ns, CANCELLED, sibling, request)


@kernel
def start_all(world: World, heap: Heap, now_ns: int) -> None:
    """The new replicas are ready: every request that waited for them goes on."""
    following = queues.next_at_gateway(world)
    while following >= 0:
        spend(world, heap, following, stages.GW_ROUTE, now_ns)
        following = queues.next_at_gateway(world)
