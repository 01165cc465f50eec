"""The simulation of training steps, compiled: recurrences over steps, micro-batches and ranks.

A rank does one thing after the other on its compute stream; receives are posted one operation ahead and sends
do not block, buckets of gradients are reduced beside the last backward. All random numbers are drawn before.
"""

from __future__ import annotations

import numpy as np

from generators.training import stages, state
from generators.training.schedule import FORWARD, NO_INPUT
from generators.training.state import NONE, World
from tracekit.kernels import kernel


@kernel
def spend(world: World, step: int, rank: int, stage: int, length_ns: int) -> None:
    """The rank spends time in a stage."""
    world.log.stage_ns[step, rank, stage] += length_ns
    world.clock.now[rank] += length_ns


@kernel
def work(world: World, step: int, rank: int, stage: int, plain_ns: float, factor: float) -> None:
    """Work of the rank itself that a fault may make longer."""
    usual_ns, length_ns = round(plain_ns), round(plain_ns * factor)
    world.log.injected_ns[step, rank, stage] += length_ns - usual_ns
    spend(world, step, rank, stage, length_ns)


@kernel
def wait(world: World, step: int, rank: int, until_ns: int, ideal_ns: int, culprit: int) -> None:
    """Wait for another rank: up to what the pipeline has of itself it is bubble, beyond it is the culprit's."""
    length_ns = until_ns - world.clock.now[rank]
    if length_ns <= 0:
        return
    bubble_ns = min(length_ns, ideal_ns)
    world.log.stage_ns[step, rank, stages.BUBBLE] += bubble_ns
    world.log.stage_ns[step, rank, stages.STRAGGLER_WAIT] += length_ns - bubble_ns
    world.log.waited_for_ns[step, culprit] += length_ns - bubble_ns
    world.clock.now[rank] = until_ns


@kernel
def transfer_ns(cost: np.ndarray, at: int, group: int, size: float, luck: float, is_struck: bool) -> tuple[int, int]:
    """How long a transfer takes, and how much of it is the fault's."""
    row = cost[at, group]
    plain = round((row.latency_ns + row.bytes_ns * size) * luck)
    if not is_struck:
        return plain, 0
    struck = round((row.latency_ns + row.struck_ns * size) * luck)
    return struck, struck - plain


@kernel
def last_of(members: np.ndarray, times_ns: np.ndarray) -> int:
    """The member that comes last, of several the first in the group."""
    last = members[0]
    for rank in members:
        if times_ns[rank] > times_ns[last]:
            last = rank
    return last


@kernel
def meet(world: World, step: int, members: np.ndarray, length_ns: int, injected_ns: int, ideal_ns: np.ndarray) -> None:
    """A collective that its members wait for: it starts when the last one is there."""
    clock = world.clock
    culprit = last_of(members, clock.now)
    arrival_ns = clock.now[culprit]
    for rank in members:
        wait(world, step, rank, arrival_ns, ideal_ns[rank], culprit)
        world.log.injected_ns[step, rank, stages.EXPOSED_COMM] += injected_ns
        spend(world, step, rank, stages.EXPOSED_COMM, length_ns)


@kernel
def meet_groups(
    world: World, step: int, at: int, batch: int, groups: np.ndarray, cost: np.ndarray, luck: np.ndarray,
    no_wait: np.ndarray,
) -> None:  # fmt: skip
    """One collective in every group of a pipeline stage; its bytes grow with the micro-batch's tokens."""
    for group in range(groups.shape[1]):
        members, size = groups[at, group], 1.0
        if batch != NONE:
            size = 0.0
            for rank in members:
                size = max(size, tokens_of(world, step, rank, batch))
        length_ns, extra_ns = transfer_ns(cost, at, group, size, luck[group], world.strikes.is_struck[step])
        meet(world, step, members, length_ns, extra_ns, no_wait)


@kernel
def tokens_of(world: World, step: int, rank: int, batch: int) -> float:
    """Tokens of a rank's micro-batch as a multiple of the planned ones."""
    return world.draws.tokens[step, world.plan.replica[rank], batch] * world.draws.calendar[step].change


@kernel
def load_batch(world: World, step: int, rank: int) -> None:
    """Take the next batch from the loader, whose workers run ahead as far as there is room."""
    plan, clock = world.plan, world.clock
    luck, strike = world.draws.ranks[step, rank], world.strikes.ranks[step, rank]
    worker, place = step % plan.workers, step % plan.depth
    usual_ns = round(luck.read_ns + luck.decode_ns)
    made_ns = round((luck.read_ns * strike.storage + luck.decode_ns) * strike.loader)
    ready_ns = max(clock.worker_free[rank, worker], clock.taken[rank, place]) + made_ns
    stall_ns = max(ready_ns - clock.now[rank], 0)
    clock.worker_free[rank, worker] = ready_ns
    world.log.injected_ns[step, rank, stages.DATA_LOAD] += min(stall_ns, made_ns - usual_ns)
    spend(world, step, rank, stages.DATA_LOAD, stall_ns + plan.fetch_ns)
    clock.taken[rank, place] = clock.now[rank]


@kernel
def begin_step(world: World, step: int) -> None:
    """Load data, and pause where the host collects garbage."""
    plan, clock, instants = world.plan, world.clock, world.log.instants
    for rank in range(clock.now.shape[0]):
        instants[step, state.STARTED, rank] = clock.now[rank]
        clock.posted[rank] = clock.now[rank]
        if plan.loads[rank]:
            load_batch(world, step, rank)
        instants[step, state.LOADED, rank] = clock.now[rank]
        extra_ns = world.strikes.ranks[step, rank].pause_ns
        world.log.injected_ns[step, rank, stages.HOST_BOUND] += extra_ns
        spend(world, step, rank, stages.HOST_BOUND, extra_ns + plan.pause_ns * world.draws.calendar[step].pauses)
        instants[step, state.RESUMED, rank] = clock.now[rank]


@kernel
def receive(world: World, step: int, stage: int, k: int, rank: int) -> None:
    """Wait until the input of an operation is there: the sender is done, the receive is posted, the bytes moved."""
    plan, log, clock = world.plan, world.log, world.clock
    origin, origin_k = plan.source[stage, k]
    log.operations[step, k, rank].posted = clock.posted[rank]
    if origin == NO_INPUT:
        log.operations[step, k, rank].arrived = NONE
        return
    sender = rank + (origin - stage) * plan.data_groups.shape[1] * plan.data_groups.shape[2]
    sent_ns = max(log.operations[step, origin_k, sender].ended, clock.posted[rank])
    size = tokens_of(world, step, rank, plan.program[stage, k, 2])
    length_ns, extra_ns = transfer_ns(
        plan.input_cost, plan.program[stage, k, 0], rank, size, world.draws.operations[step, k, rank].input,
        world.strikes.is_struck[step],
    )  # fmt: skip
    log.operations[step, k, rank].arrived = sent_ns + length_ns
    log.operations[step, k, rank].waited = max(sent_ns + length_ns - clock.now[rank], 0)
    ideal_ns = round(world.ideal.input[k, rank] * world.draws.calendar[step].change)
    wait(world, step, rank, sent_ns, ideal_ns, sender)
    exposed_ns = max(sent_ns + length_ns - clock.now[rank], 0)
    log.injected_ns[step, rank, stages.EXPOSED_COMM] += min(exposed_ns, extra_ns)
    spend(world, step, rank, stages.EXPOSED_COMM, exposed_ns)


@kernel
def compute(world: World, step: int, stage: int, k: int, rank: int) -> None:
    """Launch, copy the data in where a model begins, compute what is outside experts."""
    plan, log, clock, strikes = world.plan, world.log, world.clock, world.strikes
    direction, chunk, batch = plan.program[stage, k]
    clock.posted[rank] = clock.now[rank]
    log.injected_ns[step, rank, stages.LAUNCH] += strikes.ranks[step, rank].launch_ns
    spend(world, step, rank, stages.LAUNCH, plan.launch_ns + strikes.ranks[step, rank].launch_ns)
    log.operations[step, k, rank].begun = clock.now[rank]
    tokens = tokens_of(world, step, rank, batch)
    if direction == FORWARD and stage == 0 and chunk == 0:
        work(world, step, rank, stages.COPY, plan.copy_ns * tokens, strikes.ranks[step, rank].copy)
    log.operations[step, k, rank].copied = clock.now[rank]
    planned_ns = plan.work[direction, rank].compute_ns * tokens
    log.planned_ns[step, rank] += round(planned_ns)
    luck = world.draws.operations[step, k, rank].compute
    work(world, step, rank, stages.COMPUTE, planned_ns * luck, strikes.ranks[step, rank].compute)
    log.operations[step, k, rank].computed = clock.now[rank]


@kernel
def run_experts(world: World, step: int, stage: int, k: int, first: int, last: int, no_wait: np.ndarray) -> None:
    """Send tokens to the ranks of their experts, compute there, bring the results back."""
    plan, log, draws = world.plan, world.log, world.draws
    direction, _, batch = plan.program[stage, k]
    groups, cost, luck = plan.expert_groups, plan.expert_cost, draws.expert[step, stage, k]
    meet_groups(world, step, stage, batch, groups, cost, luck[0], no_wait)
    for rank in range(first, last):
        log.operations[step, k, rank].dispatched = world.clock.now[rank]
        planned_ns = plan.work[direction, rank].expert_ns * tokens_of(world, step, rank, batch)
        log.planned_ns[step, rank] += round(planned_ns)
        factor = world.strikes.ranks[step, rank].compute * world.strikes.ranks[step, rank].experts
        work(world, step, rank, stages.COMPUTE, planned_ns * draws.operations[step, k, rank].compute, factor)
        log.operations[step, k, rank].routed = world.clock.now[rank]
    meet_groups(world, step, stage, batch, groups, cost, luck[1], no_wait)


@kernel
def run_operation(world: World, step: int, stage: int, k: int, no_wait: np.ndarray) -> None:
    """One forward or backward of a micro-batch on all ranks of a stage."""
    plan, log, now = world.plan, world.log, world.clock.now
    size = plan.data_groups.shape[1] * plan.data_groups.shape[2]
    first, last = stage * size, (stage + 1) * size
    for rank in range(first, last):
        receive(world, step, stage, k, rank)
        compute(world, step, stage, k, rank)
        log.operations[step, k, rank].dispatched = log.operations[step, k, rank].routed = now[rank]
    if plan.expert_groups.shape[2] > 1:
        run_experts(world, step, stage, k, first, last, no_wait)
    for rank in range(first, last):
        log.operations[step, k, rank].combined = now[rank]
    if plan.tensor_groups.shape[2] > 1:
        luck = world.draws.tensor[step, stage, k]
        batch = plan.program[stage, k, 2]
        meet_groups(world, step, stage, batch, plan.tensor_groups, plan.tensor_cost, luck, no_wait)
    for rank in range(first, last):
        log.operations[step, k, rank].ended = now[rank]


@kernel
def reduce_bucket(world: World, step: int, stage: int, group: int, bucket: int) -> tuple[int, int, int]:
    """Reduce one bucket of gradients in one group: who came last, when, how long it took."""
    plan, log = world.plan, world.log
    members, last = plan.data_groups[stage, group], log.operations.shape[1] - 1
    buckets, culprit = log.buckets.shape[1], members[0]
    for rank in members:
        begun_ns = log.operations[step, last, rank].begun
        ready_ns = begun_ns + (bucket + 1) * (log.operations[step, last, rank].ended - begun_ns) // buckets
        if bucket > 0:
            ready_ns = max(ready_ns, log.buckets[step, bucket - 1, rank].ended)
        log.buckets[step, bucket, rank].begun = ready_ns
        if ready_ns > log.buckets[step, bucket, culprit].begun:
            culprit = rank
    luck = world.draws.bucket[step, stage, bucket, group]
    length_ns, extra_ns = transfer_ns(plan.bucket_cost, stage, group, 1.0, luck, world.strikes.is_struck[step])
    end_ns = log.buckets[step, bucket, culprit].begun + length_ns
    for rank in members:
        log.buckets[step, bucket, rank].ended = end_ns
    return culprit, end_ns - length_ns, extra_ns


@kernel
def reduce_gradients(world: World, step: int) -> None:
    """All buckets of all groups; what the last backward does not hide is exposed."""
    plan, log, clock = world.plan, world.log, world.clock
    for stage in range(plan.data_groups.shape[0]):
        for group in range(plan.data_groups.shape[1]):
            for bucket in range(log.buckets.shape[1]):
                culprit, start_ns, extra_ns = reduce_bucket(world, step, stage, group, bucket)
                for rank in plan.data_groups[stage, group]:
                    wait(world, step, rank, start_ns, 0, culprit)
                    exposed_ns = max(log.buckets[step, bucket, rank].ended - clock.now[rank], 0)
                    log.injected_ns[step, rank, stages.EXPOSED_COMM] += min(exposed_ns, extra_ns)
                    spend(world, step, rank, stages.EXPOSED_COMM, exposed_ns)


@kernel
def mark(world: World, step: int, instant: int) -> None:
    """Note where all ranks are."""
    world.log.instants[step, instant] = world.clock.now


@kernel
def meet_all(world: World, step: int, number: int, ideal_ns: np.ndarray) -> None:
    """A collective of all ranks with a few bytes."""
    if world.plan.world_groups.shape[2] > 1:
        luck = world.draws.world[step, number]
        meet_groups(world, step, 0, NONE, world.plan.world_groups, world.plan.world_cost, luck, ideal_ns)


@kernel
def update(world: World, step: int, no_wait: np.ndarray) -> None:
    """Agree on the gradients' norm, then update and gather parameters, unless gradients overflowed."""
    plan, draws, clock = world.plan, world.draws, world.clock
    mark(world, step, state.REDUCED)
    world.log.instants[step, state.CLOSING_WAIT] = clock.now.max() - clock.now
    ideal_ns = np.empty_like(no_wait)
    for rank in range(no_wait.shape[0]):
        ideal_ns[rank] = round(world.ideal.closing[rank] * draws.calendar[step].change)
    meet_all(world, step, 0, ideal_ns)
    mark(world, step, state.NORMED)
    if not draws.calendar[step].is_overflow:
        for rank in range(no_wait.shape[0]):
            world.log.planned_ns[step, rank] += round(plan.optimizer_ns[rank])
            plain_ns = plan.optimizer_ns[rank] * draws.ranks[step, rank].optimizer
            work(world, step, rank, stages.COMPUTE, plain_ns, world.strikes.ranks[step, rank].compute)
    mark(world, step, state.OPTIMIZED)
    if plan.is_sharded and plan.data_groups.shape[2] > 1 and not draws.calendar[step].is_overflow:
        for stage in range(plan.data_groups.shape[0]):
            luck = draws.bucket[step, stage, -1]
            meet_groups(world, step, stage, NONE, plan.data_groups, plan.gather_cost, luck, no_wait)
    mark(world, step, state.GATHERED)


@kernel
def evaluate(world: World, step: int, no_wait: np.ndarray) -> None:
    """Evaluate the model on all ranks and agree on the result."""
    if world.draws.calendar[step].evaluates:
        for rank in range(no_wait.shape[0]):
            plain_ns = world.plan.evaluation_ns * world.draws.ranks[step, rank].evaluation
            work(world, step, rank, stages.CUSTOM, plain_ns, world.strikes.ranks[step, rank].compute)
    mark(world, step, state.EVALUATED)
    if world.draws.calendar[step].evaluates:
        meet_all(world, step, 1, no_wait)
    mark(world, step, state.AGREED)


@kernel
def save_rank(world: World, step: int, rank: int) -> None:
    """Save one rank's part of a checkpoint: all of it, or a snapshot that is written beside later steps."""
    plan, clock, instants = world.plan, world.clock, world.log.instants
    luck, storage = world.draws.ranks[step, rank].save, world.strikes.ranks[step, rank].storage
    write_ns = round(plan.write_ns * luck * storage)
    if plan.is_async:
        stall_ns = max(clock.write_free[rank] - clock.now[rank], 0)
        spend(world, step, rank, stages.CHECKPOINT_SAVE, stall_ns)
    instants[step, state.STALLED, rank] = clock.now[rank]
    extra_ns = world.strikes.ranks[step, rank].save_ns
    world.log.injected_ns[step, rank, stages.CHECKPOINT_SAVE] += extra_ns
    spend(world, step, rank, stages.CHECKPOINT_SAVE, extra_ns)
    if plan.is_async:
        spend(world, step, rank, stages.CHECKPOINT_SAVE, round(plan.snapshot_ns * luck))
        clock.write_free[rank] = clock.now[rank] + write_ns
    else:
        work(world, step, rank, stages.CHECKPOINT_SAVE, plan.write_ns * luck, storage)
    instants[step, state.WRITE_BEGUN, rank] = clock.now[rank]
    instants[step, state.WRITE_ENDED, rank] = max(clock.write_free[rank], clock.now[rank])


@kernel
def save(world: World, step: int, no_wait: np.ndarray) -> None:
    """Save a checkpoint where the calendar says so; all ranks go on together."""
    if world.draws.calendar[step].saves:
        for rank in range(no_wait.shape[0]):
            save_rank(world, step, rank)
    else:
        mark(world, step, state.STALLED)
        mark(world, step, state.WRITE_BEGUN)
        mark(world, step, state.WRITE_ENDED)
    mark(world, step, state.SAVED)
    if world.draws.calendar[step].saves:
        meet_all(world, step, 2, no_wait)
    mark(world, step, state.FINISHED)


@kernel
def run_steps(world: World) -> None:
    """Run a world to its end: fills its log."""
    no_wait = np.zeros(world.clock.now.shape[0], np.int64)
    for step in range(world.draws.calendar.shape[0]):
        begin_step(world, step)
        for turn in range(world.plan.order.shape[0]):
            run_operation(world, step, world.plan.order[turn, 0], world.plan.order[turn, 1], no_wait)
        reduce_gradients(world, step)
        update(world, step, no_wait)
        evaluate(world, step, no_wait)
        save(world, step, no_wait)
