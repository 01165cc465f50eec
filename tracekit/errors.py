"""What can go wrong, as one tree of exceptions.

    TracekitError
    ├── UsageError             the question or its options do not make sense
    ├── QueryError             a SQL statement that DuckDB refuses
    ├── BusyError              a server that answers as much as it may; asking later helps
    ├── UnknownFormatError     a file that is none of the known formats
    ├── StoreError             the trace store cannot be used
    │   ├── StoreLockedError   another process holds the file
    │   ├── StoreVersionError  the file was written by a newer tracekit
    │   └── StoreFullError     the disk is full
    └── InsufficientDataError  the data cannot bear the answer that was asked for

Every message says what happened, where, and what to do about it.
"""

from __future__ import annotations


class TracekitError(Exception):
    """The root of all errors that tracekit raises on purpose."""


class UsageError(TracekitError, ValueError):
    """The question or one of its options does not make sense."""


class QueryError(TracekitError):
    """A SQL statement that DuckDB refuses."""


class BusyError(TracekitError):
    """A server that answers as many questions as it may; asking later helps."""


class UnknownFormatError(TracekitError, ValueError):
    """A file whose content is none of the known formats."""


class StoreError(TracekitError):
    """The trace store cannot be opened, read or written."""


class StoreLockedError(StoreError):
    """Another process holds the trace store."""


class StoreVersionError(StoreError):
    """The trace store was written by a newer tracekit."""


class StoreFullError(StoreError):
    """The disk that holds the trace store is full."""


class InsufficientDataError(TracekitError):
    """The data cannot bear the answer that was asked for."""
