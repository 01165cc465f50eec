"""OTLP/JSON text to documents: a document a line, or JSON values one after the other over any number of
lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from tracekit.kernels.unaligned import SPARE
from tracekit.otlp.document import Document, Fault, Part
from tracekit.otlp.framing.json_objects import json_objects
from tracekit.otlp.framing.window import Window
from tracekit.otlp.wire.json_tokens import TRUNCATED, value_end
from tracekit.records import Reason

BLANKS = b"\x00\xef\xbb\xbf \t\r\n"
_BLANK_RUN = re.compile(rb"[\x00\xef\xbb\xbf \t\r\n]*")
_OTLP_KEY = re.compile(rb'"resource_?(?:spans|metrics|logs)"\s*:', re.IGNORECASE)
_OTLP_START = re.compile(rb'\s*\{\s*"resource_?(?:spans|metrics|logs)"\s*:', re.IGNORECASE)
_NEW_LINE_START = re.compile(rb'\n(?=\{\s*"resource_?(?:spans|metrics|logs)"\s*:)', re.IGNORECASE)
_ARRAY_START = re.compile(rb"[\x00\xef\xbb\xbf \t\r\n]*\[[ \t\r\n\[]*(?=\{)")
_BEHIND_ELEMENT = re.compile(rb"\s*(?:[,\]]|\Z)")
_OPEN = ord("{")


def has_otlp_key(window: Window, chunk_bytes: int) -> bool:
    """Whether the text's first chunk has a key that only OTLP/JSON has, or that name in another case."""
    if _OTLP_KEY.search(window.data):
        return True
    if b"{" not in window.data[:1] + window.data.lstrip(BLANKS)[:1] and b"\n{" not in window.data:
        return False
    window.extend(chunk_bytes)
    return _OTLP_KEY.search(window.data) is not None


def looks_like_lines(window: Window, chunk_bytes: int) -> bool:
    """Whether each line is a document; else the text is JSON values that pay no heed to lines."""
    start = len(window.data) - len(window.data.lstrip(BLANKS))
    line_end = window.data.find(b"\n", start)
    if line_end < 0:
        window.extend(chunk_bytes)
        line_end = window.data.find(b"\n", start)
    if line_end < 0:
        return False
    if window.data[start] != _OPEN or _OTLP_START.match(window.data, line_end + 1):
        return True
    end = _value_end(_padded(window.data[start:line_end]), 0, line_end - start)
    return end > 0 and not window.data[start + end : line_end].strip()


def is_json_array(window: Window, chunk_bytes: int) -> bool:
    """Whether the text is an array of documents: its first element is one, and a comma or the end stands behind it."""
    match = _ARRAY_START.match(window.data)
    if match is None or not has_otlp_key(window, chunk_bytes):
        return False
    window.extend(chunk_bytes)
    end = _value_end(_padded(window.data), match.end(), len(window.data))
    if end == TRUNCATED:
        return _OTLP_START.match(window.data, match.end()) is not None
    if end < 0 or _OTLP_KEY.search(window.data, match.end(), end) is None:
        return False
    return _BEHIND_ELEMENT.match(window.data, end) is not None


def json_array(window: Window, chunk_bytes: int, max_document_bytes: int) -> Iterator[Part | Fault]:
    """A document for each element of each array."""
    for found in json_objects(window, max_document_bytes=max_document_bytes):
        if isinstance(found, Document):
            yield Part("json", [replace(found, is_frame=False)])
        else:
            is_text = found.reason is Reason.PARTIAL_FIRST_LINE
            yield found._replace(reason=Reason.MALFORMED) if is_text else found


def json_lines(window: Window, chunk_bytes: int, max_document_bytes: int) -> Iterator[Part | Fault]:
    """A document for each line that is not blank. A first line without a start was cut off at rotation."""
    window.extend(chunk_bytes)
    if _starts_in_the_middle(window.data):
        yield Fault(Reason.PARTIAL_FIRST_LINE, window.offset)
        window.skip_line()
    while True:
        window.extend(chunk_bytes)
        if not window.data:
            return
        cut = len(window.data) if window.is_last else window.data.rfind(b"\n") + 1
        if cut == 0 and len(window.data) > max_document_bytes:
            yield Fault(Reason.TOO_LARGE, window.offset)
            window.skip_line()
        elif cut == 0:
            window.extend(2 * len(window.data))
        else:
            yield from _lines(window.data, cut, window.offset, max_document_bytes)
            window.drop(cut)


def _starts_in_the_middle(data: bytes) -> bool:
    """Whether the first line starts inside a document: without a brace, or with the brace of an inner
    object.
    """
    start = len(data) - len(data.lstrip(BLANKS))
    if data[start : start + 1] != b"{":
        return True
    line_end = data.find(b"\n", start)
    if line_end < 0 or _OTLP_START.match(data, start):
        return False
    end = _value_end(_padded(data[:line_end]), start, line_end)
    return end > 0 and bool(data[end:line_end].strip())


def _lines(data: bytes, cut: int, offset: int, max_document_bytes: int) -> Iterator[Part | Fault]:
    """The documents of the lines in `data[:cut]`."""
    view, start, found = memoryview(data), 0, []
    while start < cut:
        end = data.find(b"\n", start, cut)
        end = cut if end < 0 else end
        if data[start] != _OPEN:
            start = min(_blanks_end(data, start), end)
        if end - start > max_document_bytes:
            yield Fault(Reason.TOO_LARGE, offset + start)
        elif start < end:
            found.append(Document(view[start:end], offset + start))
        start = end + 1
    if found:
        yield Part("json", found)


def _blanks_end(data: bytes, start: int) -> int:
    match = _BLANK_RUN.match(data, start)
    return match.end() if match else start


def json_values(window: Window, chunk_bytes: int, max_document_bytes: int) -> Iterator[Part | Fault]:
    """A document for each JSON value. What is no JSON goes to the decoder up to the next line that starts a
    document.
    """
    wanted = chunk_bytes
    while True:
        window.extend(wanted)
        used = 0
        for document, end in _values(window.data, window.offset, is_last=window.is_last):
            used = end
            yield Part("json", [document])
        if window.is_last:
            return
        window.drop(used)
        wanted = chunk_bytes if used else 2 * len(window.data)
        if wanted > 2 * max_document_bytes:
            yield Fault(Reason.TOO_LARGE, window.offset)
            return


def _values(data: bytes, offset: int, *, is_last: bool) -> Iterator[tuple[Document, int]]:
    """The documents that end in `data`, and where; at the end of the stream also one that is cut off."""
    buffer, view, start = _padded(data), memoryview(data), 0
    while True:
        start = _blanks_end(data, start)
        if start == len(data):
            return
        end = _value_end(buffer, start, len(data)) if data[start] == _OPEN else -1
        if end < 0:
            is_cut = end == TRUNCATED
            found = None if is_cut else _NEW_LINE_START.search(data, start)
            if found is None and not is_last:
                return
            end = found.end() if found else len(data)
        yield Document(view[start:end], offset + start), end
        start = end


def _padded(data: bytes) -> np.ndarray:
    return np.frombuffer(data + bytes(SPARE), np.uint8)


def _value_end(buffer: np.ndarray, start: int, end: int) -> int:
    return int(value_end(buffer, start, end))
