"""Messages that each stand behind their length in four bytes, big-endian, as the Collector's file exporter
writes them.

A message is protobuf, JSON or a zstd frame of either.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.otlp.document import Document, Fault, Part
from tracekit.otlp.framing.compression import ZSTD_MAGIC, zstd_message
from tracekit.otlp.framing.detection import detect_signal
from tracekit.otlp.framing.window import Window
from tracekit.records import Reason

_LENGTH_BYTES = 4
_PROTOBUF_START = b"\x0a"
_JSON_START = b"{"
_BLANKS = b"\xef\xbb\xbf \t\r\n"


def is_length_prefixed(window: Window, chunk_bytes: int, *, max_document_bytes: int) -> bool:
    """Whether a stream is made of lengths and messages. The first message is looked at as far as it goes, or
    `chunk_bytes`; further where that says nothing yet.
    """
    size = int.from_bytes(window.data[:_LENGTH_BYTES], "big")
    start = window.data[_LENGTH_BYTES : _LENGTH_BYTES + len(ZSTD_MAGIC)]
    if not 0 < size <= max_document_bytes or not start:
        return False
    if start.startswith((_JSON_START, ZSTD_MAGIC)):
        return True
    if not start.startswith(_PROTOBUF_START):
        return False

    def message(looked_at_bytes: int) -> bytes:
        window.extend(_LENGTH_BYTES + looked_at_bytes)
        return window.data[_LENGTH_BYTES : _LENGTH_BYTES + looked_at_bytes]

    return detect_signal(message, looked_at_bytes=min(size, chunk_bytes), most_bytes=size) is not None


def length_prefixed(window: Window, chunk_bytes: int, max_document_bytes: int) -> Iterator[Part | Fault]:
    """The messages; one that is cut off at the end goes to the decoder as far as it is there."""
    while True:
        window.extend(chunk_bytes)
        used = 0
        while (size := _message_size(window.data, used)) is not None:
            end = used + _LENGTH_BYTES + size
            if size > max_document_bytes or (end > len(window.data) and not window.is_last):
                break
            yield from _message(window.data[used + _LENGTH_BYTES : end], window.offset + used, max_document_bytes)
            used = min(end, len(window.data))
        window.drop(used)
        if size is None and window.is_last:
            if window.data:
                yield Fault(Reason.TRUNCATED, window.offset)
            return
        if size is not None and size > max_document_bytes:
            yield Fault(Reason.TOO_LARGE, window.offset)
            window.skip(_LENGTH_BYTES + size)
        elif size is not None:
            window.extend(_LENGTH_BYTES + size)


def _message_size(data: bytes, start: int) -> int | None:
    """The length that stands at a byte, None if there is not a whole one."""
    if start + _LENGTH_BYTES > len(data):
        return None
    return int.from_bytes(data[start : start + _LENGTH_BYTES], "big")


def _message(message: bytes, offset: int, max_document_bytes: int) -> Iterator[Part | Fault]:
    """The document of a message whose length stands at `offset`."""
    is_frame = message.startswith(ZSTD_MAGIC)
    content = zstd_message(message, max_bytes=max_document_bytes) if is_frame else message
    if isinstance(content, Reason):
        yield Fault(content, offset)
    elif content:
        is_json = content.lstrip(_BLANKS).startswith(_JSON_START)
        start = offset if is_frame else offset + _LENGTH_BYTES
        yield Part("json" if is_json else "protobuf", [Document(content, start, is_frame)])
