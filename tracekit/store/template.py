"""A new store as a copy of one that is kept ready: its schema takes some 700 statements, a copy takes one.

The template is a database file beside the compiled kernels of this package, made by the process that first needs it
and known by its statements and the version of DuckDB. Where none can be kept or read, new stores run the statements.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import duckdb

from tracekit.errors import StoreError
from tracekit.store import schema
from tracekit.store.connection import connect, connect_new_in_memory

_NAME = "schema-{key}.duckdb"


def new_file(path: Path) -> None:
    """Put a copy of the template at `path`, where nothing is there yet; without a template nothing is put there."""
    source = _template()
    if source is None or path.exists():
        return
    copy = _unfinished(path)
    # A file system without hard links, or no room: the statements tell what is wrong, if anything is.
    with suppress(OSError):
        shutil.copyfile(source, copy)
        os.link(copy, path)
    with suppress(OSError):
        copy.unlink(missing_ok=True)


def new_in_memory(
    tuning: Mapping[str, str] = MappingProxyType({}), *, folder: Path | str | None = None, file_system: Any = None
) -> duckdb.DuckDBPyConnection:
    """A connection as `connect` gives to a database in memory, with the schema where there is a template.

    Its SQL reaches the files of `folder`, where one is given, by `file_system` (of fsspec), where one is given.
    """
    return connect_new_in_memory(_template(), tuning=tuning, folder=folder, file_system=file_system)


def _template() -> Path | None:
    """The template that goes with the statements and the DuckDB of this process; None where none can be kept."""
    kept = _folder() / _NAME.format(key=_key())
    if kept.exists():
        return kept
    return _made(kept)


def _folder() -> Path:
    return Path(importlib.util.cache_from_source(__file__)).parent


def _key() -> str:
    known_by = "\n".join([duckdb.__version__, schema.texts()])
    return hashlib.sha256(known_by.encode()).hexdigest()[:16]


def _made(kept: Path) -> Path | None:
    """Make the template as a whole or not at all, in place of those of other statements."""
    copy = _unfinished(kept)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        with connect(copy, read_only=False) as connection:
            connection.execute("BEGIN TRANSACTION")
            schema.lay_down(connection)
            connection.execute("COMMIT")
        for outdated in kept.parent.glob(_NAME.format(key="*")):
            outdated.unlink(missing_ok=True)
        copy.replace(kept)
    except (OSError, duckdb.Error, StoreError):
        return None
    finally:
        with suppress(OSError):
            copy.unlink(missing_ok=True)
    return kept


def _unfinished(path: Path) -> Path:
    """A name beside `path` that nobody else uses."""
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}")
