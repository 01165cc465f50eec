"""The operations of a training step and what each waits for, as arrays in an order in which they can be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import InsufficientDataError


@dataclass(frozen=True, eq=False)
class StepGraph:
    """What the operations of one step wait for, the same in every step and in every replica of the model.

    A slot is an operation of one replica. A slot starts when those it depends on have ended. The slots of a meeting
    (a collective, the two sides of a send) go on together when the last of them has started; where `is_joint`, not
    before the last of all replicas has. Meetings are sorted so that each comes after everything it needs.

    dependency: the slots that slot `s` depends on are `dependency[first_dependency[s]:first_dependency[s + 1]]`.
    member: the slots of meeting `m` are `member[first_member[m]:first_member[m + 1]]`; an operation that meets nobody
        is a meeting of one.
    is_transfer: of a slot, whether it is in a meeting that was given: its time counts from the last start there.
    is_closing: of a slot, whether its end can be the end of the step.
    """

    first_dependency: NDArray[np.int64]
    dependency: NDArray[np.int64]
    first_member: NDArray[np.int64]
    member: NDArray[np.int64]
    is_joint: NDArray[np.bool_]
    is_transfer: NDArray[np.bool_]
    is_closing: NDArray[np.bool_]

    @property
    def slot_count(self) -> int:
        """Operations of one replica in a step."""
        return len(self.first_dependency) - 1


@dataclass(frozen=True, eq=False)
class Meeting:
    """Slots that go on together; `is_joint` over all replicas."""

    members: tuple[int, ...]
    is_joint: bool = False


def step_graph(
    before: Sequence[Sequence[int]], meetings: Sequence[Meeting], *, closing: NDArray[np.bool_]
) -> StepGraph:  # fmt: skip
    """The graph of slots that depend on those in `before`; slots in none of `meetings` meet nobody.

    Raises `InsufficientDataError` where operations wait for each other in a circle.
    """
    is_transfer = np.zeros(len(before), np.bool_)
    for meeting in meetings:
        is_transfer[list(meeting.members)] = True
    alone = [Meeting((slot,)) for slot in np.flatnonzero(~is_transfer).tolist()]
    ordered = _in_order(before, [*meetings, *alone])
    return StepGraph(
        first_dependency=_bounds([len(each) for each in before]),
        dependency=np.array([slot for each in before for slot in each], np.int64),
        first_member=_bounds([len(meeting.members) for meeting in ordered]),
        member=np.array([slot for meeting in ordered for slot in meeting.members], np.int64),
        is_joint=np.array([meeting.is_joint for meeting in ordered], np.bool_),
        is_transfer=is_transfer,
        is_closing=closing,
    )


def _bounds(counts: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])


def _in_order(before: Sequence[Sequence[int]], meetings: Sequence[Meeting]) -> list[Meeting]:
    """Meetings sorted so that each comes after those of the slots its members depend on."""
    meeting_of = {slot: number for number, meeting in enumerate(meetings) for slot in meeting.members}
    after: list[list[int]] = [[] for _ in meetings]
    missing = [0] * len(meetings)
    for slot, needed in enumerate(before):
        for earlier in needed:
            after[meeting_of[earlier]].append(meeting_of[slot])
            missing[meeting_of[slot]] += 1
    ready = [number for number, count in enumerate(missing) if count == 0]
    for number in ready:
        for later in after[number]:
            missing[later] -= 1
            if missing[later] == 0:
                ready.append(later)
    if len(ready) < len(meetings):
        stuck = len(meetings) - len(ready)
        raise InsufficientDataError(
            f"{stuck} operations of the step wait for each other in a circle: it cannot be replayed"
        )
    return [meetings[number] for number in ready]
