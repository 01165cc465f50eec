"""The JSON objects of a text, wherever they stand: one behind the other, in arrays, or between lines of other text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from tracekit.kernels.unaligned import SPARE
from tracekit.otlp.document import Document, Fault
from tracekit.otlp.framing.window import Window
from tracekit.otlp.wire.json_tokens import TRUNCATED, value_end
from tracekit.records import Input, Reason

_BETWEEN = re.compile(rb"[\x00\xef\xbb\xbf \t\r\n\[\],]*")
_BETWEEN_INSIDE = re.compile(rb"[ \t\r\n,]*")
_OBJECT_LINE = re.compile(rb"\n[ \t\r]*(?=[\[{])")
_FIRST_OBJECT = re.compile(rb"(?:\A|\n)[\x00\xef\xbb\xbf \t\r\n\[]*(?=\{)")
_BLANKS = b" \t\r\n"
_OPEN_OBJECT, _CLOSE_ARRAY = b"{]"
_CHUNK_BYTES = 1 << 20
# A brace that nothing closes makes the rest be read again: so often at most.
_MOST_RESTARTS = 16


def json_objects(
    source: Input, *, max_document_bytes: int, inside: re.Pattern[bytes] | None = None
) -> Iterator[Document | Fault]:
    """The objects as documents, and what is none as faults: text between them is `PARTIAL_FIRST_LINE`.

    An object that begins with `inside`, up to the bracket of an array, is not given as one: the array's objects are.
    An object beyond `max_document_bytes` is a fault, and the last. Memory is bounded by a few times that.
    """
    assert isinstance(source, Window)
    yield from _Cutter(source, max_document_bytes, inside).objects()


def first_keys(head: bytes) -> tuple[list[str], bytes]:
    """The keys of the first object that stands in a text's beginning, and the text from that object on.

    A key whose value is cut off counts; nothing is found where no line begins with an object.
    """
    match = _FIRST_OBJECT.search(head)
    if match is None:
        return [], b""
    text = head[match.end() :]
    return [key for key, _ in _members(_padded(text), text, 1)], text


def _members(buffer: np.ndarray, text: bytes, at: int) -> Iterator[tuple[str, int]]:
    """The members of an object from a byte inside it: each key, and the byte behind its value (negative: none)."""
    end = len(text)
    while True:
        at = _blank_end(text, at, b",")
        if text[at : at + 1] != b'"' or (key_end := int(value_end(buffer, at, end))) < 0:
            return
        key = text[at + 1 : key_end - 1].decode(errors="replace")
        at = _blank_end(text, key_end, b":")
        at = int(value_end(buffer, at, end)) if at < end else TRUNCATED
        yield key, at
        if at < 0:
            return


def _blank_end(text: bytes, at: int, also: bytes) -> int:
    while at < len(text) and text[at] in _BLANKS + also:
        at += 1
    return at


def _padded(data: bytes) -> np.ndarray:
    return np.frombuffer(data + bytes(SPARE), np.uint8)


class _Cutter:
    """Walks over a window; what it finds is one step: a document, a fault or nothing, and the byte behind it."""

    def __init__(self, window: Window, max_document_bytes: int, inside: re.Pattern[bytes] | None) -> None:
        self._window = window
        self._max_bytes = max_document_bytes
        self._inside = inside
        self._is_inside = False
        self._restarts = 0
        self._at = 0
        self._buffer = _padded(b"")

    def objects(self) -> Iterator[Document | Fault]:
        """What the window holds, to its end."""
        wanted = _CHUNK_BYTES
        while wanted:
            self._window.extend(wanted)
            self._buffer = _padded(self._window.data)
            while self._restarts <= _MOST_RESTARTS and (step := self._step()) is not None:
                found, self._at = step
                if found is not None:
                    yield found
            wanted = self._next_size()
            if wanted > 2 * self._max_bytes + _CHUNK_BYTES:
                yield Fault(Reason.TOO_LARGE, self._window.offset)
                return

    def _next_size(self) -> int:
        """Moves the window over what was found; how long it has to be next, 0 at the end."""
        used, self._at = self._at, 0
        self._window.drop(used)
        left = len(self._window.data)
        if self._restarts > _MOST_RESTARTS or (self._window.is_last and not left):
            return 0
        return _CHUNK_BYTES if used else 2 * left

    def _step(self) -> tuple[Document | Fault | None, int] | None:
        """The next thing and the byte behind it; none where more of the stream is needed, or all is done."""
        data, is_last = self._window.data, self._window.is_last
        match = (_BETWEEN_INSIDE if self._is_inside else _BETWEEN).match(data, self._at)
        self._at = at = match.end() if match else self._at
        if at == len(data):
            return None
        if data[at] == _CLOSE_ARRAY:
            return self._end_of_inside(at)
        if data[at] != _OPEN_OBJECT:
            return self._other(at)
        if self._inside is not None and not self._is_inside:
            if len(data) - at < _CHUNK_BYTES and not is_last:
                return None
            if match := self._inside.match(data, at):
                self._is_inside = True
                return None, match.end()
        end = int(value_end(self._buffer, at, len(data)))
        if end > 0:
            return Document(data[at:end], self._window.offset + at, is_frame=True), end
        if end == TRUNCATED and not is_last:
            return None
        self._restarts += 1
        return self._fault(Reason(-end), at)

    def _other(self, at: int) -> tuple[Fault, int]:
        """What is no object: a value of an array, or text."""
        data = self._window.data
        end = int(value_end(self._buffer, at, len(data)))
        if end > 0 and data[(behind := _blank_end(data, end, b"")) : behind + 1] in (b",", b"]"):
            return Fault(Reason.WRONG_TYPE, self._window.offset + at), end
        return self._fault(Reason.PARTIAL_FIRST_LINE, at)

    def _end_of_inside(self, at: int) -> tuple[None, int] | None:
        """Behind the object around, whose array ends at a byte."""
        data = self._window.data
        behind = ([at + 1] + [end for _, end in _members(self._buffer, data, at + 1)])[-1]
        if behind < 0 and not self._window.is_last:
            return None
        self._is_inside = False
        behind = len(data) if behind < 0 else _blank_end(data, behind, b",")
        return None, behind + (data[behind : behind + 1] == b"}")

    def _fault(self, reason: Reason, at: int) -> tuple[Fault, int]:
        """What is no object, up to the next line that begins with one."""
        line = _OBJECT_LINE.search(self._window.data, at)
        return Fault(reason, self._window.offset + at), line.end() if line else len(self._window.data)
