"""One export request on its way into the store."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass, field

from tracekit.otlp import Encoding, Signal
from tracekit.receiver.outcome import Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Export:
    """The decompressed body of one export request, and the promise of an answer."""

    signal: Signal
    encoding: Encoding
    payload: bytes
    transport: str
    """`http` or `grpc`."""
    answer: Future[Outcome] = field(default_factory=Future)
