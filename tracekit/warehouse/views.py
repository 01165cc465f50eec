"""Views over the files of a warehouse in place of the tables of a store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb

from tracekit.warehouse.columns import stored, table_columns
from tracekit.warehouse.manifest import TIMED_TABLES, DataFile, located

_FILE_ROWS = 1 << 40
"""More rows than a file has: the number of a row is that of its file times this, and its place there."""
_MOST_STRETCHES = 16
LEAST_BYTES = 16 << 20
"""Stretches of time that a view tells apart, and how large each is at least: every one makes the plans of an answer
together some 40 ms longer, about what is gained where so much is not read."""


def put_view(cursor: duckdb.DuckDBPyConnection, folder: Path | str, table: str, files: Sequence[DataFile]) -> None:
    """Put a view over files in the place of a table of the store; a table without files stays, and is empty.

    A table that is asked by time is a union of stretches of time, each with a condition that says which: DuckDB leaves
    out those that contradict the question before it reads their files.
    """
    if not files:
        return
    columns, branches, first_file = stored(table_columns(cursor, table)), [], 0
    for stretch in stretches(files, least_bytes=LEAST_BYTES) if table in TIMED_TABLES else [list(files)]:
        listed = scan(located(folder, file.path) for file in stretch)
        # Mappings know a span by the number of its row, as tables have one.
        row = f", ({first_file} + file_index::BIGINT) * {_FILE_ROWS} + file_row_number AS rowid"
        branches.append(f"SELECT {columns}{row if table == 'spans' else ''} FROM {listed}{_condition(table, stretch)}")
        first_file += len(stretch)
    cursor.execute(f"DROP TABLE base.{table}")
    cursor.execute(f"CREATE VIEW base.{table} AS {' UNION ALL '.join(branches)}")


def scan(files: Iterable[str]) -> str:
    """The table function that reads files."""
    listed = ", ".join("'" + path.replace("'", "''") + "'" for path in files)
    return f"read_parquet([{listed}])"


def stretches(files: Iterable[DataFile], *, least_bytes: int) -> list[list[DataFile]]:
    """Files by time: one that begins in the later half of a stretch begins the next one, if that is large enough.

    Files whose time is not known are a stretch of their own, the first. There are at most 16 others.
    """
    listed = list(files)
    least = max(least_bytes, -(-sum(file.size_bytes for file in listed) // _MOST_STRETCHES))
    unknown = [file for file in listed if _time(file) is None]
    found: list[list[DataFile]] = []
    for file in sorted((file for file in listed if _time(file) is not None), key=_sorted_by):
        if not found or (_is_large(found[-1], least) and 2 * _sorted_by(file)[0] > sum(_bounds(found[-1]))):
            found.append([])
        found[-1].append(file)
    return [unknown, *found] if unknown else found


def _is_large(stretch: Sequence[DataFile], least_bytes: int) -> bool:
    return sum(file.size_bytes for file in stretch) >= least_bytes


def _time(file: DataFile) -> tuple[int, int] | None:
    return None if file.first_ns is None or file.last_ns is None else (file.first_ns, file.last_ns)


def _sorted_by(file: DataFile) -> tuple[int, str]:
    return file.first_ns or 0, file.path


def _bounds(stretch: Sequence[DataFile]) -> tuple[int, int]:
    times = [time for file in stretch if (time := _time(file)) is not None]
    return min(first for first, _ in times), max(last for _, last in times)


def _condition(table: str, stretch: Sequence[DataFile]) -> str:
    if table not in TIMED_TABLES or any(_time(file) is None for file in stretch):
        return ""
    first_ns, last_ns = _bounds(stretch)
    return f" WHERE start_ns BETWEEN {first_ns} AND {last_ns}"
