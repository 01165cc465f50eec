"""Whose fault it is that a transaction failed: the data's, the memory's of this process, or the store's."""

from __future__ import annotations

from enum import Enum

import duckdb

from tracekit.errors import StoreError, StoreFullError, StoreLockedError, StoreMemoryError, StoreVersionError

# What DuckDB says of values that its schema or its types refuse, and of defects that some data trips.
_OF_DATA = (
    duckdb.ConstraintException,
    duckdb.ConversionException,
    duckdb.DataError,
    duckdb.IntegrityError,
    duckdb.InternalException,
    duckdb.InvalidInputException,
    duckdb.NotImplementedException,
    duckdb.OutOfRangeException,
    duckdb.TypeMismatchException,
)
_INVALIDATED = "database has been invalidated"


class Fault(Enum):
    """What made a transaction fail."""

    DATA = "data"
    MEMORY = "memory"
    STORE = "store"


def fault_of(error: Exception) -> Fault:
    """Whose fault an error while writing is. What no store raises is a defect that the data tripped."""
    if not isinstance(error, StoreError):
        return Fault.MEMORY if isinstance(error, MemoryError) else Fault.DATA
    if isinstance(error, StoreMemoryError):
        return Fault.MEMORY
    cause = error.__cause__
    if isinstance(error, StoreFullError | StoreLockedError | StoreVersionError):
        return Fault.STORE
    return Fault.DATA if isinstance(cause, _OF_DATA) else Fault.STORE


def is_unusable_after(error: Exception) -> bool:
    """Whether DuckDB refuses all further work until the file is opened anew."""
    cause = error.__cause__
    return isinstance(cause, duckdb.FatalException | duckdb.InternalException) or _INVALIDATED in str(error)
