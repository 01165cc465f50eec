"""Requests on their way into the store: they wait to be read, and then to be written."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

from tracekit.receiver.export import Export
from tracekit.receiver.groups import ReadGroup

# While the writer is busy, less is left to gather: reading single requests costs more than it gains.
_READ_AHEAD_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Taken:
    """A group of requests that has been read."""

    exports: list[Export]
    read: ReadGroup | None
    """None where the requests could not be read together."""
    taken_at_s: float

    @property
    def size_bytes(self) -> int:
        """Bytes of the requests."""
        return sum(len(export.payload) for export in self.exports)


class WaitingRequests:
    """Two queues, before reading and before writing. Any thread may add; one thread reads and one writes.

    The reader gets what waits in groups of up to `group_bytes`, at once where the writer has nothing to do, else
    when enough has gathered, until as much is read as one group holds. The writer takes all that has been read.
    """

    def __init__(self, *, group_bytes: int) -> None:
        self._group_bytes = group_bytes
        self._waiting: deque[Export] = deque()
        self._waiting_bytes = 0
        self._read: list[Taken] = []
        self._read_bytes = 0
        self._writer_is_idle = False
        self._changed = threading.Condition()
        self._is_closed = False
        self._is_all_read = False

    def add(self, export: Export) -> bool:
        """Add a request; False when the queue is closed."""
        with self._changed:
            if self._is_closed:
                return False
            self._waiting.append(export)
            self._waiting_bytes += len(export.payload)
            self._changed.notify_all()
            return True

    def close(self) -> None:
        """Take no more requests; those that wait can still be taken."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._is_closed

    def next_group(self) -> list[Export] | None:
        """For the reader: what waits, up to the group's bytes, at least one request; None at the end."""
        with self._changed:
            self._changed.wait_for(self._is_time_to_read)
            if not self._waiting:
                self._is_all_read = True
                self._changed.notify_all()
                return None
            group = [self._waiting.popleft()]
            size_bytes = len(group[0].payload)
            while self._waiting and size_bytes + len(self._waiting[0].payload) <= self._group_bytes:
                group.append(self._waiting.popleft())
                size_bytes += len(group[-1].payload)
            self._waiting_bytes -= size_bytes
            return group

    def add_read(self, taken: Taken) -> None:
        """For the reader: hand a group on to the writer."""
        with self._changed:
            self._read.append(taken)
            self._read_bytes += taken.size_bytes
            self._changed.notify_all()

    def take_read(self, *, timeout_s: float) -> list[Taken] | None:
        """For the writer: all that has been read, nothing after a while without; None at the end."""
        with self._changed:
            self._writer_is_idle = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._read or self._is_all_read, timeout=timeout_s)
            self._writer_is_idle = False
            taken, self._read, self._read_bytes = self._read, [], 0
            self._changed.notify_all()
            return None if self._is_all_read and not taken else taken

    def _is_time_to_read(self) -> bool:
        if not self._waiting:
            return self._is_closed
        if self._writer_is_idle and not self._read:
            return True
        return self._waiting_bytes >= _READ_AHEAD_BYTES and self._read_bytes < self._group_bytes
