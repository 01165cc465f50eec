"""A file that another process reads and sends here piece by piece."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from tracekit.ingest.sources import Source

_WAITING_BYTES = 1 << 20


class IncomingStream(io.RawIOBase):
    """Bytes that one thread feeds and another reads. At most about a mebibyte waits in between."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces = bytearray()
        self._changed = threading.Condition()
        self._is_whole = False
        self._fault: str | None = None

    def readable(self) -> bool:
        """Always."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for bytes and take some; 0 at the end. Raises `OSError` where the sender broke off."""
        with self._changed:
            self._changed.wait_for(lambda: self._pieces or self._is_whole or self._fault)
            if self._fault is not None:
                raise OSError(None, self._fault)
            size = min(len(buffer), len(self._pieces))
            buffer[:size] = self._pieces[:size]
            del self._pieces[:size]
            self._changed.notify_all()
            return size

    def feed(self, piece: bytes) -> None:
        """Add bytes when there is room; where nobody reads any more they are dropped."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._pieces) < _WAITING_BYTES or self.closed)
            if not self.closed:
                self._pieces += piece
                self._changed.notify_all()

    def finish(self, fault: str | None = None) -> None:
        """Say that all bytes were fed, or with `fault` that no more will come."""
        with self._changed:
            self._is_whole, self._fault = fault is None, fault
            self._changed.notify_all()

    def close(self) -> None:
        """Take no more bytes."""
        with self._changed:
            super().close()
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class IncomingSource(Source):
    """A source whose bytes another process reads."""

    stream: IncomingStream = field(default_factory=IncomingStream)

    @property
    def path(self) -> None:
        """No file here."""
        return None

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The bytes as they come."""
        with io.BufferedReader(self.stream) as buffered:
            yield buffered
