"""From parameters and a seed to the finished run: requests, their intervals, counter readings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from generators.parameters import Values
from generators.serving import loop, stages, state
from generators.serving.parameters import DELAYED_STAGES, ROUTERS, replicas
from generators.serving.state import Config, Fault, World
from generators.serving.workload import NS_PER_S, draw

NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class Run:
    """One simulated run; times are int64 ns since its start."""

    values: Values
    requests: np.ndarray
    """One row a request in order of arrival (`state.REQUEST`)."""
    intervals: np.ndarray
    """Who was in which stage when (`state.INTERVAL`), ordered by request and start; they tile each request's
    time.
    """
    durations_ns: np.ndarray
    """Drawn durations: one row a request, one column a stage."""
    injected_ns: np.ndarray
    """Time that the fault itself added: one row a request, one column a stage."""
    reading_times_ns: np.ndarray
    readings: np.ndarray
    """State of each replica (columns) at each reading time (rows), `state.REPLICA`."""
    events: int
    """Events that the simulation handled."""
    first_request: int = 0
    """Number of the first request in the whole run, where this is a slice of one."""


def slices(run: Run, *, requests_each: int) -> Iterator[Run]:
    """The run cut into runs of so many requests in order of arrival, without its counter readings.

    Requests of one call stay together.
    """
    fan_out = int(run.values["clients.fan_out"])
    requests_each = max(requests_each // fan_out, 1) * fan_out
    for first in range(0, run.requests.size, requests_each):
        last = min(first + requests_each, run.requests.size)
        start, end = np.searchsorted(run.intervals["request"], [first, last])
        intervals = run.intervals[start:end].copy()
        intervals["request"] -= first
        part = slice(first, last)
        yield replace(
            run, requests=run.requests[part], intervals=intervals, durations_ns=run.durations_ns[part],
            injected_ns=run.injected_ns[part], first_request=first,
        )  # fmt: skip


def simulate(values: Values, *, seed: int) -> Run:
    """Run the serving model with these parameter values; deterministic for a seed."""
    requests, durations = draw(values, seed=seed)
    rows, readings = requests.size * 20 + 1000, _expected_readings(values)
    while True:
        world = _world(values, requests.copy(), durations, rows=rows, readings=readings)
        events = loop.simulate(world)
        rows, readings, is_whole = _sizes_needed(world)
        if is_whole:
            return _run(values, world, events)


def _sizes_needed(world: World) -> tuple[int, int, bool]:
    """Rows that the log and the readings needed, and whether they had them: else the run is repeated with
    room.
    """
    rows, readings = int(world.counters[state.INTERVALS]), int(world.counters[state.READINGS])
    return rows, readings, rows <= world.log.size and readings <= world.reading_times.size


def _run(values: Values, world: World, events: int) -> Run:
    intervals = world.log[: world.counters[state.INTERVALS]]
    order = np.argsort(intervals["request"], kind="stable")
    count = int(world.counters[state.READINGS])
    return Run(
        values, world.requests, intervals[order], world.durations, world.injected,
        world.reading_times[:count],
        world.readings[:count], events,
    )  # fmt: skip


def _world(values: Values, requests: np.ndarray, durations: np.ndarray, *, rows: int, readings: int) -> World:
    config = _config(values)
    count = sum(replicas(values))
    counters = np.zeros(state.COUNTERS, np.int64)
    counters[[state.QUEUE_HEAD, state.QUEUE_TAIL]] = state.NONE
    counters[state.TURN] = state.NONE
    tenants = np.zeros(int(values["clients.tenants"]), state.TENANT)
    tenants["bucket"] = config.quota_burst
    return World(
        requests=requests, durations=durations, replicas=_replicas(values),
        batches=np.zeros((count, config.max_num_seqs), np.int64), tenants=tenants, log=np.zeros(rows,
        state.INTERVAL),
        reading_times=np.zeros(readings, np.int64), readings=np.zeros((readings, count), state.REPLICA),
        injected=np.zeros((requests.size, stages.COUNT), np.int64), counters=counters, config=config,
        fault=_fault(values),
    )  # fmt: skip


def _replicas(values: Values) -> np.ndarray:
    unified, prefill, decode = replicas(values)
    places = np.zeros(unified + prefill + decode, state.REPLICA)
    places["role"] = [state.UNIFIED] * unified + [state.PREFILL] * prefill + [state.DECODE] * decode
    places["head"] = places["tail"] = state.NONE
    places["is_up"] = True
    return places


def _expected_readings(values: Values) -> int:
    return int(float(values["run.duration_s"]) / float(values["emit.metrics_interval_s"]) * 1.5) + 20


def _ns(values: Values, name: str) -> int:
    """A parameter in seconds or milliseconds as whole nanoseconds."""
    unit = NS_PER_MS if name.endswith("_ms") else NS_PER_S
    return round(float(values[name]) * unit)


def _config(values: Values) -> Config:
    unified, prefill, _ = replicas(values)
    return Config(
        max_inflight=int(values["gateway.max_inflight"]),
        quota_per_ns=float(values["gateway.quota_per_s"]) / NS_PER_S,
        quota_burst=float(values["gateway.quota_burst"]),
        router=ROUTERS.index(str(values["gateway.router"])),
        attempt_timeout_ns=_ns(values, "gateway.attempt_timeout_s"),
        max_attempts=int(values["gateway.max_attempts"]),
        backoff_ns=_ns(values, "gateway.retry_backoff_ms"),
        max_migrations=int(values["gateway.max_migrations"]),
        step_base_ns=float(values["engine.step_base_ms"]) * NS_PER_MS,
        prefill_ns_per_token=NS_PER_S / float(values["engine.prefill_tokens_per_s"]),
        step_ns_per_sequence=float(values["engine.step_us_per_sequence"]) * 1e3,
        step_ns_per_context=float(values["engine.step_ns_per_context_token"]),
        max_num_seqs=int(values["engine.max_num_seqs"]),
        max_batched_tokens=int(values["engine.max_num_batched_tokens"]),
        block_tokens=int(values["engine.block_tokens"]),
        kv_blocks=int(values["engine.kv_tokens"]) // int(values["engine.block_tokens"]),
        is_chunked=bool(values["engine.chunked_prefill"]),
        max_queue=int(values["engine.max_queue"]),
        spec_tokens=int(values["engine.spec_tokens"]),
        spec_acceptance=float(values["engine.spec_acceptance"]),
        draft_ns=float(values["engine.spec_draft_ms"]) * NS_PER_MS,
        first_decode_replica=unified + prefill,
        transfer_ns_per_token=int(values["disagg.kv_bytes_per_token"]) / float(values["disagg.link_gb_per_s"]),
        kv_bytes_per_token=int(values["disagg.kv_bytes_per_token"]),
        reading_interval_ns=_ns(values, "emit.metrics_interval_s"),
        end_of_arrivals_ns=_ns(values, "run.duration_s"),
        fan_out=int(values["clients.fan_out"]),
        cancel_ns=_ns(values, "clients.cancel_ms"),
    )


START_PHASES = ("fault.image_s", "fault.weights_s", "fault.compile_s")
"""What a replica that starts does one after the other."""


def fault_length_ns(values: Values) -> int:
    """How long the fault is on: its duration, or the time that new replicas take to start."""
    if values["fault.cold_start"]:
        return sum(_ns(values, name) for name in START_PHASES)
    return _ns(values, "fault.duration_s")


def _fault(values: Values) -> Fault:
    start_ns = _ns(values, "fault.start_s")
    stage = str(values["fault.delay_stage"])
    return Fault(
        start_ns=start_ns,
        end_ns=start_ns + fault_length_ns(values),
        replica=int(values["fault.replica"]),
        delay_stage=stages.CODES[stage] if stage in DELAYED_STAGES else state.NONE,
        step_factor=float(values["fault.step_factor"]),
        router_share=float(values["fault.router_share"]),
        max_num_seqs=int(values["fault.max_num_seqs"]),
        kv_factor=float(values["fault.kv_factor"]),
        is_chunking_off=bool(values["fault.chunking_off"]),
        is_prefix_cold=bool(values["fault.cold_prefix"]),
        link_factor=float(values["fault.link_factor"]),
        quota_factor=float(values["fault.quota_factor"]),
        max_queue=int(values["fault.max_queue"]),
        attempt_timeout_ns=_ns(values, "fault.attempt_timeout_s"),
        is_crash=bool(values["fault.crash"]),
        detect_ns=_ns(values, "fault.detect_ms"),
        spec_acceptance=float(values["fault.spec_acceptance"]),
        is_cold_start=bool(values["fault.cold_start"]),
        error_share=float(values["fault.error_share"]),
    )
