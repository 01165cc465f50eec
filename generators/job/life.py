"""From parameters and a seed to the life of a job: attempts one after the other, host by host.

A job has as many places as hosts were requested; who sits in a place changes when a host is lost. All times
are int64 ns since the submission. There is an attempt every few hours, so this is plain Python over arrays of
places; only steps are many, and they are numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from generators.job.causes import Cause, drawn, named
from generators.parameters import Values
from generators.seeds import lognormal_ns, stream

NS_PER_S = 1_000_000_000
NONE = -1
_DRAWS = 20_000
_NEVER_S = 1e9
_SUPERLINEAR_FROM, _SUPERLINEAR_AT, _SUPERLINEAR = 32_000, 100_000, 3.0
_NCCL = ((0, 2.0), (16_384, 17.0), (22_000, 30.0), (64_000, 100.0), (98_000, 200.0))
"""Accelerators and seconds of NCCL init; below 16K towards 2 s, an assumption."""


@dataclass(frozen=True)
class Failure:
    """What ended an attempt before its time."""

    cause: Cause
    place: int
    """Place of the culprit, NONE where it is no host."""
    hangs: bool
    is_injected: bool
    onset_ns: int
    declared_ns: int


@dataclass(frozen=True)
class Attempt:
    """One try to run the job; arrays have an element a place."""

    number: int
    host: np.ndarray
    """Number of the host in each place, NONE where it is empty."""
    is_active: np.ndarray
    """Whether the place is in the running world."""
    granted_ns: np.ndarray
    """When the place had a host; of an empty place when it gets one, or the end."""
    begun_ns: int
    """Submission, or the end of the attempt before."""
    all_granted_ns: int
    placed_ns: int
    pulled_ns: np.ndarray
    contained_ns: np.ndarray
    process_ns: np.ndarray
    """End of image pull, of container start, of the health check, when the process starts."""
    connected_ns: int
    restored_ns: int
    first_step_ns: int
    first_step: int
    """Number of the first step; the ones before it were restored."""
    step_end_ns: np.ndarray
    """End of every step that was made, without the save that may follow."""
    saved_step: np.ndarray
    stall_ns: int
    """Blocking part of each save, which follows its step at once."""
    durable_ns: np.ndarray
    stopped_ns: int
    """When steps ended: the onset of the failure, the end of the last save, a planned stop."""
    failure: Failure | None
    torn_ns: int
    """When all processes were gone."""
    kept_step: int
    """Last step that a later attempt did not have to repeat."""


@dataclass(frozen=True)
class Life:
    """All attempts of a job, and when its accelerators were released."""

    values: Values
    places: int
    attempts: list[Attempt]
    released_ns: int
    is_done: bool
    """Whether all steps were made."""


@dataclass
class _Cluster:
    """What changes from attempt to attempt."""

    values: Values
    seed: int
    places: int
    host: np.ndarray
    back_ns: np.ndarray
    """When an empty place gets a host."""
    has_image: set[int] = field(default_factory=set)
    next_host: int = 0
    now_ns: int = 0
    step: int = 0
    exposed_ns: int = 0
    """Time of nature's next failure that has been lived through already."""
    failures: int = 0

    def ns(self, name: str) -> int:
        """A parameter in seconds, as nanoseconds."""
        return round(float(self.values[name]) * NS_PER_S)

    def lengths_ns(self, purpose: str, median_s: float, count: int, *, sigma: float) -> np.ndarray:
        """Log-normal durations for one purpose of the present attempt."""
        return lognormal_ns(stream(self.seed, purpose), count, median_ms=median_s * 1e3, sigma=sigma)


def simulate(values: Values, *, seed: int) -> Life:
    """Let a job live; deterministic for a seed."""
    places = int(values["job.accelerators"]) // int(values["job.per_host"])
    cluster = _Cluster(values, seed, places, np.arange(places), np.zeros(places, np.int64), next_host=places)
    attempts: list[Attempt] = []
    while len(attempts) < int(values["run.max_attempts"]):
        attempts.append(_attempt(cluster, len(attempts)))
        if cluster.step >= int(values["run.steps"]):
            return Life(values, places, attempts, cluster.now_ns + cluster.ns("run.post_s"), is_done=True)
    return Life(values, places, attempts, cluster.now_ns, is_done=False)


def _attempt(cluster: _Cluster, number: int) -> Attempt:
    """One attempt from its queue to the end of its processes."""
    begun_ns, first_step = cluster.now_ns, cluster.step
    granted_ns = _grants(cluster, number)
    is_active = _world(cluster)
    all_granted_ns = int(granted_ns[is_active].max())
    placed_ns = all_granted_ns + cluster.ns("queue.placement_s")
    host = np.where(granted_ns <= placed_ns, cluster.host, NONE)
    pulled_ns, contained_ns, process_ns = _provisioned(cluster, number, placed_ns, is_active)
    connected_ns = int(process_ns[is_active].max()) + _nccl_ns(cluster, int(is_active.sum()))
    restored_ns = connected_ns + (_load_ns(cluster, number) if first_step else 0)
    first_step_ns = restored_ns + cluster.ns("start.compile_s")
    run = _run(cluster, is_active, first_step_ns)
    return Attempt(
        number, host, is_active, granted_ns, begun_ns, all_granted_ns, placed_ns, pulled_ns, contained_ns,
        process_ns, connected_ns, restored_ns, first_step_ns, first_step, *run,
    )  # fmt: skip


def _grants(cluster: _Cluster, number: int) -> np.ndarray:
    """When each place has a host: in waves at first, later at once but for those that lost theirs."""
    if number == 0:
        waves = int(cluster.values["queue.waves"])
        factor = float(cluster.values["fault.queue_factor"])
        first = cluster.lengths_ns("queue", float(cluster.values["queue.median_s"]) * factor, 1,
                                   sigma=float(cluster.values["queue.sigma"]))  # fmt: skip
        gaps = stream(cluster.seed, "queue.waves").exponential(float(cluster.values["queue.wave_s"]) * factor, waves)
        gaps[0] = 0
        at_ns = first[0] + np.rint(np.cumsum(gaps) * NS_PER_S).astype(np.int64)
        return at_ns[np.arange(cluster.places) * waves // cluster.places]
    granted_ns = np.maximum(cluster.back_ns, cluster.now_ns)
    waits = not _may_shrink(cluster)
    returned = (cluster.host == NONE) & ((cluster.back_ns <= cluster.now_ns) | waits)
    _fill(cluster, returned)
    return granted_ns


def _fill(cluster: _Cluster, places: np.ndarray) -> None:
    """New hosts into places."""
    count = int(places.sum())
    cluster.host[places] = cluster.next_host + np.arange(count)
    cluster.next_host += count


def _may_shrink(cluster: _Cluster) -> bool:
    """Whether the job goes on without the hosts that are missing now."""
    missing = (cluster.host == NONE) & (cluster.back_ns > cluster.now_ns)
    share = float(_whole_units(cluster, ~missing).mean())
    return bool(cluster.values["elastic.enabled"]) and share >= float(cluster.values["elastic.min_share"])


def _whole_units(cluster: _Cluster, present: np.ndarray) -> np.ndarray:
    """Places whose unit of hosts is complete."""
    unit = int(cluster.values["elastic.unit_hosts"]) if cluster.values["elastic.enabled"] else cluster.places
    return np.repeat(present.reshape(-1, unit).all(axis=1), unit)


def _world(cluster: _Cluster) -> np.ndarray:
    """Places that run."""
    return _whole_units(cluster, cluster.host != NONE)


def _provisioned(
    cluster: _Cluster, number: int, placed_ns: int, is_active: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ends of image pull, container start and health check by place; hosts that fail it are replaced."""
    values, count, sigma = cluster.values, cluster.places, float(cluster.values["provision.sigma"])
    is_new = np.array([host not in cluster.has_image for host in cluster.host.tolist()])
    image_s = float(values["provision.image_s"]) * float(values["fault.image_factor"])
    pull = cluster.lengths_ns(f"image.{number}", image_s, count, sigma=sigma)
    start = cluster.lengths_ns(f"container.{number}", float(values["provision.container_s"]), count, sigma=sigma)
    test = cluster.lengths_ns(f"health.{number}", float(values["provision.health_s"]), count, sigma=sigma)
    chance = stream(cluster.seed, f"health.bad.{number}").random(count)
    is_bad = is_new & is_active & (chance < float(values["provision.bad_host_share"]))
    _fill(cluster, is_bad)
    lost_ns = is_bad * (pull + start + test + cluster.ns("queue.replace_s"))
    pulled_ns = placed_ns + lost_ns + is_new * pull
    cluster.has_image.update(cluster.host[is_active].tolist())
    return pulled_ns, pulled_ns + start, pulled_ns + start + test


def _nccl_ns(cluster: _Cluster, hosts: int) -> int:
    ranks = hosts * int(cluster.values["job.per_host"])
    sizes, seconds = zip(*_NCCL, strict=True)
    return round(float(np.interp(ranks, sizes, seconds)) * float(cluster.values["start.nccl_factor"]) * NS_PER_S)


def _load_ns(cluster: _Cluster, number: int) -> int:
    seconds = float(cluster.values["checkpoint.load_s"]) * float(cluster.values["fault.load_factor"])
    return int(cluster.lengths_ns(f"load.{number}", seconds, 1, sigma=0.2)[0])


Ran = tuple[np.ndarray, np.ndarray, int, np.ndarray, int, Failure | None, int, int]


def _run(cluster: _Cluster, is_active: np.ndarray, first_ns: int) -> Ran:
    """Steps and saves until all are made, something fails, or hosts that are back are worth a stop."""
    stall_ns = round(cluster.ns("checkpoint.stall_s") * float(cluster.values["fault.stall_factor"]))
    ends_ns, is_saved = _steps(cluster, is_active, first_ns, stall_ns)
    natural_ns = first_ns + _exposure_ns(cluster, int(is_active.sum())) - cluster.exposed_ns
    forced_ns = cluster.ns("fault.at_s") if cluster.values["fault.cause"] != "none" else NONE
    is_forced = first_ns <= forced_ns < min(natural_ns, int(ends_ns[-1]) + stall_ns)
    onset_ns = forced_ns if is_forced else natural_ns
    stop = _planned_stop(cluster, is_active, ends_ns, is_saved)
    if onset_ns >= int(ends_ns[stop]) + stall_ns:
        cluster.exposed_ns += int(ends_ns[stop]) + stall_ns - first_ns
        return _stopped(cluster, ends_ns[: stop + 1], is_saved[: stop + 1], stall_ns)
    made = ends_ns <= onset_ns
    failure = _failure(cluster, onset_ns, is_active, is_forced=is_forced)
    cluster.exposed_ns = cluster.exposed_ns + onset_ns - first_ns if is_forced else 0
    return _failed(cluster, ends_ns[made], is_saved[made], stall_ns, failure)


def _steps(cluster: _Cluster, is_active: np.ndarray, first_ns: int, stall_ns: int) -> tuple[np.ndarray, np.ndarray]:
    """Ends of all steps that are left, and whether a save follows each; the last step is always saved."""
    whole, sigma = int(cluster.values["run.steps"]), float(cluster.values["job.step_sigma"])
    median_s = float(cluster.values["job.step_s"]) * cluster.places / int(is_active.sum())
    # A step takes as long whenever it is made: what is repeated is the same work.
    lengths_ns = cluster.lengths_ns("steps", median_s, whole, sigma=sigma)[cluster.step :]
    index = np.arange(cluster.step, whole) + 1
    is_saved = index % int(cluster.values["checkpoint.every_steps"]) == 0
    is_saved[-1] = True
    stalls_ns = is_saved * stall_ns
    return first_ns + np.cumsum(lengths_ns + stalls_ns) - stalls_ns, is_saved


def _exposure_ns(cluster: _Cluster, hosts: int) -> int:
    """Running time from one natural failure to the next, at the rate of so many hosts."""
    ranks = hosts * int(cluster.values["job.per_host"])
    beyond = np.interp(ranks, (_SUPERLINEAR_FROM, _SUPERLINEAR_AT), (1.0, _SUPERLINEAR))
    per_s = float(cluster.values["failures.per_1000_node_days"]) / 1000 / 86400 * hosts * float(beyond)
    gap = stream(cluster.seed, "failures").exponential(1.0, _DRAWS)[cluster.failures % _DRAWS]
    # At no rate, or next to none, the next failure is thirty years away.
    seconds = float(gap) / per_s if per_s > 0 else _NEVER_S
    return round(min(seconds, _NEVER_S) * NS_PER_S)


def _planned_stop(cluster: _Cluster, is_active: np.ndarray, ends_ns: np.ndarray, is_saved: np.ndarray) -> int:
    """Position of the step with whose save the attempt ends: the last, or the first after hosts are back."""
    if is_active.all():
        return ends_ns.size - 1
    back_ns = int(cluster.back_ns[cluster.host == NONE].max(initial=0))
    worth = np.flatnonzero(is_saved & (ends_ns >= back_ns))
    return int(worth[0]) if worth.size else ends_ns.size - 1


def _failure(cluster: _Cluster, onset_ns: int, is_active: np.ndarray, *, is_forced: bool) -> Failure:
    """Who fails how; the watchdog declares what hangs, an inspection or the exit all else."""
    values, turn = cluster.values, cluster.failures % _DRAWS
    purposes = ("cause", "place", "hangs")
    luck = {one: float(stream(cluster.seed, f"failures.{one}").random(_DRAWS)[turn]) for one in purposes}
    cause = named(str(values["fault.cause"])) if is_forced else drawn(luck["cause"])
    place = int(np.flatnonzero(is_active)[int(luck["place"] * is_active.sum())])
    place = int(values["fault.host"]) if is_forced else place
    hangs = bool(values["fault.hangs"]) if is_forced else luck["hangs"] < float(values["failures.implicit_share"])
    cluster.failures += not is_forced
    median_s = cause.detect_s
    detect_ns = int(cluster.lengths_ns(f"detect.{onset_ns}", median_s, 1, sigma=0.3)[0])
    detect_ns = cluster.ns("failures.watchdog_s") if hangs or cause.name == "nccl_watchdog" else detect_ns
    where = place if cause.loses_host or cause.kind == "software" else NONE
    return Failure(cause, where, hangs, is_forced, onset_ns, onset_ns + detect_ns)


def _stopped(cluster: _Cluster, ends_ns: np.ndarray, is_saved: np.ndarray, stall_ns: int) -> Ran:
    """The attempt ends with a save: the job is done, or starts again with more hosts."""
    saved = cluster.step + 1 + np.flatnonzero(is_saved)
    cluster.step += ends_ns.size
    stopped_ns = int(ends_ns[-1]) + stall_ns
    is_done = cluster.step >= int(cluster.values["run.steps"])
    cluster.now_ns = stopped_ns + (0 if is_done else cluster.ns("failures.teardown_s"))
    durable_ns = ends_ns[is_saved] + stall_ns + cluster.ns("checkpoint.write_s")
    return ends_ns, saved, stall_ns, durable_ns, stopped_ns, None, cluster.now_ns, cluster.step


def _failed(cluster: _Cluster, ends_ns: np.ndarray, is_saved: np.ndarray, stall_ns: int, failure: Failure) -> Ran:
    """The attempt ends with a failure: back to the last durable save, without the host that was lost."""
    saved = cluster.step + 1 + np.flatnonzero(is_saved)
    durable_ns = ends_ns[is_saved] + stall_ns + cluster.ns("checkpoint.write_s")
    cluster.step = int(saved[durable_ns <= failure.onset_ns].max(initial=cluster.step))
    cluster.now_ns = failure.declared_ns + cluster.ns("failures.teardown_s")
    if failure.cause.loses_host:
        cluster.host[failure.place] = NONE
        replace_s = float(cluster.values["queue.replace_s"])
        wait_ns = cluster.lengths_ns(f"replace.{failure.onset_ns}", replace_s, 1, sigma=0.5)
        cluster.back_ns[failure.place] = cluster.now_ns + int(wait_ns[0])
    return ends_ns, saved, stall_ns, durable_ns, failure.onset_ns, failure, cluster.now_ns, cluster.step
