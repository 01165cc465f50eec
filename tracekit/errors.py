"""What can go wrong, as one tree of exceptions.

    TracekitError
    ├── UsageError             the question or its options do not make sense
    ├── QueryError             a SQL statement that DuckDB refuses
    ├── BusyError              a server that answers as much as it may; asking later helps
    ├── UnknownFormatError     a file that is none of the known formats
    ├── StoreError             the trace store cannot be used
    │   ├── StoreLockedError   another process holds the file
    │   ├── StoreVersionError  the file was written by a newer tracekit
    │   ├── StoreFullError     the disk is full
    │   └── StoreMemoryError   its memory is used up just now
    └── InsufficientDataError  the data cannot bear the answer that was asked for

Every message says what happened, where, and what to do about it; what programs want to know of it are attributes, None
where it is not known. Errors survive `pickle`, and `facts` with the message rebuilds them in another process.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


class TracekitError(Exception):
    """The root of all errors that tracekit raises on purpose."""

    @property
    def facts(self) -> dict[str, Any]:
        """The attributes of this error by name, as plain values: keyword arguments of its class."""
        return {
            name: str(value) if isinstance(value, Path) else value
            for name, value in vars(self).items()
            if not name.startswith("__")
        }


class UsageError(TracekitError, ValueError):
    """The question or one of its options does not make sense.

    option: the option or argument at fault, as Python spells it. value: what it was given.
    """

    def __init__(self, message: str, *, option: str | None = None, value: str | None = None) -> None:
        super().__init__(message)
        self.option = option
        self.value = value


class QueryError(TracekitError):
    """A SQL statement that DuckDB refuses.

    statement: the statement, or the condition, as it was given.
    """

    def __init__(self, message: str, *, statement: str | None = None) -> None:
        super().__init__(message)
        self.statement = statement


class BusyError(TracekitError):
    """A server that answers as many questions as it may; asking later helps."""


class UnknownFormatError(TracekitError, ValueError):
    """A file whose content is none of the known formats.

    path: the file.
    """

    def __init__(self, message: str, *, path: str | Path | None = None) -> None:
        super().__init__(message)
        self.path = None if path is None else Path(path)


class StoreError(TracekitError):
    """The trace store cannot be opened, read or written.

    path: the DuckDB file; None for a store in memory.
    """

    def __init__(self, message: str, *, path: str | Path | None = None) -> None:
        super().__init__(message)
        self.path = None if path is None else Path(path)


class StoreLockedError(StoreError):
    """Another process holds the trace store.

    endpoint: URL where the server that holds it can be asked. pid: that process.
    """

    def __init__(
        self, message: str, *, path: str | Path | None = None, endpoint: str | None = None, pid: int | None = None
    ) -> None:
        super().__init__(message, path=path)
        self.endpoint = endpoint
        self.pid = pid


class StoreVersionError(StoreError):
    """The trace store was written by a newer tracekit."""


class StoreFullError(StoreError):
    """The disk that holds the trace store is full."""


class StoreMemoryError(StoreError):
    """What DuckDB may hold in memory is used up just now; nothing is wrong with the trace store."""


class InsufficientDataError(TracekitError):
    """The data cannot bear the answer that was asked for."""
