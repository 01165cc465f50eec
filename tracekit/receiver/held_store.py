"""The one database of a server, opened anew when a full disk or another fault has made it unusable."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from tracekit.errors import StoreError
from tracekit.store import Database

_log = logging.getLogger(__name__)

_REOPEN_INTERVAL_S = 1.0


class HeldStore:
    """A database that may fail and come back; every user asks for `database` each time."""

    def __init__(self, open_database: Callable[[], Database]) -> None:
        self._open_database = open_database
        self._database = open_database()
        self._lock = threading.Lock()
        self._fault: str | None = None
        self._tried_at = 0.0

    @property
    def database(self) -> Database:
        """The open database. Raises `StoreError` while it is unusable."""
        if self._fault is not None:
            raise StoreError(self._fault)
        return self._database

    @property
    def fault(self) -> str | None:
        """Why nothing can be stored now; None when all is well."""
        return self._fault

    @property
    def is_usable(self) -> bool:
        """Whether the database can be written, as far as is known."""
        return self._fault is None

    def fail(self, fault: str) -> None:
        """Take the database out of use: DuckDB refuses all work after such a fault until it is opened
        anew."""
        with self._lock:
            self._fault = fault
            self._tried_at = time.monotonic()
            self._database.close()

    def renew_after(self, row_count: int) -> None:
        """Open the file anew when so many rows were written and nobody reads it just now."""
        database = self.database
        try:
            if database.dedup_cache.rows_written >= row_count:
                database.renew()
        except StoreError as error:
            _log.exception("the store could not be opened again")
            self.fail(str(error))

    def reopen(self) -> bool:
        """Try to open the database again, a second after the fault and then once a second; whether it is usable."""
        with self._lock:
            if self._fault is None or time.monotonic() - self._tried_at < _REOPEN_INTERVAL_S:
                return self._fault is None
            self._tried_at = time.monotonic()
            try:
                self._database = self._open_database()
            except StoreError as error:
                self._fault = str(error)
                return False
            self._fault = None
        _log.warning("the store is open again, requests are accepted")
        return True

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()
            self._fault = "the store is closed"
