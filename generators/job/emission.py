"""The life of a job as spans in tracekit's own convention, one trace a job.

The scheduler sends the job, its attempts, queue, gang wait and teardown; every host's agent the provisioning;
every host's trainer init, restore and what it ran. Progress comes from rank 0: a span for the steps between
two saves, with their numbers, and the save itself. Nobody sends what only the ledger can know: which steps
will be repeated, and how long a failure went unnoticed. Steps here have no `tracekit.step`: they are no units
of the training steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from generators.job.life import NS_PER_S, Attempt, Life
from generators.logs import ERROR as LOG_ERROR
from generators.logs import NO_TRACE, WARN, LogGroup
from generators.metrics import Series
from generators.seeds import identifiers
from generators.spans import ERROR, INTERNAL, Column, Emission, EventGroup, Optional, Scalar, SpanGroup

SCHEDULER, AGENT, TRAINER = "scheduler", "node-agent", "trainer"


@dataclass
class Sketch:
    """A life on its way to spans: resources as they are needed, ids, absolute time."""

    life: Life
    seed: int
    origin_ns: int
    resources: list[Mapping[str, Scalar]] = field(default_factory=list)
    groups: list[SpanGroup] = field(default_factory=list)

    def resource(self, more: Mapping[str, Scalar]) -> int:
        """Number of a new resource of this job."""
        self.resources.append({**more, "tracekit.job.id": str(self.life.values["run.job"])})
        return len(self.resources) - 1

    def add(
        self, name: str, key: str, resource: np.ndarray | int, parent: np.ndarray | int, start_ns: np.ndarray | int,
        end_ns: np.ndarray | int, *, stage: str | None = None,
        attributes: Mapping[str, Column | Optional] | None = None,
        events: tuple[EventGroup, ...] = (), status: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """Spans of one name, an element a resource; returns their ids."""
        where = np.atleast_1d(np.asarray(resource, np.int64))
        ids = identifiers(self.seed, f"span_ids.{key}", where.size)
        parents = np.full(where.size, parent, np.uint64)
        start, end = (np.full(where.size, at, np.int64) + self.origin_ns for at in (start_ns, end_ns))
        named: dict[str, Column | Optional] = {} if stage is None else {"tracekit.stage": stage}
        self.groups.append(
            SpanGroup(
                name, _SCOPES[name], INTERNAL, where, np.zeros(where.size, np.int64), ids, parents, start, end,
                status=status, attributes={**named, **(attributes or {})}, events=events,
            )
        )  # fmt: skip
        return ids

    def event(self, name: str, time_ns: np.ndarray | int, present: np.ndarray, **attributes: Column) -> EventGroup:
        """An event on those spans of a group that have it."""
        times = np.full(present.size, time_ns, np.int64) + self.origin_ns
        return EventGroup(name, times, present, {key.replace("__", "."): value for key, value in attributes.items()})


_SCOPES = {
    **dict.fromkeys(("job", "attempt", "queue", "placement", "gang_wait", "teardown", "release"), SCHEDULER),
    **dict.fromkeys(("provision", "image_pull", "container_start", "health_check"), AGENT),
    **dict.fromkeys(("init", "checkpoint_load", "compile", "run", "steps", "checkpoint_save", "checkpoint_write"),
                    TRAINER),
}  # fmt: skip


def emission(life: Life, *, seed: int) -> Emission:
    """The job's spans and counters."""
    sketch = Sketch(life, seed, int(life.values["run.start_unix_s"]) * NS_PER_S)
    scheduler = sketch.resource({"service.name": SCHEDULER, "host.name": "scheduler-0"})
    accelerators = int(life.values["job.accelerators"])
    root = sketch.add(
        "job", "job", scheduler, 0, 0, life.released_ns,
        attributes={"tracekit.job.accelerators": accelerators, "tracekit.job.hosts": life.places,
                    "tracekit.job.steps": int(life.values["run.steps"])},
        status=np.full(1, 0 if life.is_done else ERROR, np.uint8),
    )  # fmt: skip
    agents: dict[int, int] = {}
    for attempt in life.attempts:
        _attempt(sketch, attempt, scheduler, int(root[0]), agents)
    if life.is_done:
        sketch.add("release", "release", scheduler, int(root[0]), life.attempts[-1].torn_ns, life.released_ns,
                   stage="job.post")  # fmt: skip
    high, low = (identifiers(seed, f"trace_ids.{half}", 1) for half in ("high", "low"))
    whole = Emission(
        tuple(sketch.resources), high, low, (), _series(sketch, scheduler), _logs(sketch, scheduler, agents)
    )
    return whole.with_groups(sketch.groups)


def _attempt(sketch: Sketch, attempt: Attempt, scheduler: int, root: int, agents: dict[int, int]) -> None:
    """All spans of one attempt."""
    failure, number = attempt.failure, attempt.number
    is_failed = np.full(1, failure is not None)
    declared_ns = failure.declared_ns if failure else attempt.torn_ns
    parent = sketch.add(
        "attempt", f"attempt.{number}", scheduler, root, attempt.begun_ns, attempt.torn_ns, stage="attempt",
        attributes={"tracekit.attempt": number, "tracekit.world_size": _ranks(sketch, attempt),
                    "tracekit.steps.restored": attempt.first_step},
        events=(sketch.event("failure_declared", declared_ns, is_failed, message=_declaration(attempt)),),
        status=is_failed.astype(np.uint8) * ERROR,
    )  # fmt: skip
    _scheduled(sketch, attempt, scheduler, int(parent[0]))
    _provisioned(sketch, attempt, int(parent[0]), agents)
    _trained(sketch, attempt, int(parent[0]))
    if attempt.torn_ns > declared_ns:
        sketch.add("teardown", f"teardown.{number}", scheduler, parent, declared_ns, attempt.torn_ns,
                   stage="job.recover")  # fmt: skip


def _ranks(sketch: Sketch, attempt: Attempt) -> int:
    return int(attempt.is_active.sum()) * int(sketch.life.values["job.per_host"])


def _declaration(attempt: Attempt) -> str:
    """What the scheduler was told: a time-out of the watchdog, or an unhealthy host or a process that ended."""
    failure = attempt.failure
    if failure is None:
        return ""
    if failure.hangs or failure.cause.name == "nccl_watchdog":
        return "NCCL watchdog: collective timed out"
    return "process ended" if failure.cause.kind == "software" else "host or link unhealthy"


def _scheduled(sketch: Sketch, attempt: Attempt, scheduler: int, parent: int) -> None:
    """Queue with its grants, the gang's wait, the choice of hosts."""
    values, number = sketch.life.values, attempt.number
    first_ns, waves = int(attempt.granted_ns[attempt.is_active].min()), np.unique(attempt.granted_ns[attempt.is_active])
    grants = []
    for wave in waves.tolist():
        hosts = int((attempt.granted_ns[attempt.is_active] == wave).sum())
        grants.append(sketch.event("granted", wave, np.ones(1, bool),
                                   accelerators=hosts * int(values["job.per_host"])))  # fmt: skip
    if attempt.all_granted_ns > attempt.begun_ns:
        sketch.add("queue", f"queue.{number}", scheduler, parent, attempt.begun_ns, attempt.all_granted_ns,
                   stage="job.queue", events=tuple(grants))  # fmt: skip
    if first_ns < attempt.all_granted_ns:
        sketch.add("gang_wait", f"gang.{number}", scheduler, parent, first_ns, attempt.all_granted_ns,
                   stage="job.gang_wait")  # fmt: skip
    sketch.add("placement", f"placement.{number}", scheduler, parent, attempt.all_granted_ns, attempt.placed_ns,
               stage="job.provision")  # fmt: skip


def host_name(host: int) -> str:
    """Name of a host by its number."""
    return f"node-{host}"


def _provisioned(sketch: Sketch, attempt: Attempt, parent: int, agents: dict[int, int]) -> None:
    """Image pull where the host had none, container start, health check, host by host."""
    place = np.flatnonzero(attempt.is_active)
    hosts = attempt.host[place].tolist()
    for host in hosts:
        if host not in agents:
            agents[host] = sketch.resource({"service.name": AGENT, "host.name": host_name(host)})
    where, number = np.array([agents[host] for host in hosts]), attempt.number
    bounds = {
        "image_pull": (np.full(place.size, attempt.placed_ns), attempt.pulled_ns[place]),
        "container_start": (attempt.pulled_ns[place], attempt.contained_ns[place]),
        "health_check": (attempt.contained_ns[place], attempt.process_ns[place]),
    }
    ids = sketch.add("provision", f"provision.{number}", where, parent, attempt.placed_ns, attempt.process_ns[place],
                     stage="job.provision")  # fmt: skip
    for name, (start_ns, end_ns) in bounds.items():
        there = end_ns > start_ns
        sketch.add(name, f"{name}.{number}", where[there], ids[there], start_ns[there], end_ns[there],
                   stage="job.provision")  # fmt: skip


def _trained(sketch: Sketch, attempt: Attempt, parent: int) -> None:
    """One trainer a host: init, restore, compilation, and how long it ran; rank 0 tells the progress."""
    place, number = np.flatnonzero(attempt.is_active), attempt.number
    per_host, world = int(sketch.life.values["job.per_host"]), _ranks(sketch, attempt)
    where = np.array([
        sketch.resource({
            "service.name": TRAINER, "host.name": host_name(host), "tracekit.attempt": number,
            "tracekit.rank": order * per_host, "tracekit.world_size": world,
        })
        for order, host in enumerate(attempt.host[place].tolist())
    ])  # fmt: skip
    sketch.add("init", f"init.{number}", where, parent, attempt.process_ns[place], attempt.connected_ns, stage="init")
    if attempt.restored_ns > attempt.connected_ns:
        sketch.add("checkpoint_load", f"load.{number}", where, parent, attempt.connected_ns, attempt.restored_ns,
                   stage="checkpoint_load")  # fmt: skip
    sketch.add("compile", f"compile.{number}", where, parent, attempt.restored_ns, attempt.first_step_ns, stage="init")
    ids = _ran(sketch, attempt, where, place, parent)
    _progress(sketch, attempt, int(where[0]), int(ids[0]))


def _ran(sketch: Sketch, attempt: Attempt, where: np.ndarray, place: np.ndarray, parent: int) -> np.ndarray:
    """From the first step to the end of each process: at once where it failed openly, else when it was torn down."""
    failure = attempt.failure
    if failure is None:
        return sketch.add("run", f"run.{attempt.number}", where, parent, attempt.first_step_ns, attempt.stopped_ns)
    is_culprit = place == failure.place
    ends_now = is_culprit & (not failure.hangs)
    end_ns = np.where(ends_now, failure.onset_ns, failure.declared_ns)
    told = is_culprit & bool(failure.cause.evidence)
    events = (
        sketch.event("exception", failure.onset_ns, told, exception__message=failure.cause.evidence),
        sketch.event("exception", failure.declared_ns, ~is_culprit, exception__message=_victim(attempt)),
    )
    return sketch.add(
        "run", f"run.{attempt.number}", where, parent, attempt.first_step_ns, end_ns, events=events,
        status=np.full(where.size, ERROR, np.uint8),
    )  # fmt: skip


def _victim(attempt: Attempt) -> str:
    """What processes say that wait for one that is gone."""
    is_watchdog = _declaration(attempt).startswith("NCCL watchdog")
    return "NCCL watchdog: collective timed out" if is_watchdog else "SIGTERM received"


def _progress(sketch: Sketch, attempt: Attempt, lead: int, parent: int) -> None:
    """Steps from save to save, the blocking part of each save and the write beside training."""
    last = attempt.first_step + attempt.step_end_ns.size
    ends = np.unique(np.append(attempt.saved_step, last)) if last > attempt.first_step else np.zeros(0, np.int64)
    firsts = np.concatenate([[attempt.first_step], ends[:-1]])[: ends.size]
    end_ns = attempt.step_end_ns[ends - attempt.first_step - 1]
    after_ns = np.concatenate([[attempt.first_step_ns], end_ns[:-1] + attempt.stall_ns])[: ends.size]
    resource, number = np.full(ends.size, lead), attempt.number
    sketch.add("steps", f"steps.{number}", resource, parent, after_ns, end_ns,
               attributes={"tracekit.steps.first": firsts + 1, "tracekit.steps.last": ends})  # fmt: skip
    saved_ns = attempt.step_end_ns[attempt.saved_step - attempt.first_step - 1]
    until_ns = saved_ns + attempt.stall_ns
    began = until_ns <= attempt.stopped_ns
    saver = np.full(int(began.sum()), lead)
    named = {"tracekit.steps.last": attempt.saved_step[began]}
    sketch.add("checkpoint_save", f"save.{number}", saver, parent, saved_ns[began], until_ns[began],
               stage="job.checkpoint_save", attributes=named)  # fmt: skip
    durable = began & (attempt.durable_ns <= attempt.torn_ns if attempt.failure else began)
    durable &= attempt.durable_ns <= attempt.stopped_ns
    sketch.add("checkpoint_write", f"write.{number}", np.full(int(durable.sum()), lead), parent, until_ns[durable],
               attempt.durable_ns[durable],
               attributes={"tracekit.async": True, "tracekit.steps.last": attempt.saved_step[durable]})  # fmt: skip


def _logs(sketch: Sketch, scheduler: int, agents: dict[int, int]) -> tuple[LogGroup, ...]:
    """What the kernel of a failing host writes, and what the scheduler notes when a failure is declared."""
    failed = [attempt for attempt in sketch.life.attempts if attempt.failure is not None]
    kernel = [
        (agents[int(one.host[one.failure.place])], one.failure.onset_ns, one.failure.cause.evidence)
        for one in failed
        if one.failure
        and one.failure.place >= 0
        and one.failure.cause.evidence
        and one.failure.cause.kind != "software"
    ]
    noted = [(scheduler, one.failure.declared_ns, f"attempt {one.number} failed: {_declaration(one)}")
             for one in failed if one.failure]  # fmt: skip
    return tuple(
        LogGroup(
            scope, severity, np.array([row[0] for row in records], np.int64),
            np.array([row[1] for row in records], np.int64) + sketch.origin_ns,
            np.array([row[2] for row in records], dtype=object), np.full(len(records), NO_TRACE),
            np.zeros(len(records), np.uint64),
        )
        for scope, severity, records in (("kernel", WARN, kernel), (SCHEDULER, LOG_ERROR, noted)) if records
    )  # fmt: skip


def _series(sketch: Sketch, scheduler: int) -> tuple[Series, ...]:
    """Accelerators granted and the last step made, read at the run's interval."""
    life = sketch.life
    every_ns = round(float(life.values["emit.metrics_interval_s"]) * NS_PER_S)
    time_ns = np.arange(1, life.released_ns // every_ns + 1) * every_ns
    steps_ns = np.concatenate([attempt.step_end_ns for attempt in life.attempts])
    numbers = np.concatenate(
        [attempt.first_step + 1 + np.arange(attempt.step_end_ns.size) for attempt in life.attempts]
    )
    seen = np.searchsorted(steps_ns, time_ns, side="right")
    step = np.concatenate([[0], numbers])[seen]
    readings = {"tracekit.job.step": ("{step}", step), "tracekit.job.accelerators.granted": ("{accelerator}",
                _granted(life, time_ns))}  # fmt: skip
    return tuple(
        Series(name, unit, "gauge", SCHEDULER, scheduler, sketch.origin_ns, sketch.origin_ns + time_ns, values)
        for name, (unit, values) in readings.items()
        if time_ns.size
    )


def _granted(life: Life, time_ns: np.ndarray) -> np.ndarray:
    """Accelerators that the job holds at each instant."""
    held = np.zeros(time_ns.size, np.int64)
    for attempt in life.attempts:
        until_ns = life.released_ns if attempt is life.attempts[-1] else attempt.torn_ns
        inside = (time_ns > attempt.begun_ns) & (time_ns <= until_ns)
        granted = np.sort(attempt.granted_ns)
        held[inside] = np.searchsorted(granted, time_ns[inside], side="right")
    return held * int(life.values["job.per_host"])


def joined(first: Emission, second: Emission) -> Emission:
    """Two emissions as one: the second's resources and traces come after the first's."""
    resources, traces = len(first.resources), first.trace_high.size

    def moved(group: SpanGroup) -> SpanGroup:
        """The same spans with their places in the whole."""
        links = tuple(link if link.trace is None else replace(link, trace=link.trace + traces) for link in group.links)
        return replace(group, resource=group.resource + resources, trace=group.trace + traces, links=links)

    later: tuple[Any, ...] = tuple(replace(one, resource=one.resource + resources) for one in second.series)
    return Emission(
        (*first.resources, *second.resources),
        np.concatenate([first.trace_high, second.trace_high]),
        np.concatenate([first.trace_low, second.trace_low]),
        (*first.groups, *(moved(group) for group in second.groups)),
        (*first.series, *later),
        (*first.logs, *(_moved_logs(group, resources, traces) for group in second.logs)),
    )


def _moved_logs(group: LogGroup, resources: int, traces: int) -> LogGroup:
    trace = np.where(group.trace == NO_TRACE, NO_TRACE, group.trace + traces)
    return replace(group, resource=group.resource + resources, trace=trace)
