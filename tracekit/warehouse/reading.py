"""A warehouse as a store that is only read: views over the files of its manifest, under the names of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

import duckdb

from tracekit.errors import StoreError, StoreVersionError
from tracekit.store import SCHEMA_VERSION, Database, Reject
from tracekit.warehouse import manifest as manifests
from tracekit.warehouse.columns import DIMENSION_TABLES, JOB_TABLES, RECORD_TABLES, SPAN_TABLES, stored, table_columns
from tracekit.warehouse.manifest import Manifest, SourceEntry
from tracekit.warehouse.views import put_view, scan

_LOADED = (*DIMENSION_TABLES, *JOB_TABLES)
_VIEWED = (*SPAN_TABLES, *RECORD_TABLES)


def open_warehouse(folder: str | Path, *, tuning: Mapping[str, str] = MappingProxyType({})) -> Database:
    """The warehouse in a folder as a store to read: as its manifest names it now, whatever is built meanwhile.

    `tuning` are settings of DuckDB. Raises `StoreVersionError` for one of another version, `StoreError` where the
    folder is no warehouse, or lacks a file.
    """
    location = Path(folder)
    manifest = manifests.read(location)
    check_readable(location, manifest)
    database = opened(location, manifest, tuning=tuning)
    database.read_only = True
    return database


def check_readable(folder: Path, manifest: Manifest) -> None:
    """Raise the `StoreError` of a warehouse that cannot be read or built further."""
    check_version(str(folder), manifest)
    for part in manifest.parts:
        for file in part.files:
            if not (folder / file.path).is_file():
                told = f"the warehouse {folder} lacks {file.path}, which its manifest names; bring the file back, or "
                raise StoreError(told + "build the warehouse anew in an empty folder", path=folder)


def check_version(where: str, manifest: Manifest) -> None:
    """Raise the `StoreVersionError` of a warehouse whose tables are of another version."""
    if manifest.commit and manifest.schema_version != SCHEMA_VERSION:
        advice = "upgrade tracekit" if manifest.schema_version > SCHEMA_VERSION else "build it anew from its sources"
        raise StoreVersionError(
            f"{where} has tables of schema version {manifest.schema_version}, this tracekit reads version "
            f"{SCHEMA_VERSION}; {advice}"
        )


def opened(folder: Path, manifest: Manifest, *, tuning: Mapping[str, str] = MappingProxyType({})) -> Database:
    """A store over the files of a manifest, which need not be the one that is committed."""
    return furnished(Database.beside_files(folder, path=folder, tuning=tuning), folder, manifest)


def furnished(database: Database, folder: Path | str, manifest: Manifest) -> Database:
    """A new store with the files of a manifest in place of its tables."""
    try:
        with database.transaction() as cursor:
            for table in _LOADED:
                load(cursor, table, paths(folder, manifest, table))
            for table in _VIEWED:
                put_view(cursor, folder, table, list(manifest.files(table)))
            note_sources(cursor, manifest.sources)
            _note_progress(cursor, manifest)
    except BaseException:
        database.close()
        raise
    return database


def paths(folder: Path | str, manifest: Manifest, table: str) -> list[str]:
    """Where the files of a table are."""
    return [manifests.located(folder, file.path) for file in manifest.files(table)]


def load(cursor: duckdb.DuckDBPyConnection, table: str, files: list[str], *, where: str = "TRUE") -> None:
    """Add the rows of the files of a table to that of the store, those for which a condition holds."""
    if files:
        columns = stored(table_columns(cursor, table))
        cursor.execute(f"INSERT INTO base.{table} SELECT {columns} FROM {scan(files)} WHERE {where}")


def note_sources(cursor: duckdb.DuckDBPyConnection, sources: Iterable[SourceEntry]) -> None:
    """Fill the tables of ingests with sources, those that brought something."""
    known = [entry for entry in sources if entry.ingest_id is not None]
    ingests = [_ingest_row(entry) for entry in known]
    rejects = [_reject_row(entry, reject) for entry in known for reject in entry.counts.rejects]
    if ingests:
        cursor.executemany(f"INSERT INTO base.ingests VALUES ({', '.join('?' * 10)})", ingests)
    if rejects:
        cursor.executemany(f"INSERT INTO base.ingest_rejects VALUES ({', '.join('?' * 7)})", rejects)


def _ingest_row(entry: SourceEntry) -> tuple[object, ...]:
    counts = entry.counts
    numbers = (counts.spans, counts.metric_points, counts.logs, counts.duplicates, counts.rejected)
    return (entry.ingest_id, entry.name, entry.format, entry.received_ns, *numbers, entry.error)


def _reject_row(entry: SourceEntry, reject: Reject) -> tuple[object, ...]:
    what = (reject.kind, reject.signal, reject.reason)
    return (entry.ingest_id, *what, reject.record_count, reject.first_offset, reject.example)


def _note_progress(cursor: duckdb.DuckDBPyConnection, manifest: Manifest) -> None:
    if manifest.last_ingest_id:
        last = {"last": manifest.last_ingest_id}
        cursor.execute("INSERT INTO base.built_through VALUES ($last)", last)
        cursor.execute("INSERT INTO base.jobs_built_through VALUES ($last)", last)
