"""Jobs that hang, simulated: ranks run a program of collectives ahead of their devices until a fault stops them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from tracekit.importers.flight_recorder import ENTRY_SCHEMA, GROUP_SCHEMA

AHEAD = 6
"""How many operations a host enqueues ahead of its device."""


@dataclass(frozen=True)
class Call:
    """One operation of a program: which members enter it, in which group, as what."""

    group: str
    members: tuple[int, ...]
    operation: str = "all_reduce"
    elements: int = 64


@dataclass(frozen=True)
class Dumps:
    """What the dumps of a job hold, as `explain_hang` takes it."""

    groups: pl.DataFrame
    entries: pl.DataFrame
    dumped: pl.Series

    def without(self, *ranks: int) -> Dumps:
        """The dumps of these ranks are lost."""
        kept = ~pl.col("rank").is_in(ranks)
        return Dumps(self.groups.filter(kept), self.entries.filter(kept), self.dumped.filter(~self.dumped.is_in(ranks)))


@dataclass
class _Job:
    programs: Mapping[int, Sequence[Call]]
    enqueued: dict[int, int]
    completed: dict[int, int]
    host_stops: Mapping[int, int]
    device_stops: Mapping[int, int]
    broken: frozenset[str] = frozenset()
    numbers: dict[tuple[int, int], int] = field(default_factory=dict)

    def advance(self) -> bool:
        moved = False
        for rank, program in self.programs.items():
            limit = min(self.completed[rank] + AHEAD, self.host_stops.get(rank, len(program)), len(program))
            moved |= self.enqueued[rank] < limit
            self.enqueued[rank] = limit
        return self._complete() or moved

    def _complete(self) -> bool:
        """Complete every operation that all its members have enqueued and reached."""
        done = [rank for rank in self.programs if self._is_met(rank)]
        stuck = {rank for rank in done if self.device_stops.get(rank) == self.completed[rank]}
        for rank in set(done) - stuck:
            self.completed[rank] += 1
        return bool(set(done) - stuck)

    def _is_met(self, rank: int) -> bool:
        at = self.completed[rank]
        if at >= self.enqueued[rank]:
            return False
        call = self.programs[rank][at]
        number = self.number(rank, at)
        return call.group not in self.broken and all(self._has_reached(each, call, number) for each in call.members)

    def _has_reached(self, rank: int, call: Call, number: int) -> bool:
        """A device that stopped contributed to what it stopped in, and to nothing after."""
        at = self.completed[rank]
        before = sum(each.group == call.group for each in self.programs[rank][:at])
        if before > number:
            return True
        return at < self.enqueued[rank] and before == number and self.programs[rank][at].group == call.group

    def number(self, rank: int, at: int) -> int:
        group = self.programs[rank][at].group
        key = rank, at
        if key not in self.numbers:
            self.numbers[key] = sum(each.group == group for each in self.programs[rank][:at])
        return self.numbers[key]


def hung_job(
    programs: Mapping[int, Sequence[Call]], *, host_stops: Mapping[int, int] | None = None,
    device_stops: Mapping[int, int] | None = None, broken: Sequence[str] = (), with_completed: bool = False,
) -> Dumps:  # fmt: skip
    """The dumps of a job whose ranks run `programs` until nothing moves any more.

    `host_stops`: the place in its program at which a rank's host enqueues no more. `device_stops`: the place which a
    rank's device never completes. `broken`: groups whose link carries nothing.
    """
    job = _Job(
        programs, dict.fromkeys(programs, 0), dict.fromkeys(programs, 0), host_stops or {}, device_stops or {},
        frozenset(broken),
    )  # fmt: skip
    while job.advance():
        pass
    return Dumps(_groups(job), _entries(job, with_completed=with_completed), pl.Series(sorted(programs)))


def _groups(job: _Job) -> pl.DataFrame:
    rows = []
    for rank, program in job.programs.items():
        for call in {each.group: each for each in program}.values():
            sent = sum(each.group == call.group for each in program[: job.enqueued[rank]])
            done = sum(each.group == call.group for each in program[: job.completed[rank]])
            rows.append((rank, call.group, None, list(call.members), sent - 1, -1, done - 1))
    return pl.DataFrame(rows, schema=GROUP_SCHEMA, orient="row")


def _entries(job: _Job, *, with_completed: bool) -> pl.DataFrame:
    rows = []
    for rank, program in job.programs.items():
        first = 0 if with_completed else job.completed[rank]
        for at in range(first, job.enqueued[rank]):
            call = program[at]
            rows.append({
                "rank": rank, "record_id": at, "group": call.group, "sequence": job.number(rank, at),
                "operation": call.operation, "is_p2p": False, "is_retired": False, "created_ns": 1_000 * at + rank,
                "state": "completed" if at < job.completed[rank] else "scheduled", "timeout_ms": 600_000,
                "input_elements": call.elements, "input_types": '["Float"]',
            })  # fmt: skip
    return pl.DataFrame(rows, schema=ENTRY_SCHEMA)


def mesh(tensor: int, data: int, *, steps: int) -> dict[int, list[Call]]:
    """Programs of a mesh: each step works in the tensor-parallel group three times, then in the data-parallel one."""
    programs = {}
    for rank in range(tensor * data):
        in_tensor = tuple(range(rank // tensor * tensor, (rank // tensor + 1) * tensor))
        in_data = tuple(range(rank % tensor, tensor * data, tensor))
        step = [Call(f"t{in_tensor[0]}", in_tensor, "all_gather")] * 3 + [Call(f"d{in_data[0]}", in_data)]
        programs[rank] = step * steps
    return programs
