"""Taking old data out of a store, so that its file gets smaller."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb

from tracekit import queries
from tracekit.errors import StoreError
from tracekit.store.connection import store_errors
from tracekit.store.database import Database

# Each table that grows with what arrives, and what of it goes.
_DOOMED = {
    "spans": "(trace_id, span_id) IN (FROM doomed_spans)",
    "span_events": "(trace_id, span_id) IN (FROM doomed_spans)",
    "span_links": "(trace_id, span_id) IN (FROM doomed_spans)",
    "metric_points": "time_ns < $before_ns",
    "metric_histograms": "time_ns < $before_ns",
    "metric_summaries": "time_ns < $before_ns",
    "exemplars": "point_time_ns < $before_ns",
    "logs": "coalesce(time_ns, observed_time_ns) < $before_ns",
    "request_ids": "trace_id IN (SELECT trace_id FROM doomed_spans) AND last_ns < $before_ns",
    "joined_spans": "(trace_id, span_id) IN (FROM doomed_spans)",
    "unit_stages": "unit_id IN (FROM doomed_units)",
    "step_waits": "unit_id IN (FROM doomed_units)",
    "step_lead_ins": "unit_id IN (FROM doomed_units)",
    "step_collectives": "unit_id IN (FROM doomed_units)",
    "units": "unit_id IN (FROM doomed_units)",
    "ingest_rejects": "ingest_id IN (SELECT ingest_id FROM base.ingests WHERE received_ns < $before_ns)",
    # The newest stays: the next one must not get its number.
    "ingests": "received_ns < $before_ns AND ingest_id < (SELECT max(ingest_id) FROM base.ingests)",
}
_POINTS = ("metric_points", "metric_histograms", "metric_summaries")
# After a size limit has been met there is room for a while.
_FILL_SHARE = 0.8
_SIZE_ROUNDS = 4
_ROW_GROUP_ROWS = 122_880
"""Rows whose room comes free together (DuckDB's default)."""

_COPY_SUFFIX = ".rewritten"
_LOG_SUFFIX = ".wal"


@dataclass(frozen=True, slots=True)
class PruneReport:
    """What was taken out of a store."""

    before_ns: int | None = None
    spans: int = 0
    metric_points: int = 0
    logs: int = 0


def prune(database: Database, *, before_ns: int | None = None, max_bytes: int | None = None) -> PruneReport:
    """Take out what ended before `before_ns`, then the oldest until at most `max_bytes` of the file are in
    use.

    Traces go as a whole once their last span ended before; of training jobs single spans and steps go. The
    room in the file is used again by what arrives; `rewrite` makes the file itself smaller. Small stores may
    keep more than `max_bytes`, since room comes free by row groups. Raises `StoreError` where
    the store cannot be written.
    """
    removed = PruneReport()
    if before_ns is not None:
        removed = _removed(database, removed, before_ns)
    used, previous = used_bytes(database), None
    for _ in range(_SIZE_ROUNDS):
        # Room that does not come free though whole row groups went is held by somebody who reads.
        is_held = used == previous and removed.spans >= _ROW_GROUP_ROWS
        if max_bytes is None or used <= max_bytes or is_held:
            break
        limit_ns = database.query("store/age_quantile", share=1 - _FILL_SHARE * max_bytes / used)["before_ns"][0]
        if limit_ns is None:
            break
        removed = _removed(database, removed, limit_ns + 1)
        used, previous = used_bytes(database), used
    return removed


def rewrite(path: Path) -> None:
    """Copy the store at `path`, which nobody has open, into a new file without gaps that takes its place.

    The new file replaces the old one in one step when it is whole, so that a crash leaves one of the two.
    Raises `StoreError` where the store cannot be read or the copy not be written.
    """
    copy = path.with_name(path.name + _COPY_SUFFIX)
    # A run that was killed leaves its copy, and the log of that, which no other file may be opened with.
    for left in (copy, copy.with_name(copy.name + _LOG_SUFFIX)):
        left.unlink(missing_ok=True)
    Database.open(copy).close()
    with store_errors(path), closing(duckdb.connect(":memory:")) as connection:
        connection.execute(f"ATTACH '{_quoted(path)}' AS old")
        # What stands in the log only must be in the file before another takes its place.
        connection.execute("CHECKPOINT old")
        connection.execute(f"ATTACH '{_quoted(copy)}' AS new")
        connection.execute("DELETE FROM new.base.stages")
        connection.execute("DELETE FROM new.base.store_info")
        for table in _tables(connection):
            connection.execute(f"INSERT INTO new.base.{table} SELECT * FROM old.base.{table} ORDER BY rowid")
        connection.execute("DETACH old")
        connection.execute("DETACH new")
    copy.replace(path)


def _tables(connection: duckdb.DuckDBPyConnection) -> list[str]:
    statement = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'old' AND schema_name = 'base'"
    return [row[0] for row in connection.execute(f"{statement} ORDER BY table_name").fetchall()]


def _quoted(path: Path) -> str:
    return str(path).replace("'", "''")


def stored_bytes(path: Path) -> int:
    """Bytes on disk of the store at `path` and of its write-ahead log."""
    parts = (path, path.with_name(path.name + _LOG_SUFFIX))
    return sum(part.stat().st_size for part in parts if part.exists())


def used_bytes(database: Database) -> int:
    """Bytes of the store's file that hold something; the rest is room that will be used again."""
    sizes = database.sql(
        "SELECT block_size * used_blocks AS bytes FROM pragma_database_size() WHERE database_name = current_database()"
    )
    return int(sizes["bytes"][0])


def _removed(database: Database, so_far: PruneReport, before_ns: int) -> PruneReport:
    with database.building, database.writing, database.transaction() as cursor:
        for name in ("doomed_spans", "doomed_units"):
            statement = f"CREATE OR REPLACE TEMP TABLE {name} AS {queries.text(f'store/{name}')}"
            cursor.execute(statement, {"before_ns": before_ns})
        counts = {table: _deleted(cursor, table, before_ns) for table in _DOOMED}
        database.crowded_request_ids.clear()
    _checkpoint(database)
    return PruneReport(
        before_ns=before_ns,
        spans=so_far.spans + counts["spans"],
        metric_points=so_far.metric_points + sum(counts[table] for table in _POINTS),
        logs=so_far.logs + counts["logs"],
    )


def _deleted(cursor: duckdb.DuckDBPyConnection, table: str, before_ns: int) -> int:
    condition = _DOOMED[table]
    parameters = {"before_ns": before_ns} if "$before_ns" in condition else None
    return int(cursor.execute(f"DELETE FROM base.{table} WHERE {condition}", parameters).fetchall()[0][0])


def _checkpoint(database: Database) -> None:
    with closing(database.cursor()) as cursor:
        try:
            cursor.execute("CHECKPOINT")
        except duckdb.TransactionException:
            # Somebody reads an older state; the next checkpoint frees the space.
            return
        except duckdb.Error as error:
            raise StoreError(f"{database.path} cannot be folded together: {error}") from error
