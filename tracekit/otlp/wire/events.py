"""Events: every field of a document in the order of its bytes, whatever the encoding.

Event `i` says that field `code[i]` belongs to row `parent[i]` of the record around it (rows count per
record type from 0). A number is `value[i]` (doubles as their bits); a string or bytes field is `aux[i]`
bytes at `value[i]` of the buffer; a record starts at byte `value[i]` and its own events end before event
`aux[i]`.

An array that is too short is written no further but counted on: the caller then walks again with one that is
long enough.
"""

from __future__ import annotations

import numpy as np

from tracekit.kernels import allocating, index, inlined, outlined
from tracekit.otlp.wire.fields import FAULT, RECORD, Plan

MAX_DEPTH = 512
"""Open messages, more than 64 nested attribute values can need."""
MAX_NEST = 64
"""Attribute values inside attribute values."""


EVENT = np.dtype([("value", np.int64), ("parent", np.int32), ("aux", np.int32), ("code", np.int16)], align=True)
"""One event; see the module's text."""

OPEN_MESSAGE = np.dtype([
    ("state", np.int64),
    ("row", np.int64),     # of the record that the fields belong to
    ("record", np.int64),  # event of the record, -1 for an inline message
    ("code", np.int64),
    ("end", np.int64),     # protobuf: byte behind the message
    ("is_cut", np.bool_),  # protobuf: the document ends before the message does
    ("element", np.int64), # JSON: field that an array's elements are of, 0 for an object
    ("known", np.bool_),   # JSON: a field that OTLP knows was seen in the object
    ("nest", np.int64),    # attribute values around this one
], align=True)  # fmt: skip
"""A message that a walker has open; a stack holds the outermost first."""


def new_events(entry_count: int) -> np.ndarray:
    """Room for so many events."""
    return np.empty(entry_count, EVENT)


def new_stack() -> np.ndarray:
    """An empty stack for one walker."""
    return np.zeros(MAX_DEPTH, OPEN_MESSAGE)


@inlined
def emit(events: np.ndarray, at: int, code: int, parent: int, value: int, aux: int) -> int:
    """Writes one entry and gives the next place."""
    if at < events.size:
        entry = events[index(at)]
        entry.code, entry.parent, entry.value, entry.aux = code, parent, value, aux
    return at + 1


@inlined
def emit_fault(events: np.ndarray, at: int, parent: int, position: int, reason: int, code: int) -> int:
    """Notes that the record around has a fault in field `code` at a byte of the buffer."""
    return emit(events, at, np.int64(FAULT), parent, position, (reason << 16) | code)


@inlined
def open_message(
    plan: Plan,
    events: np.ndarray,
    stack: np.ndarray,
    rows: np.ndarray,
    depth: int,
    at: int,
    code: int,
    start: int,
) -> int:
    """Writes the entry of a message and puts the message on the stack above `depth`; gives the next place."""
    field, around, inside = plan.fields[index(code)], stack[index(depth)], stack[index(depth + 1)]
    is_record = field.kind == RECORD
    row = around.row
    if is_record:
        row = rows[index(field.record)]
        rows[index(field.record)] += 1
    inside.state, inside.row, inside.code, inside.element = field.child, row, code, 0
    inside.record = at if is_record else -1
    inside.nest = around.nest + field.nest
    if field.marked:
        at = emit(events, at, code, around.row, start, np.int64(0))
    return at


@inlined
def close_record(events: np.ndarray, record: int, at: int) -> None:
    """Notes where the entries of a record end; nothing for an inline message."""
    if 0 <= record < events.size:
        events[index(record)].aux = at


@outlined
def cut_unfinished(plan: Plan, events: np.ndarray, stack: np.ndarray, rows: np.ndarray, depth: int, at: int) -> int:
    """Takes back what a fault left unfinished, closes the open containers, and gives the next place.

    What stays is certain: whole spans, metrics and log records, under a resource and scope that were read
    whole.
    """
    if at > events.size:
        return at
    cut = _first_uncertain(plan, events, stack, depth, at)
    take_back(plan, events, rows, cut, at)
    for level in range(depth + 1):
        if stack[level].record < cut:
            close_record(events, stack[level].record, cut)
    return cut


@inlined
def first_lost(events: np.ndarray, cut: int, at: int, position: int) -> int:
    """The first byte of what was taken back, or `position` if nothing was."""
    return events[cut].value if cut < min(at, events.size) else position


@outlined
def take_back(plan: Plan, events: np.ndarray, rows: np.ndarray, start: int, end: int) -> None:
    """Takes the records between two events, but no document, back out of the row counts."""
    for entry in range(start, min(end, events.size)):
        if plan.fields[events[entry].code].record > 0:
            rows[plan.fields[events[entry].code].record] -= 1


@outlined
def _first_uncertain(plan: Plan, events: np.ndarray, stack: np.ndarray, depth: int, at: int) -> int:
    around = at
    for level in range(depth + 1):
        record = stack[level].record
        if record < 0:
            return around
        if plan.fields[stack[level].code].role != 1 or not _has_header(plan, events, record, stack[level].code, at):
            return record
        around = record
    return at


@outlined
def _has_header(plan: Plan, events: np.ndarray, record: int, code: int, at: int) -> bool:
    """Whether an open container has told its resource or scope, if it can have one."""
    entry = record + 1
    while plan.fields[code].header_code != 0 and entry < at:
        if events[entry].code == plan.fields[code].header_code:
            return True
        is_record = plan.fields[events[entry].code].record >= 0
        if is_record and events[entry].aux <= entry:
            break
        entry = events[entry].aux if is_record else entry + 1
    return plan.fields[code].header_code == 0


@allocating
def entries_of(events: np.ndarray, entry_count: int, is_wanted: np.ndarray) -> np.ndarray:
    """Events whose code is wanted (`is_wanted[code]`), in order."""
    found = np.empty(entry_count, np.int64)  # only what is written takes up memory
    count = 0
    for entry in range(entry_count):
        if is_wanted[index(events[index(entry)].code)]:
            found[index(count)] = entry
            count += 1
    return found[:count].copy()
