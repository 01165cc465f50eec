"""Keeps units and unit stages close behind what arrives."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from tracekit.errors import TracekitError
from tracekit.receiver.faults import Fault, fault_of
from tracekit.receiver.held_store import HeldStore
from tracekit.receiver.retention import Retention
from tracekit.stages import update_units

_log = logging.getLogger(__name__)

# What came first should be in its units about this long after it was committed.
_VISIBLE_S = 1.6
# Between two updates, so that receiving has the processors to itself for a while.
_SHORTEST_PAUSE_S = 0.2
# Without a commit for this long nothing more is coming.
_QUIET_S = 0.35
# What DuckDB remembers of so many rows takes about 12 MB, and its cache of what was just written 45 MB.
_RENEW_AFTER_ROWS = 1_000_000
# Data grows old while nothing arrives.
_IDLE_S = 30.0


class UnitsUpdater:
    """A thread that brings units up to date after what was committed, the more at once the more comes.

    An update costs much less for many spans at once than for few at a time. So where commits follow each
    other it waits as long as what came first allows, and takes all that has come by then.
    """

    def __init__(
        self, store: HeldStore, retention: Retention, *, free_memory: Callable[[], object] = lambda: None
    ) -> None:
        """`free_memory` ends what others do with the store's memory."""
        self._store = store
        self._retention = retention
        self._free_memory = free_memory
        self._arrived = threading.Event()
        self._oldest_at: float | None = None
        self._last_update_s = 0.0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracekit-units", daemon=True)

    @property
    def behind_s(self) -> float:
        """Seconds since the first commit that is in no unit yet; 0 when all are."""
        oldest_at = self._oldest_at
        return 0.0 if oldest_at is None else time.monotonic() - oldest_at

    def start(self) -> None:
        """Start updating; what is in the store already is brought up to date first."""
        self.notice()
        self._thread.start()

    def notice(self) -> None:
        """Say that a commit brought something new."""
        if self._oldest_at is None:
            self._oldest_at = time.monotonic()
        self._arrived.set()

    def close(self, *, longest_s: float | None = None) -> None:
        """Bring the units up to date once more, and stop; what takes longer is left to the next start.

        The thread then still runs, so the process must end without waiting for it.
        """
        self._closing.set()
        self._arrived.set()
        if self._thread.ident is None:
            return
        self._thread.join(timeout=longest_s)
        if self._thread.is_alive():
            _log.warning("units are behind: the next start brings them up to date")

    def _run(self) -> None:
        pause_s = _SHORTEST_PAUSE_S
        while True:
            self._arrived.wait(timeout=_IDLE_S)
            self._gather()
            is_last = self._closing.is_set()
            is_done = self._update(is_last=is_last)
            if is_last:
                return
            pause_s = _SHORTEST_PAUSE_S if is_done else min(2 * pause_s, _IDLE_S)
            self._closing.wait(pause_s)

    def _gather(self) -> None:
        """Wait while more is coming and what came first may wait."""
        due_at = (self._oldest_at or 0.0) + _VISIBLE_S - self._last_update_s
        while not self._closing.is_set():
            self._arrived.clear()
            left_s = due_at - time.monotonic()
            if left_s <= 0 or not self._arrived.wait(min(_QUIET_S, left_s)):
                return

    def _update(self, *, is_last: bool) -> bool:
        """Whether all that was committed before is in its units now; what is not is tried again."""
        started = time.monotonic()
        # Before the update reads: what is committed from now on may be in it or not.
        oldest_at, self._oldest_at = self._oldest_at, None
        error = self._tried(is_last=is_last)
        if error is not None and fault_of(error) is Fault.MEMORY:
            # Whoever asks gives way to what arrives.
            self._free_memory()
            error = self._tried(is_last=is_last)
        self._last_update_s = time.monotonic() - started
        if error is None:
            return True
        self._oldest_at = oldest_at or started
        self._arrived.set()
        if not self._closing.is_set():
            _log.warning("units are behind: %s", error, exc_info=None if isinstance(error, TracekitError) else error)
        return False

    def _tried(self, *, is_last: bool) -> Exception | None:
        """What hindered the update; receiving goes on whatever happens here."""
        try:
            update_units(self._store.database, is_following=not is_last)
            self._retention.apply(self._store.database)
            self._store.renew_after(_RENEW_AFTER_ROWS)
        except Exception as error:
            return error
        return None
