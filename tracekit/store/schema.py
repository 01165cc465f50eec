"""The tables, views, stages and comments of a store: laid down, checked and brought up to date."""

from __future__ import annotations

import re
import time
from importlib import metadata
from pathlib import Path

import duckdb

from tracekit import queries
from tracekit.errors import StoreError, StoreVersionError

SCHEMA_VERSION = 5


def create(cursor: duckdb.DuckDBPyConnection) -> None:
    """Make a store of an empty database, or of one with the tables and no version; the caller holds the transaction."""
    if not _tables(cursor):
        lay_down(cursor)
    cursor.execute(
        "INSERT INTO base.store_info VALUES ($version, $created_ns, $created_by)",
        {"version": SCHEMA_VERSION, "created_ns": time.time_ns(), "created_by": _created_by()},
    )


def lay_down(cursor: duckdb.DuckDBPyConnection) -> None:
    """Make the tables, views, stages and comments in an empty database: some 700 statements."""
    cursor.execute(queries.text("schema/1_tables"))
    _lay_down_views(cursor)


def texts() -> str:
    """The statements that `lay_down` runs, as one text: what a schema is known by."""
    return "\n".join(queries.text(name) for name in (*queries.names("schema"), "store/inherited_comments"))


def found_version(cursor: duckdb.DuckDBPyConnection, *, where: str) -> int | None:
    """Schema version of a database, None when it is empty, or has the tables and no version yet.

    Raises `StoreError` for a DuckDB file with tables that are not tracekit's.
    """
    tables = _tables(cursor)
    if "base.store_info" in tables:
        [(version,)] = cursor.execute("SELECT max(schema_version) FROM base.store_info").fetchall()
        return version
    if tables:
        raise StoreError(f"{where} is a DuckDB database but not a trace store; name another file")
    return None


def _tables(cursor: duckdb.DuckDBPyConnection) -> set[str]:
    return {name for (name,) in cursor.execute(queries.text("store/tables")).fetchall()}


def check_version(found: int, *, where: str) -> None:
    """Raise `StoreVersionError` for a store that is newer than this tracekit."""
    if found > SCHEMA_VERSION:
        raise StoreVersionError(
            f"{where} has schema version {found}, this tracekit knows versions up to {SCHEMA_VERSION}; "
            "upgrade tracekit, or name another file"
        )


def upgrade(
    cursor: duckdb.DuckDBPyConnection,
    *,
    found: int,
    wanted: int = SCHEMA_VERSION,
    folder: Path | None = None,
) -> None:
    """Bring a store of an older version up to date; the caller holds the transaction.

    `folder` holds the steps, `NNN_*.sql` from version NNN - 1 to NNN. Views, stages and comments are
    laid down again. Raises `StoreVersionError` when a step is missing.
    """
    steps = _steps(folder or queries.folder("queries") / "schema" / "migrations")
    for version in range(found + 1, wanted + 1):
        if version not in steps:
            raise StoreVersionError(
                f"the store has schema version {found} and there is no way to version {version}; "
                "export it with the tracekit that wrote it, and ingest that"
            )
        cursor.execute(steps[version].read_text(encoding="utf-8"))
    cursor.execute("DELETE FROM base.stages")
    _lay_down_views(cursor)
    cursor.execute("UPDATE base.store_info SET schema_version = $version", {"version": wanted})


def _steps(folder: Path) -> dict[int, Path]:
    named = ((re.match(r"(\d{3})_", path.name), path) for path in folder.glob("*.sql"))
    return {int(match[1]): path for match, path in named if match}


def _lay_down_views(cursor: duckdb.DuckDBPyConnection) -> None:
    for part in ("2_views", "3_stages", "5_metrics", "4_comments"):
        cursor.execute(queries.text(f"schema/{part}"))
    for target, comment in cursor.execute(queries.text("store/inherited_comments")).fetchall():
        cursor.execute(f"COMMENT ON {target} IS {_quoted(comment)}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _created_by() -> str:
    try:
        return f"tracekit {metadata.version('tracekit-stages')}"
    except metadata.PackageNotFoundError:
        return "tracekit (not installed)"
