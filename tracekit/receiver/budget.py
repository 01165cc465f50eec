"""How many bytes of requests may be in memory at once: beyond that they are refused, never buffered."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from tracekit.receiver.outcome import Refusal, RefusedError, refused_for_now


class Budget:
    """Bytes of requests that are being read or wait for their commit. Threads share one."""

    def __init__(self, limit_bytes: int) -> None:
        self.limit_bytes = limit_bytes
        self._used_bytes = 0
        self._lock = threading.Lock()

    @property
    def used_bytes(self) -> int:
        """Bytes in memory now."""
        return self._used_bytes

    def reservation(self) -> Reservation:
        """An empty share of the budget, to grow while a request is read; a context manager."""
        return Reservation(self)

    def take(self, size_bytes: int) -> bool:
        """Take bytes out of the budget, or nothing and False where they do not fit."""
        with self._lock:
            if self._used_bytes + size_bytes > self.limit_bytes:
                return False
            self._used_bytes += size_bytes
            return True

    def give_back(self, size_bytes: int) -> None:
        """Return bytes taken before."""
        with self._lock:
            self._used_bytes -= size_bytes


class Reservation:
    """The share that one request has of the budget; given back when the block ends."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._size_bytes = 0

    def grow(self, size_bytes: int) -> None:
        """Take more bytes. Raises `RefusedError` (try again later) where they do not fit."""
        if not self._budget.take(size_bytes):
            raise RefusedError(
                refused_for_now(
                    Refusal.OVERLOADED,
                    f"{self._budget.used_bytes} bytes of requests wait to be stored, the limit is "
                    f"{self._budget.limit_bytes}; send again later",
                )
            )
        self._size_bytes += size_bytes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._budget.give_back(self._size_bytes)
        self._size_bytes = 0
