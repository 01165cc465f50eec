"""What a source is cut into: documents, and faults where there is none."""

from __future__ import annotations

from typing import NamedTuple

from tracekit.otlp.batch import Document
from tracekit.otlp.reasons import Reason
from tracekit.otlp.walk import Encoding


class Part(NamedTuple):
    """Some documents of one encoding, one behind the other."""

    encoding: Encoding
    documents: list[Document]


class Fault(NamedTuple):
    """A stretch of the source that is no document."""

    reason: Reason
    offset: int
    """Its first byte in the source."""
