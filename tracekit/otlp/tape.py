"""The tape: every field of a document in the order of its bytes, whatever the encoding.

Entry `i` says that field `code[i]` belongs to row `parent[i]` of the record around it (rows count per
record type from 0). A number is `value[i]` (doubles as their bits); a string or bytes field is `aux[i]`
bytes at `value[i]` of the buffer; a record starts at byte `value[i]` and its own entries end before entry
`aux[i]`.

A tape that is too short is written no further but counted on: the caller then walks again with one that is
long enough.
"""

from __future__ import annotations

import numpy as np

from tracekit.otlp.fields import FAULT, RECORD, Plan
from tracekit.otlp.native import index, kernel, outlined

MAX_DEPTH = 512
"""Open messages, more than 64 nested attribute values can need."""
MAX_NEST = 64
"""Attribute values inside attribute values."""


ENTRY = np.dtype([("value", np.int64), ("parent", np.int32), ("aux", np.int32), ("code", np.int16)], align=True)
"""One entry of a tape; see the module's text."""

OPEN_MESSAGE = np.dtype([
    ("state", np.int64),
    ("row", np.int64),     # of the record that the fields belong to
    ("record", np.int64),  # tape entry of the record, -1 for an inline message
    ("code", np.int64),
    ("end", np.int64),     # protobuf: byte behind the message
    ("is_cut", np.bool_),  # protobuf: the document ends before the message does
    ("element", np.int64), # JSON: field that an array's elements are of, 0 for an object
    ("known", np.bool_),   # JSON: a field that OTLP knows was seen in the object
    ("nest", np.int64),    # attribute values around this one
], align=True)  # fmt: skip
"""A message that a walker has open; a stack holds the outermost first."""


def new_tape(entry_count: int) -> np.ndarray:
    """An empty tape for so many entries."""
    return np.empty(entry_count, ENTRY)


def new_stack() -> np.ndarray:
    """An empty stack for one walker."""
    return np.zeros(MAX_DEPTH, OPEN_MESSAGE)


@kernel
def emit(tape: np.ndarray, at: int, code: int, parent: int, value: int, aux: int) -> int:
    """Writes one entry and gives the next place."""
    if at < tape.size:
        entry = tape[index(at)]
        entry.code, entry.parent, entry.value, entry.aux = code, parent, value, aux
    return at + 1


@kernel
def emit_fault(tape: np.ndarray, at: int, parent: int, position: int, reason: int, code: int) -> int:
    """Notes that the record around has a fault in field `code` at a byte of the buffer."""
    return emit(tape, at, np.int64(FAULT), parent, position, (reason << 16) | code)


@kernel
def open_message(
    plan: Plan,
    tape: np.ndarray,
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
        at = emit(tape, at, code, around.row, start, np.int64(0))
    return at


@kernel
def close_record(tape: np.ndarray, record: int, at: int) -> None:
    """Notes where the entries of a record end; nothing for an inline message."""
    if 0 <= record < tape.size:
        tape[index(record)].aux = at


@outlined
def cut_unfinished(plan: Plan, tape: np.ndarray, stack: np.ndarray, rows: np.ndarray, depth: int, at: int) -> int:
    """Takes back what a fault left unfinished, closes the open containers, and gives the next place.

    What stays is certain: whole spans, metrics and log records, under a resource and scope that were read
    whole.
    """
    if at > tape.size:
        return at
    cut = _first_uncertain(plan, tape, stack, depth, at)
    forget(plan, tape, rows, cut, at)
    for level in range(depth + 1):
        if stack[level].record < cut:
            close_record(tape, stack[level].record, cut)
    return cut


@kernel
def first_lost(tape: np.ndarray, cut: int, at: int, position: int) -> int:
    """The first byte of what was taken back, or `position` if nothing was."""
    return tape[cut].value if cut < min(at, tape.size) else position


@outlined
def forget(plan: Plan, tape: np.ndarray, rows: np.ndarray, start: int, end: int) -> None:
    """Takes the records between two tape entries, but no document, back out of the row counts."""
    for entry in range(start, min(end, tape.size)):
        if plan.fields[tape[entry].code].record > 0:
            rows[plan.fields[tape[entry].code].record] -= 1


@outlined
def _first_uncertain(plan: Plan, tape: np.ndarray, stack: np.ndarray, depth: int, at: int) -> int:
    around = at
    for level in range(depth + 1):
        record = stack[level].record
        if record < 0:
            return around
        if plan.fields[stack[level].code].role != 1 or not _has_shown(plan, tape, record, stack[level].code, at):
            return record
        around = record
    return at


@outlined
def _has_shown(plan: Plan, tape: np.ndarray, record: int, code: int, at: int) -> bool:
    """Whether an open container has told its resource or scope, if it can have one."""
    entry = record + 1
    while plan.fields[code].shown != 0 and entry < at:
        if tape[entry].code == plan.fields[code].shown:
            return True
        is_record = plan.fields[tape[entry].code].record >= 0
        if is_record and tape[entry].aux <= entry:
            break
        entry = tape[entry].aux if is_record else entry + 1
    return plan.fields[code].shown == 0
