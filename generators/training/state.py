"""The arrays that the simulation works on: the plan of a step, drawn times, what the fault does, the log.

Times are int64 nanoseconds since the start of the run. Axes: s step, k place in a stage's schedule, r rank,
p pipeline stage, g group of a stage, b bucket of gradients.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

WORK = np.dtype([("compute_ns", "f8"), ("expert_ns", "f8")])
"""Planned compute of one operation, outside and inside experts."""

LUCK = np.dtype([("compute", "f8"), ("input", "f8")])
"""Factors around 1 of one operation."""

RANK_LUCK = np.dtype([
    ("read_ns", "f8"), ("decode_ns", "f8"), ("optimizer", "f8"), ("save", "f8"), ("evaluation", "f8"),
])  # fmt: skip
"""Time of reading and decoding a batch; factors around 1 of what a rank does once a step."""

CALENDAR = np.dtype([
    ("change", "f8"), ("is_overflow", "b1"), ("pauses", "b1"), ("evaluates", "b1"), ("saves", "b1"),
])  # fmt: skip
"""What happens in a step; `change` is its tokens by `change.sequence_factor`."""

STRIKE = np.dtype([
    ("compute", "f8"), ("experts", "f8"), ("loader", "f8"), ("copy", "f8"), ("storage", "f8"),
    ("launch_ns", "i8"), ("pause_ns", "i8"), ("save_ns", "i8"),
])  # fmt: skip
"""What the fault does to a rank in a step: factors (1: nothing) and extra nanoseconds."""

OPERATION = np.dtype([
    (name, "i8") for name in (
        "posted", "arrived", "begun", "copied", "computed", "dispatched", "routed", "combined", "ended", "waited",
    )
])  # fmt: skip
"""One forward or backward of a rank. It runs from `begun` through the others to `ended`; `routed` ends the compute
inside experts. `posted`: when the receive of its input was posted; `arrived`: when the input was there, NONE where
it needs none over a link; `waited`: time from the end of the work before to the arrival.
"""

BUCKET = np.dtype([("begun", "i8"), ("ended", "i8")])
"""A rank's part in the reduction of one bucket of gradients."""


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
    tensor_cost: np.ndarray
    expert_cost: np.ndarray
    bucket_cost: np.ndarray
    gather_cost: np.ndarray
    world_cost: np.ndarray
    input_cost: np.ndarray
    """Direction x receiving rank."""
    work: np.ndarray
    """Direction x rank (WORK)."""
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
    """Everything random, and what the calendar says of each step. Plain numbers are factors around 1."""

    operations: np.ndarray
    """s k r (LUCK)"""
    tensor: np.ndarray
    """s p k g"""
    expert: np.ndarray
    """s p k (dispatch, combine) g"""
    bucket: np.ndarray
    """s p b g; the last bucket is the gather of parameters"""
    world: np.ndarray
    """s, three collectives of all ranks, one group"""
    ranks: np.ndarray
    """s r (RANK_LUCK)"""
    tokens: np.ndarray
    """s, replica, micro-batch: tokens as a multiple of the planned ones"""
    calendar: np.ndarray
    """s (CALENDAR)"""


class Strikes(NamedTuple):
    """What the fault does."""

    is_struck: np.ndarray
    """s"""
    ranks: np.ndarray
    """s r (STRIKE)"""


class Log(NamedTuple):
    """What happened."""

    operations: np.ndarray
    """s k r (OPERATION)"""
    buckets: np.ndarray
    """s b r (BUCKET)"""
    instants: np.ndarray
    """s, INSTANTS, r"""
    stage_ns: np.ndarray
    """s r stage: where each rank's time went"""
    injected_ns: np.ndarray
    """s r stage: what the fault itself added"""
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
