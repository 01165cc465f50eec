"""Tables of a store to files of a warehouse."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from tracekit.warehouse.columns import portable, table_columns
from tracekit.warehouse.manifest import TIMED_TABLES, DataFile

DATA = "data"
"""The folder with the Parquet files, one folder a table in it."""
_FORMAT = "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd)"


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
    path = _new_path(folder, table, name)
    selected = portable([each for each in table_columns(cursor, table) if each.name != "rowid"])
    numbered = f"(SELECT * REPLACE (unit_id + {first_unit_id} AS unit_id) FROM base.{table})"
    source = numbered if '"unit_id"' in selected and first_unit_id else f"base.{table}"
    statement = f"COPY (SELECT {selected} FROM {source} AS {table} WHERE {where}) TO {_literal(path)} "
    rows = int(cursor.execute(statement + _FORMAT).fetchall()[0][0])
    if not rows:
        path.unlink()
        return None
    return _described(cursor, folder, table, path, rows)


def put_together(
    cursor: duckdb.DuckDBPyConnection, folder: Path, table: str, files: Sequence[DataFile], *, name: str
) -> DataFile:
    """Write the rows of several files of a table, one behind the other, to a file under a name of this attempt."""
    path = _new_path(folder, table, name)
    listed = ", ".join(_literal(folder / file.path) for file in files)
    cursor.execute(f"COPY (FROM read_parquet([{listed}])) TO {_literal(path)} {_FORMAT}")
    return _described(cursor, folder, table, path, sum(file.rows for file in files))


def exported(
    cursor: duckdb.DuckDBPyConnection, folder: Path, tables: Iterable[str], *, name: str, first_unit_id: int = 0
) -> tuple[DataFile, ...]:
    """Write all rows of tables; the files of those that have any."""
    files = (export(cursor, folder, table, name=name, first_unit_id=first_unit_id) for table in tables)
    return tuple(file for file in files if file is not None)


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
