"""What the instructions of a pickle would do, followed without doing it.

Of each value on the stack the container is kept that it is, if any; of each container how many values it holds, those
of its containers included, how deep they nest, and whether it was recalled from memory: nothing is put into it then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracekit.kernels import kernel

Array = np.ndarray

FORBIDDEN, LENGTH_1, LENGTH_4, LENGTH_8 = -1, -2, -3, -4
"""Instead of the number of bytes that follow an instruction: that it is none, or how that number is written."""

(
    FINE, RAN_OUT, BAD_INSTRUCTION, TOO_MANY, TOO_DEEP, BAD_SLOT, NOT_THERE, HOLDS_ITSELF, BAD_KEY,
    TOO_MANY_CONTAINERS, TOO_MANY_VALUES,
) = range(11)  # fmt: skip

EFFECTS: dict[str, tuple[str, ...]] = {
    "push": (),
    "nothing": ("PROTO", "FRAME"),
    "stop": ("STOP",),
    "mark": ("MARK",),
    "drop": ("POP_MARK",),
    "make": ("EMPTY_LIST", "EMPTY_DICT", "EMPTY_TUPLE"),
    "make_of_1": ("TUPLE1",),
    "make_of_2": ("TUPLE2",),
    "make_of_3": ("TUPLE3",),
    "make_of_marked": ("TUPLE", "LIST"),
    "make_of_pairs": ("DICT",),
    "put": ("APPEND",),
    "put_marked": ("APPENDS",),
    "put_pair": ("SETITEM",),
    "put_pairs": ("SETITEMS",),
    "remember": ("BINPUT", "LONG_BINPUT"),
    "remember_next": ("MEMOIZE",),
    "recall": ("BINGET", "LONG_BINGET"),
}
"""What instructions do to the stack; those that are not named push a plain value."""

(
    _PUSH, _NOTHING, _STOP, _MARK, _DROP, _MAKE, _OF_1, _OF_2, _OF_3, _OF_MARKED, _OF_PAIRS, _PUT, _PUT_MARKED,
    _PUT_PAIR, _PUT_PAIRS, _REMEMBER, _REMEMBER_NEXT, _RECALL,
) = range(18)  # fmt: skip

_PLAIN = -1
# What is remembered is stored above this: zero is an empty slot.
_EMPTY = 2


class Limits(NamedTuple):
    """How much a pickle may do."""

    instructions: int
    depth: int
    containers: int
    values: int


class _State(NamedTuple):
    """stack: from the bottom, the container of each value, or `_PLAIN`. marks: sizes of the stack at its marks.

    memory: containers by slot, plus `_EMPTY`; zero for an empty one. Of containers: values, depth, and whether they
    were recalled. counts: of stack, marks, memory and containers.
    """

    stack: Array
    marks: Array
    memory: Array
    values: Array
    depth: Array
    is_recalled: Array
    counts: Array


@kernel
def checked(data: Array, operands: Array, effects: Array, limits: Limits) -> tuple[int, int]:
    """What is wrong with the instructions (`FINE`: nothing) and where."""
    room = min(len(data), limits.instructions) + 2
    state = _State(
        np.zeros(room, np.int32), np.zeros(limits.depth + 1, np.int64), np.zeros(room, np.int32),
        np.zeros(limits.containers + 1, np.int64), np.zeros(limits.containers + 1, np.uint8),
        np.zeros(limits.containers + 1, np.bool_), np.zeros(4, np.int64),
    )  # fmt: skip
    at = count = 0
    while at < len(data):
        size, start = operands[data[at]], at + 1
        effect = effects[data[at]]
        count += 1
        if size == FORBIDDEN:
            return BAD_INSTRUCTION, at
        if count > limits.instructions:
            return TOO_MANY, at
        if size < 0:
            width = 1 if size == LENGTH_1 else 4 if size == LENGTH_4 else 8
            size = _number(data, start, width)
            start += width
        if size < 0 or size > len(data) - start:
            return RAN_OUT, at
        if effect == _STOP:
            return FINE, at
        slot = _number(data, start, size) if effect in (_REMEMBER, _RECALL) else 0
        problem = _followed(state, effect, slot, count, limits)
        if problem != FINE:
            return problem, at
        at = start + size
    return RAN_OUT, len(data)


@kernel
def _followed(state: _State, effect: int, slot: int, count: int, limits: Limits) -> int:
    """What one instruction does to the stack; what is wrong with that."""
    if effect == _NOTHING:
        return FINE
    if effect == _PUSH:
        return _push(state, _PLAIN)
    if effect == _MARK:
        return _mark(state, limits)
    if effect >= _REMEMBER:
        return _memory(state, effect, slot, count)
    if effect == _DROP:
        return _dropped(state)
    if effect >= _PUT:
        return _filled(state, effect, limits)
    return _made(state, effect, limits)


@kernel
def _push(state: _State, container: int) -> int:
    state.stack[state.counts[0]] = container
    state.counts[0] += 1
    return FINE


@kernel
def _mark(state: _State, limits: Limits) -> int:
    if state.counts[1] >= limits.depth:
        return TOO_DEEP
    state.marks[state.counts[1]] = state.counts[0]
    state.counts[1] += 1
    return FINE


@kernel
def _bottom(state: _State) -> int:
    """The size of the stack that the values above the last mark lie on."""
    return state.marks[state.counts[1] - 1] if state.counts[1] else 0


@kernel
def _dropped(state: _State) -> int:
    if state.counts[1] == 0:
        return NOT_THERE
    state.counts[0] = _bottom(state)
    state.counts[1] -= 1
    return FINE


@kernel
def _memory(state: _State, effect: int, slot: int, count: int) -> int:
    if effect == _RECALL:
        if slot >= len(state.memory) or state.memory[slot] == 0:
            return NOT_THERE
        container = state.memory[slot] - _EMPTY
        if container != _PLAIN:
            state.is_recalled[container] = True
        return _push(state, container)
    if effect == _REMEMBER_NEXT:
        slot = state.counts[2]
    if slot > count:
        return BAD_SLOT
    if state.counts[0] <= _bottom(state):
        return NOT_THERE
    state.counts[2] += state.memory[slot] == 0
    state.memory[slot] = state.stack[state.counts[0] - 1] + _EMPTY
    return FINE


@kernel
def _made(state: _State, effect: int, limits: Limits) -> int:
    """A new container, of values that are on the stack."""
    if state.counts[3] >= limits.containers:
        return TOO_MANY_CONTAINERS
    has_mark = effect in (_OF_MARKED, _OF_PAIRS)
    if has_mark and state.counts[1] == 0:
        return NOT_THERE
    first = _bottom(state) if has_mark else state.counts[0] - (effect - _MAKE)
    if first < _bottom(state):
        return NOT_THERE
    container = state.counts[3]
    state.counts[3] += 1
    state.values[container] = state.depth[container] = 1
    problem = _taken(state, container, first, effect == _OF_PAIRS, limits)
    if problem != FINE:
        return problem
    if has_mark:
        state.counts[1] -= 1
    return _push(state, container)


@kernel
def _filled(state: _State, effect: int, limits: Limits) -> int:
    """Values from the top of the stack go into the container below them."""
    has_mark = effect in (_PUT_MARKED, _PUT_PAIRS)
    if has_mark and state.counts[1] == 0:
        return NOT_THERE
    first = _bottom(state) if has_mark else state.counts[0] - (2 if effect == _PUT_PAIR else 1)
    if has_mark:
        state.counts[1] -= 1
    into = first - 1
    if into < _bottom(state):
        return NOT_THERE
    container = state.stack[into]
    if container == _PLAIN:
        return NOT_THERE
    if state.is_recalled[container]:
        return HOLDS_ITSELF
    return _taken(state, container, first, effect in (_PUT_PAIR, _PUT_PAIRS), limits)


@kernel
def _taken(state: _State, container: int, first: int, are_pairs: bool, limits: Limits) -> int:
    """The values from a place of the stack on go into a container."""
    for at in range(first, state.counts[0]):
        held = state.stack[at]
        if held == _PLAIN:
            state.values[container] += 1
            continue
        if are_pairs and (at - first) % 2 == 0:
            return BAD_KEY
        state.values[container] += state.values[held]
        if state.depth[held] >= limits.depth:
            return TOO_DEEP
        state.depth[container] = max(state.depth[container], state.depth[held] + 1)
        if state.values[container] > limits.values:
            return TOO_MANY_VALUES
    state.counts[0] = first
    return FINE


@kernel
def _number(data: Array, start: int, width: int) -> int:
    """A little-endian number; -1 where the data ends before it."""
    if start + width > len(data):
        return -1
    number = np.int64(0)
    for byte in range(width):
        number |= np.int64(data[start + byte]) << (8 * byte)
    return number  # type: ignore[return-value]
