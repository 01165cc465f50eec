"""Counters of accelerators, hosts and the job as metric series.

Accelerators have the DCGM exporter's names and the hardware conventions' (`hw.gpu.*`), hosts the system
conventions' (`system.*`). A host is a resource of its own, sent by its agent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from generators.metrics import Series
from generators.spans import Emission, Scalar
from generators.training import state
from generators.training.emission import accelerator, host_name
from generators.training.links import MEGABYTE, ROUNDS
from generators.training.mesh import struck_ranks
from generators.training.parameters import number, real
from generators.training.schedule import NO_INPUT
from generators.training.simulation import Run, reduces_with, saved_bytes, senders, transfer_bytes
from generators.training.workload import NS_PER_S

DCGM, HARDWARE, SYSTEM, TRAINER = "dcgm-exporter", "hw", "hostmetrics", "trainer"

SM_CLOCK_MHZ = 1980
"""Boost clock of an H100."""
IDLE_WATT, COMPUTE_WATT = 120.0, 560.0
IDLE_CELSIUS, LOAD_CELSIUS, THROTTLED_CELSIUS = 40.0, 30.0, 15.0
"""Power and temperature of an idle accelerator, and what load adds: assumptions around an H100's 700 W."""
LOADER_CORES = 16
"""Cores of a host for one rank's loader."""


@dataclass(frozen=True)
class Traffic:
    """Bytes that ranks sent: when each transfer ended, how much it was, whether it left the host; event x rank."""

    ended_ns: np.ndarray
    size: np.ndarray
    is_across: np.ndarray


def with_counters(emission: Emission, run: Run) -> Emission:
    """The emission with the counters of every accelerator, host and the job, read at the run's interval."""
    hosts = [
        {"service.name": "host-agent", "service.instance.id": f"agent-{host}", "host.name": host_name(host)}
        for host in range(int(run.mesh.host[-1]) + 1)
    ]
    first_host = len(emission.resources)
    traffic = _traffic(run)
    series = [one for rank in range(run.mesh.count) for one in _accelerator_series(run, rank, traffic)]
    series += [one for host in range(len(hosts)) for one in _host_series(run, host, first_host + host, traffic)]
    return replace(emission, resources=(*emission.resources, *hosts), series=(*series, *_job_series(run)))


def _times_ns(run: Run) -> np.ndarray:
    """Reading times since the start of the run, up to its end."""
    every_ns = round(real(run.values, "emit.metrics_interval_s") * NS_PER_S)
    end_ns = int(run.log.instants[-1, state.FINISHED].max())
    return np.arange(1, end_ns // every_ns + 1) * every_ns


def _series(
    run: Run,
    name: str,
    unit: str,
    kind: str,
    scope: str,
    resource: int,
    values: np.ndarray,
    labels: Mapping[str, Scalar],
) -> Series:
    origin_ns = number(run.values, "run.start_unix_s") * NS_PER_S
    return Series(name, unit, kind, scope, resource, origin_ns, origin_ns + _times_ns(run), values, labels)


def _accelerator_series(run: Run, rank: int, traffic: Traffic) -> list[Series]:
    times_ns, at = _times_ns(run), run.log.instants
    active, busy = _active(run, rank, times_ns), _busy(run, rank, times_ns)
    step = np.searchsorted(at[:, state.STARTED, rank], times_ns) - 1
    is_slow = run.strikes.is_struck[step] & struck_ranks(run.mesh, run.values)[rank]
    slow = np.where(is_slow, real(run.values, "fault.compute_factor"), 1.0)
    device = accelerator(run, rank)
    labels = {"gpu": str(run.mesh.rail[rank]), "UUID": device, "Hostname": host_name(run.mesh.host[rank])}
    heat = IDLE_CELSIUS + LOAD_CELSIUS * active + THROTTLED_CELSIUS * (slow > 1)
    gauges = [
        ("DCGM_FI_DEV_GPU_UTIL", "%", np.rint(busy * 100).astype(np.int64)),
        ("DCGM_FI_PROF_SM_ACTIVE", "1", active),
        ("DCGM_FI_DEV_SM_CLOCK", "MHz", np.rint(SM_CLOCK_MHZ / slow).astype(np.int64)),
        ("DCGM_FI_DEV_GPU_TEMP", "Cel", np.rint(heat).astype(np.int64)),
        ("DCGM_FI_DEV_POWER_USAGE", "W", IDLE_WATT + COMPUTE_WATT * active / slow),
    ]
    series = [_series(run, name, unit, "gauge", DCGM, rank, values, labels) for name, unit, values in gauges]
    known = {"hw.id": device, "hw.type": "gpu"}
    sent = _sent(traffic, [rank], times_ns, is_across=False)
    return [
        *series, _series(run, "hw.gpu.utilization", "1", "gauge", HARDWARE, rank, busy, known),
        _series(run, "hw.gpu.io", "By", "sum", HARDWARE, rank, sent, known | {"network.io.direction": "transmit"}),
    ]  # fmt: skip


def _share(begun: np.ndarray, ended: np.ndarray, times_ns: np.ndarray) -> np.ndarray:
    """Share of the time before each reading that lies in intervals which do not overlap."""
    order = np.argsort(begun, kind="stable")
    begun, ended = begun[order], ended[order]
    spent = np.cumsum(ended - begun)
    edges = np.stack([begun, ended], axis=1).ravel()
    total = np.stack([spent - (ended - begun), spent], axis=1).ravel()
    read = np.interp(np.concatenate([[0], times_ns]), edges, total)
    return np.diff(read) / np.diff(np.concatenate([[0], times_ns]))


def _active(run: Run, rank: int, times_ns: np.ndarray) -> np.ndarray:
    """Share of the time in which the rank computed."""
    done, at = run.log.operations, run.log.instants
    pairs = [
        (done["copied"], done["computed"]),
        (done["dispatched"], done["routed"]),
        (at[:, [state.NORMED]], at[:, [state.OPTIMIZED]]),
        (at[:, [state.GATHERED]], at[:, [state.EVALUATED]]),
    ]
    begun, ended = (np.concatenate([pair[end][:, :, rank].ravel() for pair in pairs]) for end in (0, 1))
    return _share(begun, ended, times_ns)


def _busy(run: Run, rank: int, times_ns: np.ndarray) -> np.ndarray:
    """Share of the time in which any kernel ran: collectives that wait spin on the accelerator too."""
    at = run.log.instants[:, :, rank]
    idle = [(state.STARTED, state.RESUMED), (state.AGREED, state.SAVED)]
    begun, ended = (np.concatenate([at[:, pair[end]] for pair in idle]) for end in (0, 1))
    return 1.0 - _share(begun, ended, times_ns)


def _traffic(run: Run) -> Traffic:
    """All transfers of all ranks, each once for every rank that sends."""
    log, mesh, size = run.log, run.mesh, transfer_bytes(run.values, run.mesh)
    at, reduces = log.instants, reduces_with(run.values)
    gathers = bool(run.values["gradients.sharded"])
    rings = [
        (mesh.tensor_groups, log.operations["ended"], "all_reduce", size["tensor"]),
        (mesh.expert_groups, log.operations["dispatched"], "all_to_all", size["expert"]),
        (mesh.expert_groups, log.operations["combined"], "all_to_all", size["expert"]),
        (mesh.data_groups, log.buckets["ended"], reduces, size["bucket"]),
        (mesh.data_groups, at[:, [state.GATHERED]], "all_gather", gathers * size["gather"]),
    ]
    parts = [_ring_traffic(run, *ring) for ring in rings] + [_message_traffic(run, size["input"])]
    return Traffic(
        *(np.concatenate([vars(part)[name] for part in parts]) for name in ("ended_ns", "size", "is_across"))
    )


def _ring_traffic(run: Run, groups: np.ndarray, ended: np.ndarray, collective: str, size: float) -> Traffic:
    members, mesh = groups.shape[-1], run.mesh
    across = np.zeros(mesh.count, bool)
    hosts = mesh.host[groups]
    across[groups] = (hosts != hosts[..., :1]).any(axis=-1, keepdims=True)
    sent = round(size * ROUNDS[collective] * (members - 1) / members)
    ended = ended.reshape(-1, mesh.count)
    return Traffic(ended, np.full(ended.shape, sent), np.broadcast_to(across, ended.shape))


def _message_traffic(run: Run, size: float) -> Traffic:
    """Messages between pipeline stages, at their receivers; what they send back is as much."""
    mesh, log = run.mesh, run.log
    source, direction = (part[mesh.stage].T for part in (run.schedule.source[:, :, 0], run.schedule.program[:, :, 0]))
    sender = senders(mesh)[direction, np.arange(mesh.count)]
    is_across = mesh.host[sender] != mesh.host
    shape = log.operations["arrived"].shape
    sent = np.broadcast_to(np.where(source != NO_INPUT, round(size), 0), shape)
    flat = (-1, mesh.count)
    return Traffic(
        log.operations["arrived"].reshape(flat), sent.reshape(flat), np.broadcast_to(is_across, shape).reshape(flat)
    )


def _sent(traffic: Traffic, ranks: list[int], times_ns: np.ndarray, *, is_across: bool) -> np.ndarray:
    """Bytes sent by some ranks until each reading, inside hosts or out of them."""
    mine = traffic.is_across[:, ranks] == is_across
    ended, size = traffic.ended_ns[:, ranks][mine], traffic.size[:, ranks][mine]
    return _until(ended, size, times_ns)


def _until(at_ns: np.ndarray, amounts: np.ndarray, times_ns: np.ndarray) -> np.ndarray:
    """Sum of the amounts up to each reading."""
    order = np.argsort(at_ns, kind="stable")
    total = np.concatenate([[0], np.cumsum(amounts[order])])
    return total[np.searchsorted(at_ns[order], times_ns, side="right")]


def _host_series(run: Run, host: int, resource: int, traffic: Traffic) -> list[Series]:
    times_ns, ranks = _times_ns(run), np.flatnonzero(run.mesh.host == host).tolist()
    at, saves = run.log.instants[:, :, ranks], run.draws.calendar["saves"]
    loaded, loads = at[:, state.LOADED], run.plan.loads[ranks]
    read = np.broadcast_to(loads * round(real(run.values, "data.batch_mb") * MEGABYTE), loaded.shape)
    written = np.full(at[saves][:, state.WRITE_ENDED].shape, round(saved_bytes(run.values, run.mesh)))
    made_ns = run.draws.ranks["decode_ns"][:, ranks] * run.strikes.ranks["loader"][:, ranks] * loads
    busy = np.diff(_until(loaded.ravel(), made_ns.ravel(), times_ns), prepend=0.0)
    cores_ns = np.diff(times_ns, prepend=0) * LOADER_CORES * len(ranks)
    network = _sent(traffic, ranks, times_ns, is_across=True)
    sums = [
        ("system.network.io", {"network.io.direction": "transmit"}, network),
        ("system.disk.io", {"disk.io.direction": "read"}, _until(loaded.ravel(), read.ravel(), times_ns)),
        ("system.disk.io", {"disk.io.direction": "write"},
         _until(at[saves][:, state.WRITE_ENDED].ravel(), written.ravel(), times_ns)),
    ]  # fmt: skip
    series = [_series(run, name, "By", "sum", SYSTEM, resource, values, labels) for name, labels, values in sums]
    return [
        *series,
        _series(run, "system.cpu.utilization", "1", "gauge", SYSTEM, resource, busy / cores_ns, {"cpu.mode": "user"}),
    ]


def _job_series(run: Run) -> list[Series]:
    """Steps done and steps skipped, by rank 0."""
    times_ns, ended = _times_ns(run), run.log.instants[:, state.FINISHED, 0]
    counted = [
        ("training.steps", "{step}", np.ones(ended.size, np.int64)),
        ("training.steps.skipped", "{step}", run.draws.calendar["is_overflow"].astype(np.int64)),
    ]
    return [
        _series(run, name, unit, "sum", TRAINER, 0, _until(ended, amounts, times_ns), {})
        for name, unit, amounts in counted
    ]
