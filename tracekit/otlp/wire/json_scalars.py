"""Scalar values of OTLP/JSON to events, each kind by the rules of the OTLP/JSON mapping."""

from __future__ import annotations

import numpy as np

from tracekit.kernels import inlined, outlined
from tracekit.kernels.unaligned import load64
from tracekit.otlp.wire.events import emit, emit_fault
from tracekit.otlp.wire.fields import BOOL, BYTES, DOUBLE, ENUM, HEX_ID, STRING, Plan
from tracekit.otlp.wire.json_numbers import integer
from tracekit.otlp.wire.json_tokens import (
    OPEN_ARRAY,
    OPEN_OBJECT,
    QUOTE,
    base64_bytes,
    hex_bytes,
    number_end,
    string_end,
    unescape,
    value_end,
)  # fmt: skip
from tracekit.records import Reason

_WRONG_TYPE = int(Reason.WRONG_TYPE)
_ENUM_NAME = int(Reason.ENUM_NAME)
_ID_NOT_HEX = int(Reason.ID_NOT_HEX)
_BYTES_NOT_BASE64 = int(Reason.BYTES_NOT_BASE64)
_NAN = int.from_bytes(b'NaN"', "little")
_INFINITY = int.from_bytes(b"Infinity", "little")


@outlined
def put_scalar(
    plan: Plan,
    events: np.ndarray,
    buffer: np.ndarray,
    at: int,
    code: int,
    row: int,
    position: int,
    end: int,
    spare: int,
) -> tuple[int, int, int]:
    """Reads the value at a byte and writes its entry, or a fault; gives place, next byte and next
    spare byte.

    Text that is not in the document as it is (unescaped, from hex, from base64) goes to the buffer at
    `spare`. A double stays text for `json_doubles`, which turns all of them into numbers at once.
    """
    kind = plan.fields[code].kind
    if buffer[position] == QUOTE:
        start, size, after, spare = read_string(buffer, position, end, spare)
        if after < 0:
            return at, after, spare
        value, aux, problem, spare = _from_text(buffer, start, size, kind, spare)
    else:
        after = value_end(buffer, position, end)
        if after < 0:
            return at, after, spare
        value, aux, problem = _from_token(buffer, position, after - position, kind)
    if problem and plan.fields[code].optional_id:
        # One byte is no id either, and is told as what it is: the record does not hang on it.
        value, aux, problem = position, 1, 0
    if problem:
        return emit_fault(events, at, row, position, problem, code), after, spare
    return emit(events, at, code, row, value, aux), after, spare


@inlined
def read_string(buffer: np.ndarray, position: int, end: int, spare: int) -> tuple[int, int, int, int]:
    """First byte and size of the text of the string at a byte, the byte behind the string and the next
    spare byte.
    """
    start = np.int64(position + 1)
    close, has_escapes = string_end(buffer, start, end)
    if close < 0:
        return start, 0, close, spare
    if not has_escapes:
        return start, close - start, close + 1, spare
    behind = unescape(buffer, start, close, spare)
    if behind < 0:
        return start, 0, behind, spare
    return spare, behind - spare, close + 1, behind


@inlined
def _from_text(buffer: np.ndarray, start: int, size: int, kind: int, spare: int) -> tuple[int, int, int, int]:
    """Value, size, problem and next spare byte of a JSON string."""
    if kind == STRING:
        return start, size, 0, spare
    if kind == HEX_ID:
        count = hex_bytes(buffer, start, size, spare)
        return spare, count, 0 if count >= 0 else _ID_NOT_HEX, spare + max(count, 0)
    if kind == BYTES:
        count = base64_bytes(buffer, start, size, spare)
        return spare, count, 0 if count >= 0 else _BYTES_NOT_BASE64, spare + max(count, 0)
    if kind == DOUBLE:
        is_number = _is_not_finite(buffer, start, size)
        is_number |= size > 0 and number_end(buffer, start, start + size) == start + size
        return start, size, 0 if is_number else _WRONG_TYPE, spare
    if kind == BOOL:
        return 0, 0, _WRONG_TYPE, spare
    value, problem = integer(buffer, start, size, kind)
    if kind == ENUM and problem == _WRONG_TYPE:
        problem = _ENUM_NAME
    return value, 0, problem, spare


@inlined
def _is_not_finite(buffer: np.ndarray, start: int, size: int) -> bool:
    word = load64(buffer, start)
    if size == 3:
        return word & np.uint64(0xFFFFFF) == np.uint64(_NAN & 0xFFFFFF)
    if size == 9 and buffer[start] == 45:
        word = load64(buffer, start + 1)
        size = 8
    return size == 8 and word == np.uint64(_INFINITY)


@inlined
def _from_token(buffer: np.ndarray, start: int, size: int, kind: int) -> tuple[int, int, int]:
    """Value, size and problem of a JSON number, literal, array or object."""
    byte = buffer[start]
    if byte in (OPEN_ARRAY, OPEN_OBJECT) or kind in (STRING, HEX_ID, BYTES):
        return start, 0, _WRONG_TYPE
    if byte in (116, 102):
        return np.int64(byte == 116), 0, 0 if kind == BOOL else _WRONG_TYPE
    if kind == DOUBLE and byte != 110:
        return start, size, 0
    if kind in (BOOL, DOUBLE):
        return start, 0, _WRONG_TYPE
    value, problem = integer(buffer, start, size, kind)
    return value, 0, problem
