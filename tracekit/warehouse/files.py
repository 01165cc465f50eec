"""Tables of a store to files of a warehouse."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from tracekit.errors import StoreError
from tracekit.warehouse.columns import portable, table_columns
from tracekit.warehouse.manifest import TIMED_TABLES, DataFile
from tracekit.warehouse.shredding import shredding

DATA = "data"
"""The folder with the Parquet files, one folder a table in it."""
_FORMAT = "FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, COMPRESSION_LEVEL 9, DICTIONARY_SIZE_LIMIT 1000"
"""Ids hardly come again: a dictionary of them takes more room than zstd, which looks further back from level 9 on."""


def export(
    cursor: duckdb.DuckDBPyConnection,
    folder: Path,
    table: str,
    *,
    name: str,
    where: str = "TRUE",
    first_unit_id: int = 0,
) -> DataFile | None:
    """Write the rows of a table for which a condition holds to a file under a name of this attempt; None for no rows.

    `first_unit_id` is added to the numbers of units.
    """
    selected = portable([each for each in table_columns(cursor, table) if each.name != "rowid"])
    numbered = f"(SELECT * REPLACE (unit_id + {first_unit_id} AS unit_id) FROM base.{table})"
    source = numbered if '"unit_id"' in selected and first_unit_id else f"base.{table}"
    rows = f"SELECT {selected} FROM {source} AS {table} WHERE {where}"
    return _written(cursor, folder, table, rows, name=name)


def put_together(
    cursor: duckdb.DuckDBPyConnection, folder: Path, table: str, files: Sequence[DataFile], *, name: str
) -> DataFile:
    """Write the rows of several files of a table, one behind the other, to a file under a name of this attempt."""
    listed = ", ".join(_literal(folder / file.path) for file in files)
    written = _written(cursor, folder, table, f"FROM read_parquet([{listed}])", name=name)
    if written is None:
        raise StoreError(f"the files {listed} have no rows, though the manifest of the warehouse tells some")
    return written


def exported(
    cursor: duckdb.DuckDBPyConnection, folder: Path, tables: Iterable[str], *, name: str, first_unit_id: int = 0
) -> tuple[DataFile, ...]:
    """Write all rows of tables; the files of those that have any."""
    files = (export(cursor, folder, table, name=name, first_unit_id=first_unit_id) for table in tables)
    return tuple(file for file in files if file is not None)


def _written(cursor: duckdb.DuckDBPyConnection, folder: Path, table: str, rows: str, *, name: str) -> DataFile | None:
    """Write the rows of a statement to a new file; None for no rows."""
    path = _new_path(folder, table, name)
    cursor.execute(f"CREATE OR REPLACE TEMP VIEW exported AS {rows}")
    options = _FORMAT + shredding(cursor, table_columns(cursor, table))
    count = int(cursor.execute(f"COPY (FROM exported) TO {_literal(path)} ({options})").fetchall()[0][0])
    if not count:
        path.unlink()
        return None
    return _described(cursor, folder, table, path, count)


def _described(cursor: duckdb.DuckDBPyConnection, folder: Path, table: str, path: Path, rows: int) -> DataFile:
    """A file that was written, with the time of its rows."""
    times: tuple[int | None, ...] = (None, None)
    if table in TIMED_TABLES:
        asked = f"SELECT min(start_ns), max(start_ns) FROM read_parquet([{_literal(path)}])"
        times = cursor.execute(asked).fetchall()[0]
    return DataFile(table, path.relative_to(folder).as_posix(), rows, path.stat().st_size, *times)


def _new_path(folder: Path, table: str, name: str) -> Path:
    path = folder / DATA / table / f"{name}-{secrets.token_hex(8)}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _literal(path: Path) -> str:
    return "'" + str(path.resolve()).replace("'", "''") + "'"
