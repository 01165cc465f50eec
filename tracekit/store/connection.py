"""Connections to a DuckDB file, and what its faults mean for the person at the keyboard."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb

from tracekit import queries
from tracekit.errors import StoreError, StoreFullError, StoreLockedError, StoreMemoryError, StoreVersionError

# Data enters as Arrow tables, so SQL never needs the file system, and nobody who types SQL gets it.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "lock_configuration": True,
    # A batch leaves a row group that is not full; merging those at checkpoints would write most rows twice.
    "max_vacuum_tasks": 0,
    # Small row groups, too, keep each attribute as a column: a third smaller, and fast to filter by.
    "variant_minimum_shredding_size": 8192,
}
# A batch seldom fills its last row group.
_SERVED_SETTINGS = {"variant_minimum_shredding_size": 2048}
# In this order: nothing can be attached after the first, nothing set after the second.
_CLOSING = ("enable_external_access", "lock_configuration")
BOUNDED_SCHEMA = "memory.bounded"
"""Schema of functions within bounds, which questions to a served store search before DuckDB's own."""
SERVED_CATALOG = "store"
"""Name that an attached store has among the databases of its connection."""
_TEMPLATE = "schema_template"

_FULL = (
    "No space left on device",
    "Disk quota exceeded",
    "File too large",
    "could not allocate block",
    "disk full",
    f"errno {errno.ENOSPC}",
)
# "failed to pin block of size 256.0 KiB (672.2 MiB/672.0 MiB used)"
_MEMORY_USED_UP = re.compile(r"Out of Memory Error|/[\d.]+ \w+ used\)")
_OPEN_HERE = ("different configuration", "Unique file handle conflict")
_BROKEN_LOG = "replaying WAL"
_NEWER_STORAGE = "Trying to read a database file with version number"


def connect(
    path: Path | None, *, read_only: bool, tuning: Mapping[str, str] = MappingProxyType({})
) -> duckdb.DuckDBPyConnection:
    """Connect to the DuckDB file at `path` (None: in memory), without access to anything else.

    `tuning` are further settings of DuckDB, such as `memory_limit`.

    Raises `StoreLockedError`, `StoreVersionError` or `StoreError`.
    """
    with store_errors(path):
        target = str(path) if path else ":memory:"
        return duckdb.connect(target, read_only=read_only, config={**_SETTINGS, **tuning})


def connect_new_in_memory(
    template: Path | None,
    *,
    tuning: Mapping[str, str],
    folder: Path | str | None = None,
    file_system: Any = None,
) -> duckdb.DuckDBPyConnection:
    """Connect as `connect` does to a new database in memory that holds what is in the file `template`.

    A template that cannot be read leaves the database empty. Its SQL reaches the files of `folder`, where one is
    given, and no others; `file_system` (of fsspec) reads them where they are not files of this machine. Raises as
    `connect`.
    """
    with store_errors(None):
        connection = duckdb.connect(":memory:", config={**_ajar(), **tuning})
        try:
            if template is not None:
                _copy(connection, template)
            if file_system is not None:
                connection.register_filesystem(file_system)
            if folder is not None:
                connection.execute(f"SET GLOBAL allowed_directories = [{_literal(folder)}]")
            _close_doors(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _copy(connection: duckdb.DuckDBPyConnection, template: Path) -> None:
    try:
        connection.execute(f"ATTACH {_literal(template)} AS {_TEMPLATE} (READ_ONLY)")
        connection.execute(f"COPY FROM DATABASE {_TEMPLATE} TO memory")
        connection.execute(f"DETACH {_TEMPLATE}")
    except duckdb.Error:
        return


def _ajar() -> dict[str, str | bool | int | float | list[str]]:
    return {name: value for name, value in _SETTINGS.items() if name not in _CLOSING}


def _close_doors(connection: duckdb.DuckDBPyConnection) -> None:
    for name in _CLOSING:
        connection.execute(f"SET GLOBAL {name} = {_SETTINGS[name]}")


def connect_served(path: Path, *, row_group_rows: int, tuning: Mapping[str, str]) -> duckdb.DuckDBPyConnection:
    """Connect to the file at `path` for taking small batches for long, in row groups of `row_group_rows` rows.

    DuckDB compresses a batch of a whole row group in the transaction that brings it, straight to its place in the
    file. A smaller one goes into the log, and into the file at a checkpoint, for which everybody waits: a quarter
    more processor time. The size is an option of ATTACH only, so every cursor has to `USE` `SERVED_CATALOG`.
    Raises as `connect`.
    """
    with store_errors(path):
        connection = duckdb.connect(":memory:", config={**_ajar(), **_SERVED_SETTINGS, **tuning})
        try:
            connection.execute(f"ATTACH {_literal(path)} AS {SERVED_CATALOG} (ROW_GROUP_SIZE {row_group_rows})")
            connection.execute(queries.text("store/bounded_functions"))
            _close_doors(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def _literal(path: Path | str) -> str:
    return "'" + str(path).replace("'", "''") + "'"


@contextmanager
def store_errors(path: Path | None) -> Iterator[None]:
    """Turn DuckDB's errors into the `StoreError` that says what to do."""
    try:
        yield
    except duckdb.Error as error:
        raise translated(error, path) from error


_REFUSALS = (
    duckdb.ConstraintException,
    duckdb.ConversionException,
    duckdb.OutOfRangeException,
    duckdb.InvalidInputException,
    duckdb.TypeMismatchException,
    duckdb.InvalidTypeException,
)
"""Faults of the rows that were to be stored; nothing is wrong with the file."""


def is_refusal(error: StoreError) -> bool:
    """Whether a statement failed because of the data in it, not because of the store."""
    return isinstance(error.__cause__, _REFUSALS)


def lacks_memory(error: duckdb.Error) -> bool:
    """Whether DuckDB's memory was used up.

    Only some statements say so by the kind of their error: a commit that finds none is a `TransactionException`, and a
    transaction that cannot be rolled back for want of memory a `FatalException`.
    """
    return isinstance(error, duckdb.OutOfMemoryException) or _MEMORY_USED_UP.search(str(error)) is not None


def translated(error: duckdb.Error, path: Path | None) -> StoreError:
    """The `StoreError` that a DuckDB error on the store at `path` amounts to."""
    message = str(error)
    where = str(path) if path else "the trace store in memory"
    if "Conflicting lock is held" in message:
        return StoreLockedError(_locked(message, where), path=path, pid=_holder(message))
    if any(sign in message for sign in _OPEN_HERE):
        return StoreLockedError(
            f"{where} is already open in this process in another mode; "
            "close that one first, or use the Database that is open",
            path=path,
        )
    if _NEWER_STORAGE in message:
        told = f"{where} was written by a newer DuckDB; upgrade tracekit to read it ({message})"
        return StoreVersionError(told, path=path)
    if _BROKEN_LOG in message and path is not None:
        return StoreError(_log_not_readable(path, message), path=path)
    if lacks_memory(error):
        told = f"the memory that DuckDB may have for {where} is used up just now; ask for less at once"
        return StoreMemoryError(f"{told} ({_first_line(message)})", path=path)
    if any(sign in message for sign in _FULL):
        return StoreFullError(f"no room to write {where}: free some space on its disk ({message})", path=path)
    return StoreError(f"{where} cannot be used as a trace store: {message}", path=path)


def _first_line(message: str) -> str:
    return message.split("\n", 1)[0]


def _holder(message: str) -> int | None:
    """The process that holds a file, where DuckDB names it."""
    named = re.search(r"\(PID (\d+)\)", message)
    return None if named is None else int(named[1])


def _log_not_readable(path: Path, message: str) -> str:
    log = path.with_name(path.name + ".wal")
    return (
        f"the log {log} cannot be read to its end ({message}); copy {path} and {log} to a safe place, then save what "
        f"is in the file itself with `mv {log} {log}.broken`, and send again what came since"
    )


def _locked(message: str, where: str) -> str:
    holder = re.search(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)", message)
    if holder is None:
        return f"another process holds {where}; stop it, or ask it instead of the file"
    return (
        f"{where} is held by process {holder['pid']} ({holder['program']}); "
        "wait until it has finished or stop it, then repeat the command"
    )
