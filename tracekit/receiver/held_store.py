"""The one database of a server, opened anew when a full disk or another fault has made it unusable."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from tracekit.errors import StoreError
from tracekit.store import Database

_log = logging.getLogger(__name__)

_REOPEN_INTERVAL_S = 1.0


class HeldStore:
    """A database that may fail and come back; every user asks for `database` each time."""

    def __init__(
        self, path: Path, open_database: Callable[[], Database], *, clear: Callable[[], object] = lambda: None
    ) -> None:
        """`clear` ends what others do with the database: only then does DuckDB let go of the file."""
        self._path = path
        self._open_database = open_database
        self._clear = clear
        self._database = open_database()
        self._identity = _identity(path)
        self._told = False
        self._lock = threading.Lock()
        self._fault: str | None = None
        self._tried_at = 0.0

    @property
    def database(self) -> Database:
        """The open database. Raises `StoreError` while it is unusable."""
        if (fault := self.fault) is not None:
            raise StoreError(fault)
        return self._database

    @property
    def fault(self) -> str | None:
        """Why nothing can be stored now; None when all is well."""
        return self._fault or self._displacement()

    @property
    def is_usable(self) -> bool:
        """Whether the database can be written, as far as is known."""
        return self.fault is None

    def check_in_place(self) -> None:
        """Raise `StoreError` where the file is no longer at its place, so that what was written is in no store."""
        if (fault := self._displacement()) is not None:
            raise StoreError(fault)

    def fail(self, fault: str) -> None:
        """Take the database out of use: DuckDB refuses all work after such a fault until it is opened
        anew."""
        with self._lock:
            self._fault = fault
            self._tried_at = time.monotonic()
            self._database.close()
        self._clear()

    def renew_after(self, row_count: int) -> None:
        """Open the file anew when so many rows were written and nobody reads it just now."""
        database = self.database
        try:
            if database.dedup_cache.rows_written >= row_count:
                database.renew()
        except StoreError as error:
            _log.exception("the store could not be opened again")
            self.fail(str(error))

    def reopen(self, *, at_once: bool = False) -> bool:
        """Try to open the database again, a second after the fault and then once a second; whether it is usable."""
        with self._lock:
            if self._fault is None or self._displacement() is not None:
                return self._fault is None
            if time.monotonic() - self._tried_at < _REOPEN_INTERVAL_S and not at_once:
                return False
            self._tried_at = time.monotonic()
            try:
                self._database = self._open_database()
            except StoreError as error:
                self._fault = str(error)
                return False
            self._fault = None
        _log.warning("the store is open again, requests are accepted")
        return True

    def _displacement(self) -> str | None:
        """What happened to the file while it was open; None where it is at its place."""
        found = _identity(self._path)
        if found == self._identity:
            if self._told:
                self._told = False
                _log.warning("%s is back, requests are accepted", self._path)
            return None
        what = "was moved or removed" if found is None else "was replaced by another file"
        fault = (
            f"{self._path} {what} while this server had it open; move the right file back, or stop the server: "
            "nothing is stored and nothing answered until then"
        )
        if not self._told:
            self._told = True
            _log.error("%s", fault)
        return fault

    def close(self) -> None:
        """Close the database."""
        with self._lock:
            self._database.close()
            self._fault = "the store is closed"


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
