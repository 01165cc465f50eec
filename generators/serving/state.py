"""The arrays that the simulation works on: requests, replicas, the log of intervals, counter readings.

All times are int64 nanoseconds since the start of the run. Structured arrays, so that compiled code reads
like a model; numbers that functions pass around are all int64, so that each function is compiled once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# Outcomes of a request.
UNFINISHED, OK, ABORTED, REJECTED, FAILED = range(5)
OUTCOMES = ("unknown", "ok", "aborted", "rejected", "failed")

# Where a request is held, so that it can be taken out when its client leaves or its replica dies.
NOWHERE, AT_GATEWAY_QUEUE, AT_ENGINE_QUEUE, IN_BATCH, IN_TRANSFER, CLOSED = range(6)

UNIFIED, PREFILL, DECODE = range(3)

NONE = -1

REQUEST = np.dtype([
    # Drawn before the run.
    ("arrival_ns", "i8"), ("tenant", "i8"), ("prompt_tokens", "i8"), ("output_tokens", "i8"), ("hit_tokens",
    "i8"),
    ("up_ns", "i8"), ("down_ns", "i8"), ("patience_ns", "i8"), ("fault_patience_ns", "i8"), ("read_ns", "i8"),
    ("fault_read_ns", "i8"),
    ("delay_ns", "i8"), ("error_draw", "f8"),
    ("route_draw", "f8"), ("route_draw_2", "f8"), ("pin_draw", "f8"), ("is_cache_hit",
    "b1"),
    # Where it is now.
    ("stage", "i8"), ("since_ns", "i8"), ("attempt", "i8"), ("held", "i8"), ("replica", "i8"),
    ("decode_replica", "i8"),
    ("next", "i8"), ("context", "i8"), ("generated", "i8"), ("chunk", "i8"), ("blocks", "i8"), ("credit",
    "f8"),
    ("has_slot", "b1"), ("is_assigned", "b1"), ("migrations", "i8"), ("carried_tokens", "i8"), ("engine_errors", "i8"),
    ("cancelled_by", "i8"),
    # What came of it.
    ("outcome", "i8"), ("status", "i8"), ("good_attempt", "i8"), ("frontend_ns", "i8"), ("queued_ns", "i8"),
    ("scheduled_ns", "i8"), ("engine_first_ns", "i8"), ("first_ns", "i8"), ("engine_last_ns", "i8"),
    ("last_ns", "i8"), ("close_ns", "i8"), ("preemptions", "i8"), ("cached_tokens", "i8"), ("stall_ns", "i8"),
    ("attempt_first_ns", "i8"),
])  # fmt: skip

INSTANTS = (
    "frontend_ns", "queued_ns", "scheduled_ns", "engine_first_ns", "attempt_first_ns", "first_ns",
    "engine_last_ns",
    "last_ns", "close_ns",
)  # fmt: skip
"""Fields of a request that are instants, NONE until they come."""

REPLICA = np.dtype([
    ("role", "i8"), ("busy", "b1"), ("is_up", "b1"), ("epoch", "i8"), ("running", "i8"), ("waiting", "i8"),
    ("head", "i8"),
    ("tail", "i8"), ("assigned", "i8"), ("used_blocks", "i8"), ("frontend_free_ns", "i8"), ("link_free_ns",
    "i8"),
    ("step_start_ns", "i8"), ("busy_ns", "i8"), ("steps", "i8"), ("preemptions", "i8"), ("prompt_tokens",
    "i8"),
    ("cached_tokens", "i8"), ("queried_tokens", "i8"), ("generation_tokens", "i8"), ("finished", "i8"),
    ("drafted", "i8"), ("accepted", "i8"), ("rejected", "i8"), ("transferred_bytes", "i8"),
])  # fmt: skip

TENANT = np.dtype([("bucket", "f8"), ("refilled_ns", "i8")])

INTERVAL = np.dtype([
    ("request", "i4"), ("attempt", "i2"), ("stage", "i2"), ("replica", "i4"), ("start_ns", "i8"), ("end_ns",
    "i8"),
])  # fmt: skip

# Counters that the simulation keeps in one small array.
ORDER, INTERVALS, READINGS, TURN, INFLIGHT, LIVE, QUEUE_HEAD, QUEUE_TAIL, QUEUED, EVENTS = range(10)
COUNTERS = 10


class Config(NamedTuple):
    """Constants of a run for compiled code; times in nanoseconds."""

    max_inflight: int
    quota_per_ns: float
    quota_burst: float
    router: int
    attempt_timeout_ns: int
    max_attempts: int
    backoff_ns: int
    max_migrations: int
    step_base_ns: float
    prefill_ns_per_token: float
    step_ns_per_sequence: float
    step_ns_per_context: float
    max_num_seqs: int
    max_batched_tokens: int
    block_tokens: int
    kv_blocks: int
    is_chunked: bool
    max_queue: int
    spec_tokens: int
    spec_acceptance: float
    draft_ns: float
    first_decode_replica: int
    transfer_ns_per_token: float
    kv_bytes_per_token: int
    reading_interval_ns: int
    end_of_arrivals_ns: int
    fan_out: int
    cancel_ns: int


class Fault(NamedTuple):
    """What goes wrong between two instants; neutral values where nothing does."""

    start_ns: int
    end_ns: int
    replica: int
    delay_stage: int
    step_factor: float
    router_share: float
    max_num_seqs: int
    kv_factor: float
    is_chunking_off: bool
    is_prefix_cold: bool
    link_factor: float
    quota_factor: float
    max_queue: int
    attempt_timeout_ns: int
    is_crash: bool
    detect_ns: int
    spec_acceptance: float
    is_cold_start: bool
    error_share: float


class World(NamedTuple):
    """Everything that the simulation reads and changes."""

    requests: np.ndarray
    durations: np.ndarray
    """Drawn durations in ns, one row a request, one column a stage."""
    replicas: np.ndarray
    batches: np.ndarray
    """Running requests of each replica in order of admission."""
    tenants: np.ndarray
    log: np.ndarray
    reading_times: np.ndarray
    readings: np.ndarray
    """State of every replica at every reading time."""
    injected: np.ndarray
    """Nanoseconds that the fault itself added, one row a request, one column a stage."""
    counters: np.ndarray
    config: Config
    fault: Fault
