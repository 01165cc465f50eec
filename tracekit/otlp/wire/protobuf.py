"""Protobuf documents to events.

A walker goes through the bytes once, without recursion and without allocating. Unknown fields are skipped, and
so is a known field of the wrong wire type, as protobuf does. Where a document has such fields it may be another signal:
it is, if it reads as that without any.
"""

from __future__ import annotations

import numpy as np

from tracekit.kernels import index, inlined, outlined
from tracekit.kernels.unaligned import load8, load32, load64
from tracekit.otlp.wire.events import (
    MAX_NEST,
    close_record,
    cut_unfinished,
    emit,
    emit_fault,
    first_lost,
    open_message,
    take_back,
)  # fmt: skip
from tracekit.otlp.wire.fields import (
    BOOL,
    DOCUMENT,
    ENUM,
    INT32,
    SINT32,
    UINT32,
    UNKNOWN,
    Plan,
)  # fmt: skip
from tracekit.records import Reason

_TRUNCATED = int(Reason.TRUNCATED)
_MALFORMED = int(Reason.MALFORMED)
_WRONG_SIGNAL = int(Reason.WRONG_SIGNAL)
_NESTED_TOO_DEEP = np.int64(Reason.NESTED_TOO_DEEP)
_NOTHING = np.int64(0)
# Field numbers have 29 bits; the official readers take no key of more bytes than that needs.
_LARGEST_KEY = np.uint64(0xFFFFFFFF)
_KEY_BYTES = 5
_SIGNAL_COUNT = 3
_GROUP, _GROUP_END = 3, 4
_MAX_GROUPS = 100
# More than any document has bytes: a whole reading is better than any that stops.
_WHOLE = 1 << 40


@outlined
def walk_protobuf(
    plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, buffer: np.ndarray, bounds: np.ndarray,
    signals: np.ndarray, faults: np.ndarray, positions: np.ndarray, mistyped: np.ndarray,
) -> int:  # fmt: skip
    """Walks documents `bounds[i]:bounds[i + 1]`; gives the number of events.

    `rows` becomes the number of rows per record type and, behind them, the most events that there ever
    were: if it has no room for them, nothing of it is good. `signals[i]` is the signal's number, or -1
    to find it by trial; the one that was taken is written back. `faults[i]` becomes the reason why the
    document could not be read to its end (0 if it could) and `positions[i]` the byte; `mistyped[i]` the number of
    its known fields of the wrong wire type.
    """
    at, likely = np.int64(0), np.int64(0)
    for document in range(bounds.size - 1):
        start, end = bounds[document], bounds[document + 1]
        is_trial = signals[document] < 0
        signal = likely if is_trial else signals[document]
        after, fault, position = _walk_document(plan, events, stack, rows, buffer, start, end, document, at, signal)
        if is_trial and (fault != 0 or stack[0].element > 0 or not _has_evidence(plan, events, at, after, signal)):
            take_back(plan, events, rows, at, after)
            signal = _signal_by_trial(plan, events, stack, rows, buffer, start, end, document, at, likely)
            after, fault, position = _walk_document(plan, events, stack, rows, buffer, start, end, document, at, signal)
        mistyped[document] = stack[0].element
        first, at, likely = at, after, signal
        is_other = False
        if fault == _MALFORMED:
            is_other = _is_other_signal(plan, events, stack, rows, buffer, start, end, document, at, signal)
        elif fault == 0 and not is_trial and mistyped[document] > 0:
            is_other = _is_sound_as_other(plan, events, stack, rows, buffer, start, end, document, at, signal)
        if is_other:
            fault = _WRONG_SIGNAL
        if is_other and mistyped[document] > 0:
            # What was read of it are not even whole records of this signal.
            take_back(plan, events, rows, first, at)
            at, position = first + 1, start
            close_record(events, first, at)
        signals[document], faults[document], positions[document] = signal, fault, position
    return at


@outlined
def _is_other_signal(
    plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, buffer: np.ndarray,
    start: int, end: int, document: int, at: int, signal: int,
) -> bool:  # fmt: skip
    """Whether a document that is malformed as one signal is sound as another."""
    best = _signal_by_trial(plan, events, stack, rows, buffer, start, end, document, at, signal)
    after, fault, _ = _walk_document(plan, events, stack, rows, buffer, start, end, document, at, best)
    take_back(plan, events, rows, at, after)
    return fault == 0


@outlined
def _is_sound_as_other(
    plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, buffer: np.ndarray,
    start: int, end: int, document: int, at: int, signal: int,
) -> bool:  # fmt: skip
    """Whether another signal reads the whole document, with something in it and no field of the wrong type."""
    for turn in range(1, _SIGNAL_COUNT):
        other = (signal + turn) % _SIGNAL_COUNT
        after, fault, _ = _walk_document(plan, events, stack, rows, buffer, start, end, document, at, other)
        is_sound = fault == 0 and stack[0].element == 0 and _unit_count(plan, events, at, after) > 0
        is_sound = is_sound and _has_evidence(plan, events, at, after, other)
        take_back(plan, events, rows, at, after)
        if is_sound:
            return True
    return False


@outlined
def _signal_by_trial(
    plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, buffer: np.ndarray,
    start: int, end: int, document: int, at: int, likely: int,
) -> int:  # fmt: skip
    """The signal that the document reads best as: `likely` if it fits, else the one that fits with the fewest
    fields of the wrong type, or gets furthest.
    """
    best, best_score = likely, np.int64(-1)
    for turn in range(_SIGNAL_COUNT):
        signal = (likely + turn) % _SIGNAL_COUNT
        after, fault, position = _walk_document(plan, events, stack, rows, buffer, start, end, document, at, signal)
        whole = _WHOLE * (1 + _has_evidence(plan, events, at, after, signal))
        if fault == _TRUNCATED and stack[0].element == 0:
            position = end
        score = position - start if fault else whole - stack[0].element
        take_back(plan, events, rows, at, after)
        if score > best_score:
            best, best_score = signal, score
        if score == 2 * _WHOLE:
            break
    return best


@outlined
def _has_evidence(plan: Plan, events: np.ndarray, start: int, end: int, signal: int) -> bool:
    """Whether each span has its ids and start, each metric its name; a log record needs nothing."""
    needed = 0
    for code in range(plan.fields.size):
        needed += plan.fields[code].evidence == signal
    missing = 0
    for entry in range(start, min(end, events.size)):
        code = events[entry].code
        missing += needed * (plan.fields[code].role == 2) - (plan.fields[code].evidence == signal)
    return missing <= 0


@outlined
def _walk_document(
    plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, buffer: np.ndarray,
    start: int, end: int, document: int, at: int, signal: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Writes one document; gives the next place, the fault (0 for none) and its byte."""
    stack[0].state, stack[0].row, stack[0].record, stack[0].code = signal, document, at, DOCUMENT
    stack[0].end, stack[0].is_cut, stack[0].nest, stack[0].element = end, 0, 0, 0
    rows[0] = document + 1
    at = emit(events, at, np.int64(DOCUMENT), document, start, _NOTHING)
    depth, position, fault = np.int64(0), start, 0
    while fault == 0:
        while position == stack[index(depth)].end and not stack[index(depth)].is_cut:
            close_record(events, stack[index(depth)].record, at)
            depth -= 1
            if depth < 0:
                rows[-1] = max(rows[-1], at)
                return at, 0, position
        at, depth, position, fault = _walk_field(plan, events, stack, rows, buffer, at, depth, position)
    rows[-1] = max(rows[-1], at)
    before, at = at, cut_unfinished(plan, events, stack, rows, depth, at)
    if fault == _TRUNCATED:
        position = first_lost(events, at, before, position)
    return at, fault, position


@outlined
def _unit_count(plan: Plan, events: np.ndarray, start: int, end: int) -> int:
    """Number of spans, metrics and log records between two events."""
    count = 0
    for entry in range(start, min(end, events.size)):
        count += plan.fields[events[entry].code].role == 2
    return count


@inlined
def _walk_field(
    plan: Plan,
    events: np.ndarray,
    stack: np.ndarray,
    rows: np.ndarray,
    buffer: np.ndarray,
    at: int,
    depth: int,
    start: int,
) -> tuple[int, int, int, int]:
    """Reads the field at a byte; gives place, depth, next byte and fault (at the field's first byte)."""
    around = stack[index(depth)]
    end = around.end
    key, position = _varint(buffer, start, end)
    is_key = position - start <= _KEY_BYTES and key <= _LARGEST_KEY
    number, wire_type = key >> np.uint64(3), np.int64(key & np.uint64(7))
    code = np.int64(UNKNOWN)
    if position > 0 and number < np.uint64(plan.code_of.shape[1]):
        code = np.int64(plan.code_of[around.state, np.int64(number)])
    field = plan.fields[index(code)]
    if wire_type == _GROUP:
        value, size, position = 0, 0, _group_end(stack, buffer, position, end, np.int64(number), depth)
    else:
        value, size, position = _wire_value(buffer, position, end, wire_type)
    is_cut = position == -1 and end == stack[0].end
    if number == 0 or not is_key or (position < 0 and not (is_cut and field.child >= 0 and value > 0)):
        return at, depth, start, _TRUNCATED if is_cut else _MALFORMED
    if code == UNKNOWN:
        return at, depth, position, 0
    if wire_type != field.wire_type:
        return _walk_mistyped(plan, events, stack, buffer, at, depth, start, code, value, size, position, wire_type)
    if field.child < 0:
        at = emit(events, at, code, around.row, _typed(field.kind, value), size)
        return at, depth, position, 0
    if around.nest + field.nest > MAX_NEST:
        at = emit_fault(events, at, around.row, start, _NESTED_TOO_DEEP, code)
        return at, depth, end if is_cut else position, _TRUNCATED if is_cut else 0
    at = open_message(plan, events, stack, rows, depth, at, code, value)
    inside = stack[index(depth + 1)]
    inside.end, inside.is_cut = end if is_cut else position, is_cut
    return at, depth + 1, value, 0


@inlined
def _walk_mistyped(
    plan: Plan, events: np.ndarray, stack: np.ndarray, buffer: np.ndarray, at: int, depth: int, start: int,
    code: int, value: int, size: int, position: int, wire_type: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """A field whose wire type is not the usual one: numbers packed into one slice, or something to skip."""
    if wire_type != 2 or not plan.fields[code].repeated or plan.fields[code].wire_type == 2:
        stack[0].element += 1
        return at, depth, position, 0
    at, fault = _unpack(plan, events, buffer, at, code, stack[depth].row, value, value + size)
    return at, depth, position if fault == 0 else start, fault


@outlined
def _group_end(stack: np.ndarray, buffer: np.ndarray, position: int, end: int, number: int, depth: int) -> int:
    """The byte behind a group of field `number`, which OTLP never uses; -1 if it is cut off, -2 if it is none.

    The numbers of the groups that are open stand in the stack's free places.
    """
    open_count = 1
    stack[depth + 1].code = number
    while open_count > 0:
        key, behind = _varint(buffer, position, end)
        if behind < 0 or behind - position > _KEY_BYTES or key > _LARGEST_KEY or key < np.uint64(8):
            return min(behind, -1) if behind < 0 else -2
        number, wire_type, position = np.int64(key >> np.uint64(3)), np.int64(key & np.uint64(7)), behind
        if wire_type == _GROUP:
            open_count += 1
            if open_count > _MAX_GROUPS or depth + open_count >= stack.size:
                return -2
            stack[depth + open_count].code = number
        elif wire_type == _GROUP_END:
            if stack[depth + open_count].code != number:
                return -2
            open_count -= 1
        else:
            _, _, position = _wire_value(buffer, position, end, wire_type)
            if position < 0:
                return position
    return position


@inlined
def _varint(buffer: np.ndarray, position: int, end: int) -> tuple[int, int]:
    """A variable-length integer and the byte behind it; -1 if the bytes end first, -2 if it is too long."""
    value = np.uint64(0)
    shift = np.uint64(0)
    while position < end:
        byte = np.uint64(load8(buffer, position))
        position += 1
        value |= (byte & np.uint64(0x7F)) << shift
        if byte < np.uint64(0x80):
            return value, position
        shift += np.uint64(7)
        if shift > np.uint64(63):
            return value, -2
    return value, -1


@inlined
def _wire_value(buffer: np.ndarray, position: int, end: int, wire_type: int) -> tuple[int, int, int]:
    """The value (a number, or the first byte of a slice), the slice's size, and the byte behind; -1, -2 as
    above.

    A slice that is cut off has its first byte with -1, all else that is cut off has 0.
    """
    if position < 0:
        return 0, 0, position
    if wire_type == 2:
        length, position = _varint(buffer, position, end)
        if position < 0 or length > np.uint64(end - position):
            return max(position, 0), 0, min(position, -1)
        return position, np.int64(length), position + np.int64(length)
    if wire_type == 0:
        value, position = _varint(buffer, position, end)
        return np.int64(value), 0, position
    if wire_type == 1:
        return np.int64(load64(buffer, position)), 0, position + 8 if end - position >= 8 else -1
    if wire_type == 5:
        return np.int64(load32(buffer, position)), 0, position + 4 if end - position >= 4 else -1
    return 0, 0, -2


@inlined
def _typed(kind: int, value: int) -> int:
    """The number that the field's type makes of 64 bits, as protobuf defines it."""
    if kind == BOOL:
        return np.int64(value != 0)
    if kind == UINT32:
        return value & 0xFFFFFFFF
    if kind in (INT32, ENUM):
        return np.int64(np.int32(value & 0xFFFFFFFF))
    if kind == SINT32:
        bits = value & 0xFFFFFFFF
        return (bits >> 1) ^ -(bits & 1)
    return value


@outlined
def _unpack(
    plan: Plan, events: np.ndarray, buffer: np.ndarray, at: int, code: int, row: int, position: int, end: int
) -> tuple[int, int]:
    """Writes an entry for each number of a packed field; gives the next place and the fault."""
    while position < end:
        value, _, position = _wire_value(buffer, position, end, np.int64(plan.fields[code].wire_type))
        if position < 0:
            return at, _MALFORMED
        at = emit(events, at, code, row, _typed(plan.fields[code].kind, value), _NOTHING)
    return at, 0
