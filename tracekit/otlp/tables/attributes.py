"""Attribute lists and bodies of events as JSON text, canonical and lossless.

An attribute list is an object in the sender's order. Strings, booleans, integers, doubles (always with a
point, an exponent or both), arrays and key-value lists are what JSON has for them; an empty value is
`null`. What JSON cannot say is written in OTLP/JSON's own form, `{"bytesValue":"AAE="}` or
`{"doubleValue":"NaN"}`; a key-value list that would look like that form is written in it too, all the way
down: `{"kvlistValue":{"values":[...]}}`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from tracekit.kernels import index, inlined, outlined
from tracekit.kernels.hash_table import KeyTable, find, hash_bytes, holds, key_table, put
from tracekit.kernels.unaligned import SPARE, is_ascii, same_bytes
from tracekit.otlp.tables.json_text import is_utf8, put_base64, put_byte, put_bytes, put_integer, put_string
from tracekit.otlp.tables.known_keys import KnownKeys, note_key
from tracekit.otlp.wire.events import MAX_NEST
from tracekit.otlp.wire.fields import Plan

_MEMBERS = {each.number: each.json_name for each in AnyValue.DESCRIPTOR.fields}
# Constants are numpy's: numba would compile a function once more for each plain number that is handed to it.
_STRING, _BOOL, _DOUBLE, _KVLIST, _BYTES, _STRING_INDEX = (np.int64(number) for number in (1, 2, 4, 6, 7, 8))
_COMMA, _COLON, _OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST, _QUOTE, _POINT, _ZERO = (
    np.int64(byte) for byte in b',:{}[]".0'
)


class Texts(NamedTuple):
    """Pieces of JSON in one array: piece `i` is `bytes[start[i]:start[i + 1]]`."""

    bytes: np.ndarray
    start: np.ndarray


def _pieces(texts: list[str]) -> Texts:
    starts = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    return Texts(np.frombuffer("".join(texts).encode() + bytes(SPARE), np.uint8).copy(), starts)


_WORDS = _pieces(
    [
        "true",
        "false",
        "null",
        "{}",
        '{"key":',
        ',"value":',
        '{"values":[',
        '"NaN"',
        '"Infinity"',
        '"-Infinity"',
    ]
)
_TRUE, _FALSE, _NULL, _EMPTY, _KEY, _VALUE, _VALUES, _NAN, _INFINITY, _MINUS_INFINITY = (
    np.int64(number) for number in range(10)
)
_OUTERMOST = np.int64(0)
_NAMES = _pieces(['{"' + _MEMBERS.get(number, "") + '":' for number in range(max(_MEMBERS) + 1)])


class Source(NamedTuple):
    """What the text is made from."""

    plan: Plan
    events: np.ndarray
    buffer: np.ndarray
    """The bytes that the events' slices lie in."""
    doubles: np.ndarray
    """The bytes that the texts of `doubleValue` lie in (`number_texts` has put them there)."""


class Lists(NamedTuple):
    """The lists that are being written, the outermost first, and the keys that were seen in them."""

    kind: np.ndarray
    code: np.ndarray
    """Code of the list's elements."""
    cursor: np.ndarray
    """The event to look at next."""
    end: np.ndarray
    count: np.ndarray
    is_explicit: np.ndarray
    """Whether OTLP/JSON's own form is written."""
    number: np.ndarray
    """Tells the keys of one list from those of another."""
    opened: np.ndarray
    """`[0]`: number of the list that was opened last."""
    seen: KeyTable
    """The keys of the record; their group is the number of their list."""
    known: KnownKeys
    """The keys of the outermost lists of all records."""


def new_lists(entry_count: int, *, known: KnownKeys) -> Lists:
    """Room for the deepest nesting and for the keys of a record that has so many events."""
    deep = (np.zeros(MAX_NEST + 4, np.int64) for _ in range(7))
    # A key's own entries are two at least, so this is half empty.
    return Lists(*deep, np.zeros(1, np.int64), key_table(max(entry_count // 2, 1)), known)


@outlined
def put_attributes(
    source: Source, record: int, code: int, out: np.ndarray, at: int, lists: Lists
) -> tuple[int, int, int]:
    """Writes the attributes `code` of the record at an event, nothing if there are none.

    Gives the place behind, the number of keys that came again, and the number of strings that are not UTF-8.
    """
    _push(lists, _OUTERMOST, _KVLIST, code, record + 1, source.events[record].aux, False)
    after, repeated, invalid = _put_lists(source, out, put_byte(out, at, _OPEN), lists, _OUTERMOST)
    return after if lists.count[0] > 0 else at, repeated, invalid


@outlined
def put_body(source: Source, record: int, code: int, out: np.ndarray, at: int, lists: Lists) -> tuple[int, int, int]:
    """Writes the one value of the record at an event, nothing if it is empty; gives what
    `put_attributes` gives.
    """
    _, member, entry = _pair(source, record)
    if member == 0:
        return at, 0, 0
    lists.opened[0] += 1
    lists.number[0] = lists.opened[0]
    at, depth, invalid = _put_value(source, record, member, entry, out, at, lists, _OUTERMOST - 1)
    if depth < 0:
        return at, 0, invalid
    at, repeated, wrong = _put_lists(source, out, at, lists, depth)
    return at, repeated, invalid + wrong


@outlined
def _put_lists(source: Source, out: np.ndarray, at: int, lists: Lists, depth: int) -> tuple[int, int, int]:
    """Writes the elements of the open lists until the outermost is closed."""
    repeated, invalid = 0, 0
    while depth >= 0:
        record = _next_element(source, lists, depth)
        if record < 0:
            at = _put_end(out, at, lists, depth)
            depth -= 1
            continue
        key, member, entry = _pair(source, record)
        problem = _key_problem(source, key, lists, depth)
        repeated += problem == 1
        invalid += problem == 2
        if problem == 0:
            at = _put_key(source, key, out, at, lists, depth)
            at, depth, wrong = _put_value(source, record, member, entry, out, at, lists, depth)
            invalid += wrong
    return at, repeated, invalid


@inlined
def _push(lists: Lists, depth: int, kind: int, code: int, cursor: int, end: int, is_explicit: int) -> None:
    lists.opened[0] += 1
    lists.number[depth] = lists.opened[0]
    lists.kind[depth], lists.code[depth], lists.cursor[depth] = kind, code, cursor
    lists.end[depth], lists.count[depth], lists.is_explicit[depth] = end, 0, is_explicit


@inlined
def _next_element(source: Source, lists: Lists, depth: int) -> int:
    """Event of the list's next element, -1 behind the last."""
    cursor, end, wanted = lists.cursor[index(depth)], lists.end[index(depth)], lists.code[index(depth)]
    found = -1
    while cursor < end and found < 0:
        code = source.events[index(cursor)].code
        if code == wanted:
            found = cursor
        cursor = source.events[index(cursor)].aux if source.plan.fields[index(code)].record >= 0 else cursor + 1
    lists.cursor[index(depth)] = cursor
    return found


@inlined
def _pair(source: Source, record: int) -> tuple[int, int, int]:
    """Key entry, member and value entry of a `KeyValue`, an `AnyValue` or a body; the last of each counts."""
    plan, events = source.plan, source.events
    key, member, value = -1, 0, -1
    entry, end = record + 1, events[index(record)].aux
    while entry < end:
        code = events[index(entry)].code
        if code == plan.key:
            key = entry
        field = plan.fields[index(code)]
        if field.member:
            is_continued = field.nest and field.member == member
            value, member = value if is_continued else entry, field.member
        entry = events[index(entry)].aux if field.record >= 0 else entry + 1
    return key, member, value


@inlined
def _slice(source: Source, entry: int) -> tuple[int, int]:
    """First byte and size of a string's entry; an absent string is empty."""
    if entry < 0:
        return 0, 0
    return source.events[index(entry)].value, source.events[index(entry)].aux


@inlined
def _key_problem(source: Source, key: int, lists: Lists, depth: int) -> int:
    """0 if the key is new in its list (and now remembered), 1 if it was there before, 2 if it is no UTF-8."""
    if lists.kind[index(depth)] != _KVLIST:
        return 0
    start, size = _slice(source, key)
    number = lists.number[index(depth)]
    lists.seen.oldest[0] = lists.number[0]
    hashed, words = hash_bytes(source.buffer, start, size, lists.seen.secret)
    if not is_ascii(words) and not is_utf8(source.buffer, start, size):
        return 2
    slot = find(lists.seen, source.buffer, number, start, size, hashed)
    if holds(lists.seen, slot):
        return 1
    put(lists.seen, slot, number, start, size)
    if depth == 0:
        note_key(lists.known, source.buffer, start, size, hashed)
    return 0


@inlined
def _put_piece(out: np.ndarray, at: int, pieces: Texts, number: int) -> int:
    start = pieces.start[number]
    return put_bytes(out, at, pieces.bytes, start, pieces.start[number + 1] - start)


@inlined
def _put_key(source: Source, key: int, out: np.ndarray, at: int, lists: Lists, depth: int) -> int:
    """Writes what stands before a list's next value: a comma and, in a key-value list, the key."""
    if lists.count[depth]:
        at = put_byte(out, at, _COMMA)
    lists.count[depth] += 1
    if lists.kind[depth] != _KVLIST:
        return at
    start, size = _slice(source, key)
    if lists.is_explicit[depth]:
        at, _ = put_string(out, _put_piece(out, at, _WORDS, _KEY), source.buffer, start, size)
        return _put_piece(out, at, _WORDS, _VALUE)
    at, _ = put_string(out, at, source.buffer, start, size)
    return put_byte(out, at, _COLON)


@inlined
def _put_end(out: np.ndarray, at: int, lists: Lists, depth: int) -> int:
    """Closes a list, and the pair that it is the value of."""
    if lists.is_explicit[depth]:
        at = put_byte(out, put_byte(out, put_byte(out, at, _CLOSE_LIST), _CLOSE), _CLOSE)
    else:
        at = put_byte(out, at, _CLOSE if lists.kind[depth] == _KVLIST else _CLOSE_LIST)
    return _put_end_of_pair(out, at, lists, depth - 1)


@inlined
def _put_end_of_pair(out: np.ndarray, at: int, lists: Lists, depth: int) -> int:
    if depth >= 0 and lists.is_explicit[depth] and lists.kind[depth] == _KVLIST:
        return put_byte(out, at, _CLOSE)
    return at


@inlined
def _put_value(
    source: Source, record: int, member: int, entry: int, out: np.ndarray, at: int, lists: Lists, depth: int
) -> tuple[int, int, int]:
    """Writes a value whole, or opens a list one level deeper; gives place, depth and the count of invalid
    strings.
    """
    is_explicit = depth >= 0 and lists.is_explicit[depth] != 0
    if member != 0 and source.plan.fields[source.events[entry].code].nest:
        at = _open_list(source, record, member, entry, out, at, lists, depth + 1, is_explicit)
        return at, depth + 1, 0
    start, size = _slice(source, entry)
    if member == _STRING:
        at, is_valid = _put_text(source, start, size, out, at, is_explicit)
        return _put_end_of_pair(out, at, lists, depth), depth, np.int64(not is_valid)
    if member in (0, _STRING_INDEX):
        at = _put_piece(out, at, _WORDS, _EMPTY if is_explicit else _NULL)
    elif is_explicit or member == _BYTES or (member == _DOUBLE and _is_not_finite(source, start, size)):
        at = _put_piece(out, at, _NAMES, member)
        at = put_byte(out, _put_scalar(source, member, start, size, out, at, True), _CLOSE)
    else:
        at = _put_scalar(source, member, start, size, out, at, False)
    return _put_end_of_pair(out, at, lists, depth), depth, 0


@inlined
def _put_text(source: Source, start: int, size: int, out: np.ndarray, at: int, is_explicit: int) -> tuple[int, bool]:
    """Writes a string, or an empty value if it is not UTF-8; gives the place and whether it is."""
    first = at
    if is_explicit:
        at = _put_piece(out, at, _NAMES, _STRING)
    at, is_valid = put_string(out, at, source.buffer, start, size)
    if is_explicit:
        at = put_byte(out, at, _CLOSE)
    if not is_valid:
        at = _put_piece(out, first, _WORDS, _EMPTY if is_explicit else _NULL)
    return at, is_valid


@inlined
def _open_list(
    source: Source, record: int, member: int, entry: int,
    out: np.ndarray, at: int, lists: Lists, depth: int, is_explicit: int,
) -> int:  # fmt: skip
    """Opens the list whose elements follow an event, in OTLP/JSON's own form where it must be."""
    code = np.int64(source.plan.code_of[source.plan.fields[source.events[entry].code].child, 1])
    end = source.events[record].aux
    _push(lists, depth, member, code, entry + 1, end, is_explicit)
    if member == _KVLIST and not is_explicit:
        first = _next_element(source, lists, depth)
        lists.cursor[depth] = entry + 1
        is_explicit = first >= 0 and _is_member_name(source, _pair(source, first)[0])
        lists.is_explicit[depth] = is_explicit
    if is_explicit:
        return _put_piece(out, _put_piece(out, at, _NAMES, member), _WORDS, _VALUES)
    return put_byte(out, at, _OPEN if member == _KVLIST else _OPEN_LIST)


@inlined
def _is_member_name(source: Source, key: int) -> bool:
    """Whether a key is one that OTLP/JSON's own form of a value starts with."""
    start, size = _slice(source, key)
    for number in range(1, _NAMES.start.size - 1):
        name = _NAMES.start[number] + 2
        name_size = _NAMES.start[number + 1] - name - 2
        if name_size == size and same_bytes(source.buffer, start, _NAMES.bytes, name, size):
            return True
    return False


@inlined
def _is_not_finite(source: Source, start: int, size: int) -> bool:
    """Whether the text of a double is `nan`, `inf` or `-inf`."""
    return source.doubles[start + size - 1] >= 97


@inlined
def _put_scalar(source: Source, member: int, start: int, size: int, out: np.ndarray, at: int, is_explicit: int) -> int:
    """Writes a scalar that is no string, alone or as what stands behind its name in OTLP/JSON's form."""
    if member == _BYTES:
        return put_base64(out, at, source.buffer, start, size)
    if member == _BOOL:
        return _put_piece(out, at, _WORDS, _TRUE if start else _FALSE)
    if member == _DOUBLE:
        return _put_double(source, start, size, out, at)
    if is_explicit:
        return put_byte(out, put_integer(out, put_byte(out, at, _QUOTE), start), _QUOTE)
    return put_integer(out, at, start)


@inlined
def _put_double(source: Source, start: int, size: int, out: np.ndarray, at: int) -> int:
    if _is_not_finite(source, start, size):
        word = _NAN if source.doubles[start] == 110 else _INFINITY if source.doubles[start] == 105 else _MINUS_INFINITY
        return _put_piece(out, at, _WORDS, word)
    at = put_bytes(out, at, source.doubles, start, size)
    for place in range(start, start + size):
        if source.doubles[place] in (46, 101):
            return at
    return put_byte(out, put_byte(out, at, _POINT), _ZERO)
