"""Integers of OTLP/JSON, exactly: numbers or strings, within the range of their field."""

from __future__ import annotations

import numpy as np

from tracekit.kernels import inlined, outlined
from tracekit.otlp.wire.fields import ENUM, FIXED32, FIXED64, INT32, SINT32, UINT32, UINT64
from tracekit.otlp.wire.json_tokens import number_end
from tracekit.records import Reason

_WRONG_TYPE = int(Reason.WRONG_TYPE)
_OUT_OF_RANGE = int(Reason.NUMBER_OUT_OF_RANGE)
_TENTH = np.uint64(0xFFFFFFFFFFFFFFFF // 10)
_TEN = np.uint64(10)
_SIGN = np.uint64(1 << 63)


@outlined
def integer(buffer: np.ndarray, start: int, size: int, kind: int) -> tuple[int, int]:
    """The 64 bits of the integer that text writes for a field of a kind, and the reason why there are none
    (or 0).

    A fraction of zeros or an exponent is fine as long as the number is whole: `1.5e3` is 1500.
    """
    if size == 0 or number_end(buffer, start, start + size) != start + size:
        return 0, _WRONG_TYPE
    is_negative = buffer[start] == 45
    magnitude, problem = _magnitude(buffer, start + is_negative, start + size)
    if problem:
        return 0, problem
    if kind in (UINT64, FIXED64, UINT32, FIXED32):
        highest = np.uint64(0xFFFFFFFF) if kind in (UINT32, FIXED32) else np.uint64(0xFFFFFFFFFFFFFFFF)
        is_outside = magnitude > highest or (is_negative and magnitude > np.uint64(0))
    else:
        limit = np.uint64(1 << 31) if kind in (INT32, ENUM, SINT32) else _SIGN
        is_outside = magnitude > limit or (magnitude == limit and not is_negative)
    value = np.int64(magnitude)
    return -value if is_negative else value, _OUT_OF_RANGE if is_outside else 0


@inlined
def _magnitude(buffer: np.ndarray, position: int, end: int) -> tuple[int, int]:
    """The whole number without its sign that a JSON number writes, and the reason why it is none (or 0)."""
    value, zeros, decimals, in_fraction = np.uint64(0), 0, 0, False
    while position < end and buffer[position] not in (101, 69):
        byte = buffer[position]
        position += 1
        if byte == 46:
            in_fraction = True
            continue
        zeros += 1
        decimals += in_fraction
        if byte == 48 and in_fraction:
            continue
        value, is_outside = _times_ten(value, zeros, np.uint64(byte - 48))
        if is_outside:
            return value, _OUT_OF_RANGE
        zeros = 0
    exponent = _exponent(buffer, position + 1, end) - decimals + zeros
    if value == np.uint64(0):
        return value, 0
    if exponent >= 0:
        value, is_outside = _times_ten(value, exponent, np.uint64(0))
        return value, _OUT_OF_RANGE if is_outside else 0
    while exponent < 0 and value % _TEN == np.uint64(0):
        value //= _TEN
        exponent += 1
    return value, 0 if exponent == 0 else _WRONG_TYPE


@inlined
def _times_ten(value: int, times: int, digit: int) -> tuple[int, bool]:
    """`value * 10 ** times + digit`, and whether 64 bits do not hold it."""
    while times > 0 and value != np.uint64(0):
        if value > _TENTH:
            return value, True
        value *= _TEN
        times -= 1
    return value + digit, value + digit < value


@inlined
def _exponent(buffer: np.ndarray, position: int, end: int) -> int:
    """The exponent behind the `e`, 0 if there is none; beyond some thousands the exact number does not
    matter.
    """
    if position >= end:
        return 0
    is_negative = buffer[position] == 45
    position += buffer[position] in (43, 45)
    value = 0
    while position < end and value < 10000:
        value = 10 * value + np.int64(buffer[position]) - 48
        position += 1
    return -value if is_negative else value
