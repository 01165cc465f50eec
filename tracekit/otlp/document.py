"""What a source is cut into: documents, and faults where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from tracekit.records import Reason

Encoding = Literal["json", "protobuf"]


@dataclass(frozen=True)
class Document:
    """One OTLP message, already unframed and decompressed."""

    payload: bytes | memoryview
    offset: int = 0
    """Byte offset of the message in its source, for reports."""
    is_frame: bool = False
    """Whether the payload was compressed on its own, so that only `offset` can be found again in the
    source.
    """


class Part(NamedTuple):
    """Some documents of one encoding, one behind the other."""

    encoding: Encoding
    documents: list[Document]


class Fault(NamedTuple):
    """A stretch of the source that is no document."""

    reason: Reason
    offset: int
    """Its first byte in the source."""
