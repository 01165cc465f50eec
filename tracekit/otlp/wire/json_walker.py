"""OTLP/JSON documents to events.

A walker goes through the text once, without recursion. Unknown keys are skipped. A known key in another
case, a value of the wrong type, an id that is not hexadecimal: such a fault is noted for the record around
it and the walk goes on.
"""

from __future__ import annotations

import numpy as np

from tracekit.kernels import index, inlined, outlined
from tracekit.kernels.unaligned import SPARE, load32, same_bytes
from tracekit.otlp.wire.events import (
    MAX_NEST,
    close_record,
    cut_unfinished,
    emit,
    emit_fault,
    first_lost,
    open_message,
)
from tracekit.otlp.wire.fields import DOCUMENT, JSON_ROOT, UNKNOWN, Plan
from tracekit.otlp.wire.json_scalars import put_scalar, read_string
from tracekit.otlp.wire.json_tokens import (
    CLOSE_ARRAY,
    CLOSE_OBJECT,
    COLON,
    COMMA,
    MALFORMED,
    OPEN_ARRAY,
    OPEN_OBJECT,
    QUOTE,
    TRUNCATED,
    skip_blank,
    value_end,
)  # fmt: skip
from tracekit.records import Reason

_KEY_CASE = int(Reason.KEY_NOT_LOWER_CAMEL_CASE)
_WRONG_TYPE = int(Reason.WRONG_TYPE)
_WRONG_SIGNAL = int(Reason.WRONG_SIGNAL)
_NO_KNOWN_SIGNAL = int(Reason.NO_KNOWN_SIGNAL)
_NESTED_TOO_DEEP = int(Reason.NESTED_TOO_DEEP)
_BYTE_ORDER_MARK = 0xBFBBEF
_FIRST, _NEXT, _NEEDED = 0, 1, 2


@outlined
def walk_json(
    plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, buffer: np.ndarray, bounds: np.ndarray,
    signals: np.ndarray, faults: np.ndarray, positions: np.ndarray,
) -> int:  # fmt: skip
    """Walks documents `bounds[i]:bounds[i + 1]`; gives the number of events.

    `signals[i]` is the only signal that the document may hold, or -1. `faults[i]` becomes the reason why it
    could not be read to its end (0 if it could), `positions[i]` the byte. Behind the documents the buffer
    must have spare room of the same size.
    """
    at = np.int64(0)
    spare = bounds[-1] + SPARE
    for document in range(bounds.size - 1):
        start, end = bounds[document], bounds[document + 1]
        at, fault, position, spare = _walk_document(
            plan, events, stack, rows, buffer, start, end, document, at, signals[document], spare
        )
        faults[document] = fault
        positions[document] = position
    rows[-1] = at
    return at


@outlined
def _walk_document(
    plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, buffer: np.ndarray,
    start: int, end: int, document: int, at: int, signal: int, spare: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Writes one document; gives the next place, the fault (0 for none), its byte and the next spare byte."""
    stack[0].state, stack[0].row, stack[0].record, stack[0].code = JSON_ROOT, document, at, DOCUMENT
    stack[0].nest, stack[0].element, stack[0].known = 0, 0, False
    rows[0] = document + 1
    at = emit(events, at, np.int64(DOCUMENT), document, start, np.int64(0))
    if end - start >= 3 and load32(buffer, start) & 0xFFFFFF == _BYTE_ORDER_MARK:
        start += 3
    position = skip_blank(buffer, start, end)
    if position == end or buffer[index(position)] != OPEN_OBJECT:
        close_record(events, stack[0].record, at)
        return at, -TRUNCATED if position == end else -MALFORMED, position, spare
    after = _first_key(buffer, position, end)
    at, depth, position, place, spare = _walk_values(
        plan, events, stack, rows, buffer, end, at, signal, spare, position + 1
    )
    if position < 0:
        cut = cut_unfinished(plan, events, stack, rows, depth, at)
        return cut, -position, first_lost(events, cut, at, place) if position == TRUNCATED else place, spare
    if skip_blank(buffer, place, end) != end:
        return at, -MALFORMED, place, spare
    is_unknown = not stack[0].known and buffer[index(after)] == QUOTE
    return at, _NO_KNOWN_SIGNAL if is_unknown else 0, place if not is_unknown else after, spare


@inlined
def _first_key(buffer: np.ndarray, position: int, end: int) -> int:
    """The byte behind the brace and blanks that open an object."""
    return min(skip_blank(buffer, position + 1, end), end - 1)


@outlined
def _walk_values(
    plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, buffer: np.ndarray,
    end: int, at: int, signal: int, spare: int, position: int,
) -> tuple[int, int, int, int, int]:  # fmt: skip
    """From behind the first brace to behind the last; gives place, depth, next byte (or negative fault),
    its byte, spare.
    """
    depth, expected = np.int64(0), _FIRST
    while True:
        position = skip_blank(buffer, position, end)
        place = position
        if position == end:
            return at, depth, TRUNCATED, place, spare
        byte = buffer[index(position)]
        if expected != _NEEDED and byte == (CLOSE_ARRAY if stack[index(depth)].element else CLOSE_OBJECT):
            position, expected = position + 1, _NEXT
            if stack[index(depth)].element == 0:
                close_record(events, stack[index(depth)].record, at)
            depth -= 1
            if depth < 0:
                return at, depth, position, position, spare
        elif expected == _NEXT:
            if byte != COMMA:
                return at, depth, MALFORMED, place, spare
            position, expected = position + 1, _NEEDED
        else:
            before = depth
            at, depth, position, spare = _walk_member(
                plan, events, stack, rows, buffer, end, at, signal, spare, depth, position
            )
            if position < 0:
                return at, depth, position, place, spare
            expected = _FIRST if depth > before else _NEXT


@inlined
def _walk_member(
    plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, buffer: np.ndarray,
    end: int, at: int, signal: int, spare: int, depth: int, position: int,
) -> tuple[int, int, int, int]:  # fmt: skip
    """Reads a key and value, or an array's element; gives place, depth, next byte and spare byte."""
    around = stack[index(depth)]
    code, start = around.element, position
    if code == 0:
        code, position, problem, spare = _read_key(plan, stack, buffer, end, signal, spare, depth, position)
        if position < 0:
            return at, depth, position, spare
        if problem:
            at = emit_fault(events, at, around.row, start, problem, code)
            return at, depth, value_end(buffer, position, end), spare
    byte, field = buffer[index(position)], plan.fields[index(code)]
    if code == UNKNOWN or (byte == 110 and around.element == 0):
        return at, depth, value_end(buffer, position, end), spare
    if field.repeated and around.element == 0:
        if byte == OPEN_ARRAY:
            _push_array(stack, depth, code)
            return at, depth + 1, position + 1, spare
    elif field.child < 0:
        at, position, spare = put_scalar(plan, events, buffer, at, code, around.row, position, end, spare)
        return at, depth, position, spare
    elif byte == OPEN_OBJECT and around.nest + field.nest <= MAX_NEST:
        return (
            open_message(plan, events, stack, rows, depth, at, code, position),
            depth + 1,
            position + 1,
            spare,
        )
    problem = _NESTED_TOO_DEEP if byte == OPEN_OBJECT and not field.repeated else _WRONG_TYPE
    at = emit_fault(events, at, around.row, start, problem, code)
    return at, depth, value_end(buffer, position, end), spare


@inlined
def _push_array(stack: np.ndarray, depth: int, code: int) -> None:
    """Opens an array of field `code`: its elements belong to the message around, which stays what is cut or
    closed.
    """
    stack[depth + 1].state, stack[depth + 1].row = stack[depth].state, stack[depth].row
    stack[depth + 1].record, stack[depth + 1].code = stack[depth].record, stack[depth].code
    stack[depth + 1].nest, stack[depth + 1].element = stack[depth].nest, code


@inlined
def _read_key(
    plan: Plan,
    stack: np.ndarray,
    buffer: np.ndarray,
    end: int,
    signal: int,
    spare: int,
    depth: int,
    position: int,
) -> tuple[int, int, int, int]:
    """Reads a key and its colon; gives its code, the first byte of the value, the problem with the key and
    spare.
    """
    if buffer[index(position)] != QUOTE:
        return UNKNOWN, MALFORMED, 0, spare
    start, size, position, _ = read_string(buffer, position, end, spare)
    if position < 0:
        return UNKNOWN, position, 0, spare
    position = skip_blank(buffer, position, end)
    if position == end or buffer[index(position)] != COLON:
        return UNKNOWN, TRUNCATED if position == end else MALFORMED, 0, spare
    position = skip_blank(buffer, position + 1, end)
    if position == end:
        return UNKNOWN, TRUNCATED, 0, spare
    code, problem = _field(plan, stack[index(depth)].state, buffer, start, size)
    if depth == 0 and code != UNKNOWN:
        stack[0].known = True
        if problem == 0 and signal >= 0 and plan.fields[index(code)].signal != signal:
            problem = _WRONG_SIGNAL
    return code, position, problem, spare


@outlined
def _field(plan: Plan, state: int, buffer: np.ndarray, start: int, size: int) -> tuple[int, int]:
    """The field that a key names in a message, and the problem if it does so in another case than
    lowerCamelCase.
    """
    for number in range(plan.first_name[state], plan.first_name[state + 1]):
        name = plan.names[number]
        if name.size == size and same_bytes(buffer, start, plan.name_bytes, np.int64(name.start), size):
            return np.int64(name.code), 0
    for number in range(plan.first_name[state], plan.first_name[state + 1]):
        if _is_same_word(plan, number, buffer, start, size):
            return np.int64(plan.names[number].code), _KEY_CASE
    return UNKNOWN, 0


@inlined
def _is_same_word(plan: Plan, number: int, buffer: np.ndarray, start: int, size: int) -> bool:
    """Whether a key differs from a name only by underscores and the case of letters."""
    place, end = plan.names[number].start, plan.names[number].start + plan.names[number].size
    for position in range(start, start + size):
        byte = buffer[position]
        if byte == 95:
            continue
        if place == end or byte | 0x20 != plan.name_bytes[place] | 0x20:
            return False
        place += 1
    return place == end
