"""Dependencies of observed operations, an order to replay them in, and the replay, compiled."""

from __future__ import annotations

import numpy as np

from tracekit.kernels import kernel
from tracekit.partition import Array

NONE = -1
"""In columns of operation numbers: no operation."""


@kernel
def link_operations(first: Array, start_ns: Array, end_ns: Array, before: Array) -> None:
    """Into `before[operation]`: the operations of the same rank that had ended when it began.

    Operations are sorted by rank and start; those of rank `r` are `first[r]:first[r + 1]`. Of operations that
    follow each other without overlap only the last is noted; `before` has a column for each that can be open at a time.
    """
    width = before.shape[1]
    last, one_before = np.empty(width, np.int64), np.empty(width, np.int64)
    for run in range(len(first) - 1):
        last[:] = NONE
        one_before[:] = NONE
        for each in range(first[run], first[run + 1]):
            chosen = NONE
            for track in range(width):
                if last[track] == NONE or end_ns[last[track]] > start_ns[each]:
                    # Still open: what was on this track before it had ended when it began.
                    before[each, track] = one_before[track]
                    continue
                before[each, track] = last[track]
                if chosen == NONE or end_ns[last[track]] > end_ns[last[chosen]]:
                    chosen = track
            track = _free_track(last, end_ns) if chosen == NONE else chosen
            one_before[track] = last[track] if chosen != NONE else NONE
            last[track] = each


@kernel
def _free_track(last: Array, end_ns: Array) -> int:
    """A track that nothing is on, else the one that is free first."""
    best = 0
    for track in range(len(last)):
        if last[track] == NONE:
            return track
        if end_ns[last[track]] < end_ns[last[best]]:
            best = track
    return best


@kernel
def order_meetings(
    first_step: Array, before: Array, meeting: Array, first_member: Array, member: Array, order: Array
) -> Array:
    """Into `order`: meetings so that each comes after those of the operations its members depend on.

    The meetings of step `s` are `first_step[s]:first_step[s + 1]`, its place in `order` too. Returned is for each step
    whether that was possible: not where operations wait for each other in a circle.
    """
    is_possible = np.ones(len(first_step) - 1, np.bool_)
    missing = np.zeros(len(first_member) - 1, np.int64)
    for operation in range(len(meeting)):
        missing[meeting[operation]] += np.count_nonzero(before[operation] != NONE)
    first_after, after = _successors(before, meeting)
    for step in range(len(first_step) - 1):
        filled = taken = first_step[step]
        for each in range(first_step[step], first_step[step + 1]):
            if missing[each] == 0:
                order[filled] = each
                filled += 1
        while taken < filled:
            each = order[taken]
            taken += 1
            for at in range(first_member[each], first_member[each + 1]):
                for later in after[first_after[member[at]] : first_after[member[at] + 1]]:
                    missing[later] -= 1
                    if missing[later] == 0:
                        order[filled] = later
                        filled += 1
        is_possible[step] = filled == first_step[step + 1]
    return is_possible


@kernel
def _successors(before: Array, meeting: Array) -> tuple[Array, Array]:
    """For each operation the meetings of those that depend on it, one behind the other, and where they begin."""
    first = np.zeros(len(before) + 1, np.int64)
    for operation in range(len(before)):
        for earlier in before[operation]:
            if earlier != NONE:
                first[earlier + 1] += 1
    first = np.cumsum(first)
    after = np.empty(first[-1], np.int64)
    filled = first[:-1].copy()
    for operation in range(len(before)):
        for earlier in before[operation]:
            if earlier != NONE:
                after[filled[earlier]] = meeting[operation]
                filled[earlier] += 1
    return first, after


@kernel
def measure(first_step: Array, before: Array, first_member: Array, member: Array, start_ns: Array, end_ns: Array,
            own_ns: Array, delay_ns: Array) -> None:  # fmt: skip
    """What each operation took from the last start of its meeting, and how late it began after all it depends on."""
    for step in range(len(first_step) - 1):
        begin_ns = start_ns[member[first_member[first_step[step]]]]
        for at in range(first_member[first_step[step]], first_member[first_step[step + 1]]):
            begin_ns = min(begin_ns, start_ns[member[at]])
        for meeting in range(first_step[step], first_step[step + 1]):
            members = member[first_member[meeting] : first_member[meeting + 1]]
            arrived_ns = start_ns[members[0]]
            for operation in members:
                arrived_ns = max(arrived_ns, start_ns[operation])
                delay_ns[operation] = start_ns[operation] - _ready_ns(before[operation], end_ns, begin_ns)
            for operation in members:
                own_ns[operation] = end_ns[operation] - arrived_ns


@kernel
def _ready_ns(before: Array, end_ns: Array, begin_ns: int) -> int:
    """When all operations in `before` have ended; the beginning of the step where there are none."""
    ready_ns, is_first = begin_ns, True
    for earlier in before:
        if earlier != NONE and (is_first or end_ns[earlier] > ready_ns):
            ready_ns, is_first = end_ns[earlier], False
    return ready_ns


@kernel
def replay_observed(first_step: Array, order: Array, before: Array, first_member: Array, member: Array, own_ns: Array,
                    delay_ns: Array, end_ns: Array, length_ns: Array) -> None:  # fmt: skip
    """How long each step takes with these times and delays, into `length_ns`; `end_ns` is room for each operation."""
    for step in range(len(first_step) - 1):
        last_ns = 0
        for meeting in order[first_step[step] : first_step[step + 1]]:
            members = member[first_member[meeting] : first_member[meeting + 1]]
            arrived_ns = np.int64(-(2**62))
            for operation in members:
                arrived_ns = max(arrived_ns, _ready_ns(before[operation], end_ns, 0) + delay_ns[operation])
            for operation in members:
                end_ns[operation] = arrived_ns + own_ns[operation]
                last_ns = max(last_ns, end_ns[operation])
        length_ns[step] = last_ns
