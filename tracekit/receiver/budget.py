"""How many bytes of requests may be in memory at once: beyond that they are refused, never buffered.

What waits longer than a sender does is sent again and written twice for nothing. So as much may wait as is written
in a few seconds, and never more than a fixed number of bytes.
"""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from tracekit.receiver.outcome import Refusal, RefusedError, refused_for_now

# Well under the ten seconds that SDKs give an export.
_LONGEST_WAIT_S = 3.0
_LEAST_BYTES = 16 << 20
# Share of the newest measurement in the rate.
_NEW_SHARE = 0.2


class Budget:
    """Bytes of requests that are being read or wait for their commit. Threads share one."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._bytes_per_s: float | None = None
        self._used_bytes = 0
        self._lock = threading.Lock()

    @property
    def limit_bytes(self) -> int:
        """Where requests are refused, now; one request alone may be larger."""
        if self._bytes_per_s is None:
            return self._most_bytes
        return min(self._most_bytes, max(_LEAST_BYTES, int(self._bytes_per_s * _LONGEST_WAIT_S)))

    def observe(self, size_bytes: int, seconds: float) -> None:
        """Say how long it took to write requests of so many bytes."""
        new = size_bytes / max(seconds, 1e-6)
        old = new if self._bytes_per_s is None else self._bytes_per_s
        self._bytes_per_s = old + _NEW_SHARE * (new - old)

    @property
    def used_bytes(self) -> int:
        """Bytes in memory now."""
        return self._used_bytes

    def reservation(self) -> Reservation:
        """An empty share of the budget, to grow while a request is read; a context manager."""
        return Reservation(self)

    def take(self, size_bytes: int, *, held_bytes: int = 0) -> bool:
        """Take bytes out of the budget, or nothing and False where they do not fit.

        Who holds all that is taken, `held_bytes`, may go on up to the fixed limit.
        """
        with self._lock:
            is_alone = self._used_bytes == held_bytes
            limit_bytes = self._most_bytes if is_alone else self.limit_bytes
            if self._used_bytes + size_bytes > limit_bytes:
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
        if not self._budget.take(size_bytes, held_bytes=self._size_bytes):
            raise RefusedError(
                refused_for_now(
                    Refusal.OVERLOADED,
                    f"{self._budget.used_bytes} bytes of requests wait to be stored, the limit is "
                    f"{self._budget.limit_bytes}; send again later",
                )
            )
        self._size_bytes += size_bytes

    def grow_to(self, size_bytes: int) -> None:
        """Take as many bytes as are missing to so many in all; errors as `grow`."""
        self.grow(max(size_bytes - self._size_bytes, 0))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._budget.give_back(self._size_bytes)
        self._size_bytes = 0
