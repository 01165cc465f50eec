"""One way to stop: SIGTERM and SIGINT end a server at any moment, in order and within ten seconds."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Supervisors kill after ten seconds, often; what is acknowledged is durable without a tidy end.
_LONGEST_S = 9.0


class StoppedError(BaseException):
    """Ends a start that a signal came into."""


class Stopping:
    """Told once that the server is to stop, by a signal; whoever waits for it goes on."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._is_starting = True

    @property
    def ended_the_start(self) -> bool:
        """Whether a signal came while the server was starting."""
        return self._is_starting and self._event.is_set()

    def started(self) -> None:
        """Say that the server runs: from now on a signal ends the wait instead of the start."""
        if self._event.is_set():
            raise StoppedError
        self._is_starting = False

    def wait(self) -> None:
        """Return when the server is to stop."""
        self._event.wait()

    def stop(self) -> None:
        """Let the server stop."""
        if not self._event.is_set():
            self._event.set()
            threading.Thread(target=_end_late, name="tracekit-stopping", daemon=True).start()

    def _signalled(self, number: int, frame: FrameType | None) -> None:
        is_first = not self._event.is_set()
        self.stop()
        if is_first and self._is_starting:
            raise StoppedError


@contextmanager
def stopping_by_signals() -> Iterator[Stopping]:
    """Inside the block, in the main thread, signals stop the server and do nothing else.

    A start that is interrupted ends the block quietly.
    """
    stopping = Stopping()
    before = {number: signal.signal(number, stopping._signalled) for number in _SIGNALS}
    try:
        yield stopping
    except BaseException as error:
        # A library that looks for signals itself tells them as an error of its own: DuckDB says "Query interrupted".
        if not stopping.ended_the_start:
            raise
        _log.debug("the start was interrupted: %r", error)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_on_signals() -> None:
    """End the process with 0 when a signal comes: nothing is open yet."""
    for number in _SIGNALS:
        signal.signal(number, lambda number, frame: exit_now())


def exit_now() -> None:
    """End the process with 0, whatever other threads still do."""
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    os._exit(0)


def _end_late() -> None:
    threading.Event().wait(_LONGEST_S)
    _log.warning("not all ended within %g s; what was acknowledged is stored, the next start does the rest", _LONGEST_S)
    exit_now()
