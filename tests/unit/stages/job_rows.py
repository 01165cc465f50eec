"""Jobs written down second by second, put into a store without any file in between."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.unit.stages.stored import ERROR, Span, store
from tracekit.stages import update_units
from tracekit.store import Database

S = 1_000_000_000
CLOSED = "Connection closed by peer [10.0.0.1]"


class Job:
    """Spans of a job as they are written down, second by second."""

    def __init__(self, name: str | None = "j", *, trace: int = 1) -> None:
        self.name, self.trace = name, trace
        self.spans: list[Span] = []

    def add(
        self, phase: str, start: float, end: float, *, rank: int | None = None, attempt: int | None = None,
        host: str | None = None, world: int | None = None, step: int | None = None, error: str | None = None,
        service: str = "trainer", **more: Any,
    ) -> Span:  # fmt: skip
        """One span of a phase; `error` makes it fail with this exception at its end."""
        told = {"tracekit.stage": phase} | ({} if step is None else {"tracekit.step": step}) | more
        span = Span(
            len(self.spans) + 1 + 10_000 * self.trace, round(start * S), round(end * S), name=phase, trace=self.trace,
            service=service, host=host, job=self.name, attempt=attempt, rank=rank, world=world, attributes=told,
            status=ERROR if error else 0, messages=((error, round(end * S)),) if error else (),
        )  # fmt: skip
        self.spans.append(span)
        return span

    def steps(
        self, first: int, last: int, start: float, *, ranks: Iterable[int] = range(2), attempt: int | None = 0,
        each: float = 10, world: int | None = 2, service: str = "trainer",
    ) -> None:  # fmt: skip
        """Steps one after the other on each rank."""
        for rank in ranks:
            for place, step in enumerate(range(first, last + 1)):
                begin = start + place * each
                self.add("step", begin, begin + each, rank=rank, attempt=attempt, step=step, world=world,
                         host=f"node-{rank}", service=service)  # fmt: skip


def built(database: Database, *jobs: Job) -> Database:
    """The store with the units of jobs."""
    store(database, [span for job in jobs for span in job.spans])
    update_units(database)
    return database


def crashed(*, resume: int, kept: str = "trace") -> Job:
    """Two ranks make steps 0 to 8 of 10 s, save step 5, break in step 9, and start again 1000 s later."""
    job = Job()
    for rank in range(2):
        job.add("init", 0, 30, rank=rank, attempt=0, world=2, host=f"node-{rank}")
        job.add("checkpoint_save", 90, 90.5, rank=rank, attempt=0, world=2, step=5, host=f"node-{rank}")
    job.steps(0, 5, 30)
    job.steps(6, 8, 90.5)
    job.add("step", 120.5, 126.5, rank=0, attempt=0, step=9, world=2, host="node-0", error="Xid 79: GPU lost")
    job.add("step", 120.5, 126.5, rank=1, attempt=0, step=9, world=2, host="node-1", error=CLOSED)
    job.steps(resume, 19, 1126.5, attempt=1)
    return job
