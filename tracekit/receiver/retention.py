"""How long and how much a server keeps."""

from __future__ import annotations

import logging
import time

from tracekit.store import Database, prune, used_bytes

_log = logging.getLogger(__name__)

_INTERVAL_S = 30.0
# Clocks are set right by less than this while a server runs.
_JUMP_NS = 60 * 10**9
# Goes on while a machine sleeps, where the system has such a clock.
_STEADY_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SteadyClock:
    """Wall-clock time of which nothing is old too soon: a jump ahead of the machine's clock does not count.

    Data that was deleted because the clock showed next year for a minute does not come back.
    """

    def __init__(self) -> None:
        self._began_ns = time.time_ns() - time.clock_gettime_ns(_STEADY_CLOCK)
        self._told = False

    def now_ns(self) -> int:
        """The machine's time, or what it would be without jumps since the start where that is earlier."""
        shown_ns, steady_ns = time.time_ns(), self._began_ns + time.clock_gettime_ns(_STEADY_CLOCK)
        jumped_ns = shown_ns - steady_ns
        if jumped_ns > _JUMP_NS and not self._told:
            _log.warning(
                "the clock jumped ahead by %d s: what is old is told without the jump; restart if it is right now",
                jumped_ns // 10**9,
            )
        self._told = jumped_ns > _JUMP_NS
        return min(shown_ns, steady_ns)


class Retention:
    """Takes old data out of an open store now and then; None keeps for ever, and all."""

    def __init__(self, *, max_age_s: int | None = None, max_bytes: int | None = None) -> None:
        self._max_age_s = max_age_s
        self._max_bytes = max_bytes
        self._applied_at = 0.0
        self._clock = SteadyClock()

    def apply(self, database: Database) -> None:
        """Prune, where there are limits and the last time is a while ago. Raises `StoreError`."""
        if time.monotonic() - self._applied_at < _INTERVAL_S or not self._has_work(database):
            return
        self._applied_at = time.monotonic()
        before_ns = None if self._max_age_s is None else self._clock.now_ns() - self._max_age_s * 10**9
        removed = prune(database, before_ns=before_ns, max_bytes=self._max_bytes)
        if removed.before_ns is not None:
            _log.info("pruned %s", removed)

    def _has_work(self, database: Database) -> bool:
        is_too_large = self._max_bytes is not None and used_bytes(database) > self._max_bytes
        return self._max_age_s is not None or is_too_large
