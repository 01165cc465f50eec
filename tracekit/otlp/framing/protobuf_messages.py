"""A protobuf message without framing: `TracesData`, `MetricsData`, `LogsData` or an export request.

Such a message is a sequence of resources, each behind a tag and its length, so a long one is read piece by
piece: any number of whole resources is a message again.
"""

from __future__ import annotations

from collections.abc import Iterator

from tracekit.otlp.document import Document, Fault, Part
from tracekit.otlp.framing.detection import detect_signal
from tracekit.otlp.framing.window import Window
from tracekit.records import Reason

_TAG = 0x0A
_MOST_LENGTH_BYTES = 5


def is_protobuf(window: Window, chunk_bytes: int, *, max_document_bytes: int) -> bool:
    """Whether the stream is one protobuf message of OTLP."""
    if window.data[0] != _TAG:
        return False

    def resources(looked_at_bytes: int) -> bytes:
        window.extend(looked_at_bytes)
        return window.data[: _resources_end(window.data, 0) or len(window.data)]

    return detect_signal(resources, looked_at_bytes=chunk_bytes, most_bytes=max_document_bytes) is not None


def protobuf_messages(window: Window, chunk_bytes: int, max_document_bytes: int) -> Iterator[Part | Fault]:
    """Documents of whole resources; what is cut off or no resource goes to the decoder as it is, as the
    last one.
    """
    wanted = chunk_bytes
    while True:
        window.extend(wanted)
        if not window.data:
            return
        end = len(window.data) if window.is_last else _resources_end(window.data, 0)
        if end:
            yield Part("protobuf", [Document(window.data[:end], window.offset)])
            window.drop(end)
        elif len(window.data) > max_document_bytes:
            yield Fault(Reason.TOO_LARGE, window.offset)
            return
        wanted = chunk_bytes if end else 2 * len(window.data)


def _resources_end(data: bytes, start: int) -> int:
    """The byte behind the last resource that is whole."""
    while True:
        end = _resource_end(data, start)
        if end is None or end > len(data):
            return start
        start = end


def _resource_end(data: bytes, start: int) -> int | None:
    """The byte behind the resource that starts at a byte, None if none does."""
    if start >= len(data) or data[start] != _TAG:
        return None
    length = 0
    for place in range(_MOST_LENGTH_BYTES):
        at = start + 1 + place
        if at >= len(data):
            return None
        length |= (data[at] & 0x7F) << (7 * place)
        if data[at] < 0x80:
            return at + 1 + length
    return None
