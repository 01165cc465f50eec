"""Keeps units and unit stages close behind what arrives."""

from __future__ import annotations

import logging
import threading
import time

from tracekit.errors import TracekitError
from tracekit.receiver.held_store import HeldStore
from tracekit.receiver.retention import Retention
from tracekit.stages import update_units

_log = logging.getLogger(__name__)

# Between two updates, so that a steady stream is not followed span by span: as long as the last one
# took, within bounds.
_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 1.0
# Data grows old while nothing arrives.
_IDLE_S = 30.0


class UnitsFollower:
    """A thread that brings units up to date after each commit, or after several at once."""

    def __init__(self, store: HeldStore, retention: Retention) -> None:
        self._store = store
        self._retention = retention
        self._arrived = threading.Event()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="tracekit-units", daemon=True)

    def start(self) -> None:
        """Start following; what is in the store already is brought up to date first."""
        self._arrived.set()
        self._thread.start()

    def notice(self) -> None:
        """Say that a commit brought something new."""
        self._arrived.set()

    def close(self) -> None:
        """Bring the units up to date once more, and stop."""
        self._is_closing = True
        self._arrived.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._arrived.wait(timeout=_IDLE_S)
            self._arrived.clear()
            is_last = self._is_closing
            started = time.monotonic()
            self._update()
            if is_last:
                return
            if not self._is_closing:
                time.sleep(min(max(time.monotonic() - started, _SHORTEST_PAUSE_S), _LONGEST_PAUSE_S))

    def _update(self) -> None:
        try:
            update_units(self._store.database)
            self._retention.apply(self._store.database)
        except TracekitError as error:
            _log.warning("units are behind: %s", error)
        except Exception:
            # The next commit tries again; receiving must go on whatever happens here.
            _log.exception("units could not be brought up to date")
