"""The replay of many steps of one shape, compiled."""

from __future__ import annotations

import numpy as np

from tracekit.kernels import kernel
from tracekit.partition import Array


@kernel
def replay_steps(
    first_dependency: Array, dependency: Array, first_member: Array, member: Array, is_joint: Array, is_closing: Array,
    own_ns: Array, delay_ns: Array, reference_ns: Array, is_kept: Array, found: Array,
) -> None:  # fmt: skip
    """When each step ends: its closing slots into `found[:, 0]`, any of its slots into `found[:, 1]`.

    Times are double-precision nanoseconds from the start of the step: whole numbers below 2**53 stay exact.
    `own_ns[step, slot, replica]` is used where `is_kept[slot, replica]`, `reference_ns[slot, replica]` elsewhere.
    `delay_ns` has the shape of `own_ns`, or is empty where nothing starts late.
    """
    step_count, slot_count, replica_count = own_ns.shape
    end_ns = np.zeros((slot_count, replica_count))
    arrived_ns = np.zeros(replica_count)
    has_delay = delay_ns.size > 0
    for step in range(step_count):
        for meeting in range(len(is_joint)):
            arrived_ns[:] = -np.inf
            for at in range(first_member[meeting], first_member[meeting + 1]):
                slot = member[at]
                for replica in range(replica_count):
                    start_ns = _ready_ns(first_dependency, dependency, end_ns, slot, replica)
                    if has_delay:
                        start_ns += delay_ns[step, slot, replica]
                    arrived_ns[replica] = max(arrived_ns[replica], start_ns)
            if is_joint[meeting]:
                arrived_ns[:] = arrived_ns.max()
            for at in range(first_member[meeting], first_member[meeting + 1]):
                slot = member[at]
                for replica in range(replica_count):
                    taken_ns = own_ns[step, slot, replica] if is_kept[slot, replica] else reference_ns[slot, replica]
                    end_ns[slot, replica] = arrived_ns[replica] + taken_ns
        found[step, 0], found[step, 1] = _last_ns(end_ns, is_closing)


@kernel
def _ready_ns(first_dependency: Array, dependency: Array, end_ns: Array, slot: int, replica: int) -> float:
    """When everything that a slot depends on has ended; the start of the step, 0, where it depends on nothing."""
    first, last = first_dependency[slot], first_dependency[slot + 1]
    if first == last:
        return 0.0
    ready_ns = end_ns[dependency[first], replica]
    for needed in range(first + 1, last):
        ready_ns = max(ready_ns, end_ns[dependency[needed], replica])
    return ready_ns


@kernel
def _last_ns(end_ns: Array, is_closing: Array) -> tuple[float, float]:
    closing_ns = last_ns = -np.inf
    for slot in range(len(is_closing)):
        ended_ns = end_ns[slot].max()
        last_ns = max(last_ns, ended_ns)
        if is_closing[slot]:
            closing_ns = max(closing_ns, ended_ns)
    return closing_ns, last_ns


@kernel
def transfer_times(
    first_member: Array, member: Array, is_joint: Array, start_ns: Array, end_ns: Array, own_ns: Array
) -> None:  # fmt: skip
    """Into `own_ns[step, slot, replica]`: from the last start of the slot's meeting to the slot's end.

    Of a meeting of one that is not joint that is the duration.
    """
    step_count, _, replica_count = start_ns.shape
    arrived_ns = np.zeros(replica_count, np.int64)
    for step in range(step_count):
        for meeting in range(len(is_joint)):
            slots = member[first_member[meeting] : first_member[meeting + 1]]
            for replica in range(replica_count):
                arrived_ns[replica] = start_ns[step, slots[0], replica]
                for slot in slots[1:]:
                    arrived_ns[replica] = max(arrived_ns[replica], start_ns[step, slot, replica])
            if is_joint[meeting]:
                arrived_ns[:] = arrived_ns.max()
            for slot in slots:
                for replica in range(replica_count):
                    own_ns[step, slot, replica] = end_ns[step, slot, replica] - arrived_ns[replica]


@kernel
def launch_delays(
    first_dependency: Array, dependency: Array, start_ns: Array, end_ns: Array, step_start_ns: Array, delay_ns: Array
) -> None:  # fmt: skip
    """Into `delay_ns[step, slot, replica]`: how long after all it depends on, or after the step's start, it began."""
    step_count, slot_count, replica_count = start_ns.shape
    for step in range(step_count):
        for slot in range(slot_count):
            needed = dependency[first_dependency[slot] : first_dependency[slot + 1]]
            for replica in range(replica_count):
                ready_ns = step_start_ns[step] if len(needed) == 0 else end_ns[step, needed[0], replica]
                for earlier in needed[1:]:
                    ready_ns = max(ready_ns, end_ns[step, earlier, replica])
                delay_ns[step, slot, replica] = start_ns[step, slot, replica] - ready_ns
