"""How long and how much a server keeps."""

from __future__ import annotations

import logging
import time

from tracekit.store import Database, prune, used_bytes

_log = logging.getLogger(__name__)

_INTERVAL_S = 30.0


class Retention:
    """Takes old data out of an open store now and then; None keeps for ever, and all."""

    def __init__(self, *, max_age_s: int | None = None, max_bytes: int | None = None) -> None:
        self._max_age_s = max_age_s
        self._max_bytes = max_bytes
        self._applied_at = 0.0

    def apply(self, database: Database) -> None:
        """Prune, where there are limits and the last time is a while ago. Raises `StoreError`."""
        if time.monotonic() - self._applied_at < _INTERVAL_S or not self._has_work(database):
            return
        self._applied_at = time.monotonic()
        before_ns = None if self._max_age_s is None else time.time_ns() - self._max_age_s * 10**9
        removed = prune(database, before_ns=before_ns, max_bytes=self._max_bytes)
        if removed.before_ns is not None:
            _log.info("pruned %s", removed)

    def _has_work(self, database: Database) -> bool:
        is_too_large = self._max_bytes is not None and used_bytes(database) > self._max_bytes
        return self._max_age_s is not None or is_too_large
