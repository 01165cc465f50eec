"""Requests that wait for the next transaction."""

from __future__ import annotations

import threading
from collections import deque

from tracekit.receiver.export import Export


class WaitingRequests:
    """A queue that is taken from in groups. Any thread may add; one takes."""

    def __init__(self, *, group_bytes: int) -> None:
        self._group_bytes = group_bytes
        self._waiting: deque[Export] = deque()
        self._changed = threading.Condition()
        self._is_closed = False

    def add(self, export: Export) -> bool:
        """Add a request; False when the queue is closed."""
        with self._changed:
            if self._is_closed:
                return False
            self._waiting.append(export)
            self._changed.notify()
            return True

    def close(self) -> None:
        """Take no more requests; those that wait can still be taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def next_group(self) -> list[Export] | None:
        """Everything that waits, up to the group's bytes, at least one request; None at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._is_closed)
            if not self._waiting:
                return None
            group = [self._waiting.popleft()]
            size_bytes = len(group[0].payload)
            while self._waiting and size_bytes + len(self._waiting[0].payload) <= self._group_bytes:
                group.append(self._waiting.popleft())
                size_bytes += len(group[-1].payload)
            return group
