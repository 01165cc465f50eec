"""Doubles between text and number, those of all events at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tracekit.kernels import outlined
from tracekit.kernels.unaligned import SPARE
from tracekit.otlp.tables.columns import strings
from tracekit.otlp.tables.json_text import put_integer
from tracekit.otlp.wire.events import entries_of
from tracekit.otlp.wire.fields import DOUBLE, FAULT, PLAN
from tracekit.records import Reason

_MINUS, _POINT, _DIGIT_ZERO, _CAPITAL_I = 45, 46, 48, 73
_IS_DOUBLE = PLAN.fields["kind"] == DOUBLE
_IS_FAULT = np.arange(len(PLAN.fields)) == FAULT
_IS_VALUE_DOUBLE = (PLAN.fields["member"] > 0) & _IS_DOUBLE
_SLOT_BYTES = 24  # of a short text: sign, nine digits, point, four decimals, and room for writing an integer
_MOST_DECIMALS = 4
_SHORT_LIMIT = 1e9


def faults_and_doubles(events: np.ndarray, entry_count: int) -> tuple[np.ndarray, np.ndarray]:
    """Events of the faults inside records, and of the doubles that are attribute values."""
    entries = entries_of(events, entry_count, _IS_FAULT | _IS_VALUE_DOUBLE)
    is_fault = _IS_FAULT[events["code"][entries]]
    return entries[is_fault], entries[~is_fault]


def number_texts(events: np.ndarray, entries: np.ndarray) -> np.ndarray:
    """Turns the doubles at events into slices of the array that is given back.

    The texts are the shortest that read back as the same double; `nan`, `inf` and `-inf` stand for what is
    not finite.
    """
    values = events["value"][entries].view(np.float64)
    slots = np.zeros(len(entries) * _SLOT_BYTES + SPARE, np.uint8)
    sizes = np.zeros(len(entries), np.int32)
    _put_short(values, slots, sizes)
    starts = np.arange(len(entries)) * _SLOT_BYTES
    rest = np.flatnonzero(sizes == 0)
    if len(rest):
        _, offsets, data = pa.array(values[rest]).cast(pa.large_string()).buffers()
        ends = np.frombuffer(offsets, np.int64, len(rest) + 1)
        # Behind the slots, as long as they are: the longest text is whatever Arrow writes.
        starts[rest], sizes[rest] = len(slots) + ends[:-1], np.diff(ends)
        slots = np.concatenate([slots, np.frombuffer(data, np.uint8, ends[-1]), np.zeros(SPARE, np.uint8)])
    events["value"][entries] = starts
    events["aux"][entries] = sizes
    return slots


@outlined
def _put_short(values: np.ndarray, texts: np.ndarray, sizes: np.ndarray) -> None:
    """Writes the doubles that a few decimals say exactly, as most that people set, and their sizes.

    The fewest decimals that read back as the double are its shortest text: below 15 digits there is only one.
    """
    for row in range(values.size):
        value = abs(values[row])
        if not 0.0 < value < _SHORT_LIMIT:
            continue
        scale = 1.0
        for decimals in range(_MOST_DECIMALS + 1):
            digits = np.int64(value * scale + 0.5)
            if digits / scale == value:
                sizes[row] = _put_decimal(texts, row * _SLOT_BYTES, digits, decimals, values[row] < 0.0)
                break
            scale *= 10.0


@outlined
def _put_decimal(texts: np.ndarray, start: int, digits: int, decimals: int, is_negative: bool) -> int:
    """Writes `digits / 10 ** decimals` with at least one decimal and gives the size of the text."""
    at = start
    if is_negative:
        texts[at] = _MINUS
        at += 1
    unit = 10 ** np.int64(decimals)
    at = put_integer(texts, at, digits // unit)
    texts[at] = _POINT
    rest = digits % unit
    for place in range(max(decimals, 1)):
        unit //= 10
        texts[at + 1 + place] = _DIGIT_ZERO if unit == 0 else _DIGIT_ZERO + rest // unit
        rest = rest % unit if unit else rest
    return at + 1 + max(decimals, 1) - start


def json_doubles(events: np.ndarray, entry_count: int, buffer: np.ndarray) -> None:
    """Turns the doubles of JSON's events from text into numbers.

    One beyond the range of doubles becomes a fault.
    """
    entries = entries_of(events, entry_count, _IS_DOUBLE)
    if len(entries) == 0:
        return
    starts = events["value"][entries]
    texts, _ = strings(buffer, starts, events["aux"][entries])
    values = texts.cast(pa.float64()).to_numpy()
    is_outside = np.isinf(values) & (buffer[starts + (buffer[starts] == _MINUS)] != _CAPITAL_I)
    events["value"][entries] = np.where(is_outside, starts, values.view(np.int64))
    outside = int(Reason.NUMBER_OUT_OF_RANGE) << 16 | events["code"][entries].astype(np.int32)
    events["aux"][entries] = np.where(is_outside, outside, 0)
    events["code"][entries[is_outside]] = FAULT
