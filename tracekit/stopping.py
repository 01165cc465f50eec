"""One way to stop: SIGTERM and SIGINT end a server at any moment, in order and within ten seconds."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

_log = logging.getLogger(__name__)

_SIGNALS = (signal.SIGTERM, signal.SIGINT)
# Supervisors kill after ten seconds, often; what is acknowledged is durable without a tidy end.
_LONGEST_S = 9.0
_MANY_SIGNALS = 4096


class StoppedError(BaseException):
    """Ends a start that a signal came into."""


class Stopping:
    """Told once that the server is to stop, by a signal; whoever waits for it goes on.

    The main thread waits for a byte in a pipe, which the interpreter's own handler writes whatever thread the system
    gives the signal to. A lock would not do: a signal that another thread gets does not wake who waits for a lock, and
    Python's handlers run in the main thread only.
    """

    def __init__(self) -> None:
        self._is_stopping = False
        self._is_starting = True
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_write, False)

    @property
    def ended_the_start(self) -> bool:
        """Whether a signal came while the server was starting."""
        return self._is_starting and self._is_stopping

    def started(self) -> None:
        """Say that the server runs: from now on a signal ends the wait instead of the start."""
        if self._is_stopping:
            raise StoppedError
        self._is_starting = False

    def wait(self) -> None:
        """Return when the server is to stop; in the main thread."""
        while not self._is_stopping:
            os.read(self._wake_read, _MANY_SIGNALS)

    def stop(self) -> None:
        """Let the server stop."""
        if self._is_stopping:
            return
        self._is_stopping = True
        # A pipe that is full wakes as well.
        with suppress(BlockingIOError):
            os.write(self._wake_write, b"\0")
        threading.Thread(target=_end_late, name="tracekit-stopping", daemon=True).start()

    @contextmanager
    def _signalled(self) -> Iterator[None]:
        """Inside the block signals are told to this object; afterwards to whom they were told before."""
        before = {number: signal.signal(number, self._on_signal) for number in _SIGNALS}
        woken_before = signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(woken_before)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._wake_read)
            os.close(self._wake_write)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        is_first = not self._is_stopping
        self.stop()
        if is_first and self._is_starting:
            raise StoppedError


@contextmanager
def stopping_by_signals() -> Iterator[Stopping]:
    """Inside the block, in the main thread, signals stop the server and do nothing else.

    A start that is interrupted ends the block quietly.
    """
    stopping = Stopping()
    with stopping._signalled():
        try:
            yield stopping
        except BaseException as error:
            # A library that looks for signals itself tells them as an error of its own: DuckDB's "Query interrupted".
            if not stopping.ended_the_start:
                raise
            _log.debug("the start was interrupted: %r", error)


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
