"""The arrays that the simulation works on: the plan of a step, drawn times, what the fault does, the log.

Times are int64 nanoseconds since the start of the run. Axes: s step, k place in a stage's schedule, r rank,
p pipeline stage, g group of a stage, b bucket of gradients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from generators.training.links import Cost


class Plan(NamedTuple):
    """What is the same in every step."""

    program: np.ndarray
    source: np.ndarray
    order: np.ndarray
    tensor_groups: np.ndarray
    expert_groups: np.ndarray
    data_groups: np.ndarray
    world_groups: np.ndarray
    replica: np.ndarray
    tensor_cost: Cost
    expert_cost: Cost
    bucket_cost: Cost
    gather_cost: Cost
    world_cost: Cost
    input_cost: Cost
    """Direction x receiving rank."""
    compute_ns: np.ndarray
    """Direction x rank: planned compute of one operation outside experts."""
    expert_ns: np.ndarray
    """Direction x rank: planned compute inside experts."""
    optimizer_ns: np.ndarray
    """By rank."""
    loads: np.ndarray
    """By rank: whether it has a data loader."""
    workers: int
    depth: int
    """Batches that a loader holds ready at most."""
    fetch_ns: int
    copy_ns: float
    launch_ns: int
    pause_ns: int
    evaluation_ns: float
    snapshot_ns: float
    write_ns: float
    is_async: bool
    is_sharded: bool


class Draws(NamedTuple):
    """Everything random, and what the calendar says of each step. Factors are around 1."""

    compute: np.ndarray
    """s k r"""
    tensor: np.ndarray
    """s p k g"""
    expert: np.ndarray
    """s p k (dispatch, combine) g"""
    input: np.ndarray
    """s k r"""
    bucket: np.ndarray
    """s p b g; the last bucket is the gather of parameters"""
    world: np.ndarray
    """s, three collectives of all ranks, one group"""
    read_ns: np.ndarray
    """s r: reading a batch from storage"""
    decode_ns: np.ndarray
    """s r: decoding it"""
    optimizer: np.ndarray
    """s r"""
    save: np.ndarray
    """s r"""
    evaluation: np.ndarray
    """s r"""
    tokens: np.ndarray
    """s, replica, micro-batch: tokens as a multiple of the planned ones"""
    change: np.ndarray
    """s: tokens of a step by `change.sequence_factor`"""
    is_overflow: np.ndarray
    pauses: np.ndarray
    evaluates: np.ndarray
    saves: np.ndarray
    """s"""


class Strikes(NamedTuple):
    """What the fault does: factors (1: nothing) and extra nanoseconds, step x rank."""

    is_struck: np.ndarray
    """s"""
    compute: np.ndarray
    experts: np.ndarray
    loader: np.ndarray
    copy: np.ndarray
    storage: np.ndarray
    launch_ns: np.ndarray
    pause_ns: np.ndarray
    save_ns: np.ndarray


class Log(NamedTuple):
    """What happened. By step, place and rank: an operation runs from `begun` through the others to `ended`."""

    posted: np.ndarray
    """When the receive of the input was posted."""
    arrived: np.ndarray
    """When the input was there; NONE where it needs none over a link."""
    begun: np.ndarray
    copied: np.ndarray
    computed: np.ndarray
    dispatched: np.ndarray
    routed: np.ndarray
    """End of the experts' compute."""
    combined: np.ndarray
    ended: np.ndarray
    waited: np.ndarray
    """Time from the end of the work before to the arrival of the input."""
    bucket_begun: np.ndarray
    """s b r"""
    bucket_ended: np.ndarray
    instants: np.ndarray
    """s, INSTANTS, r"""
    stage_ns: np.ndarray
    """s r stage: where each rank's time went"""
    injected_ns: np.ndarray
    planned_ns: np.ndarray
    """s r: planned compute"""
    waited_for_ns: np.ndarray
    """s r: waiting of others, beyond the pipeline's own, for this rank"""


class Clock(NamedTuple):
    """Where each rank is, between operations."""

    now: np.ndarray
    posted: np.ndarray
    """Start of the operation before: when the next receive is posted."""
    worker_free: np.ndarray
    """Rank x worker."""
    taken: np.ndarray
    """Rank x batch held ready: when its place became free."""
    write_free: np.ndarray
    """When the last checkpoint was written."""


class Ideal(NamedTuple):
    """Waiting that the pipeline has without noise: k r before an input, r before the end of the step."""

    input: np.ndarray
    closing: np.ndarray


class World(NamedTuple):
    """All of it."""

    plan: Plan
    draws: Draws
    strikes: Strikes
    ideal: Ideal
    log: Log
    clock: Clock


NONE = -1

(
    STARTED, LOADED, RESUMED, REDUCED, NORMED, OPTIMIZED, GATHERED, EVALUATED, AGREED, STALLED, SAVED, FINISHED,
    WRITE_BEGUN, WRITE_ENDED, CLOSING_WAIT,
) = range(15)  # fmt: skip
INSTANTS = 15
"""Places in `Log.instants`: the ends of the parts of a step in their order, then the write in the background."""
