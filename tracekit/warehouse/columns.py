"""The columns of a warehouse: those of the tables of a store, in types that every reader of Parquet knows.

Ids are lower-case hexadecimal text, numbers are signed, counts that need 64 bits without a sign are decimals without
digits behind the point. Attributes are VARIANT. Each kind of column has a way there and a way back.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import duckdb

SPAN_TABLES = (
    "spans", "span_events", "span_links", "units", "unit_stages", "step_waits", "step_lead_ins", "step_collectives",
    "request_ids", "joined_spans",
)  # fmt: skip
"""Tables whose rows belong to a trace or to a unit."""
RECORD_TABLES = ("metric_points", "metric_histograms", "metric_summaries", "exemplars", "logs")
"""Tables of records that stand alone."""
DIMENSION_TABLES = ("resources", "scopes", "metric_streams", "span_attribute_keys")
"""Who sent what: small tables that everything else points to by number."""
JOB_TABLES = ("jobs", "job_attempts", "job_leaves", "job_incidents", "job_members", "job_notes")
"""The units of training jobs."""


class Column(NamedTuple):
    """A column of a table of the store."""

    name: str
    kind: str
    """Its type in DuckDB."""


class _Way(NamedTuple):
    """SQL over `{}`, the column: into the warehouse and back."""

    there: str
    back: str


_HEXADECIMAL = _Way("format('{{:016x}}', {})", "('0x' || {})::UBIGINT")
_WAYS: Mapping[str, _Way] = {
    "UUID": _Way("replace({}::VARCHAR, '-', '')", "{}::UUID"),
    "UHUGEINT": _Way("format('{{:032x}}', {})", "('0x' || {})::UHUGEINT"),
    "UINTEGER": _Way("{}::BIGINT", "{}::UINTEGER"),
    "UTINYINT": _Way("{}::SMALLINT", "{}::UTINYINT"),
    "UBIGINT": _Way("{}::DECIMAL(20, 0)", "{}::UBIGINT"),
    "UBIGINT[]": _Way("{}::DECIMAL(20, 0)[]", "{}::UBIGINT[]"),
}
_AS_IT_IS = _Way("{}", "{}")
_IDS = ("span_id", "content_hash")
_COLUMNS: dict[str, list[Column]] = {}


def table_columns(cursor: duckdb.DuckDBPyConnection, table: str) -> list[Column]:
    """The columns of a table of the store, in order; every store of this process has the same."""
    if table not in _COLUMNS:
        _COLUMNS[table] = _found_columns(cursor, table)
    return _COLUMNS[table]


def _found_columns(cursor: duckdb.DuckDBPyConnection, table: str) -> list[Column]:
    statement = (
        "SELECT column_name, data_type FROM duckdb_columns() "
        "WHERE schema_name = 'base' AND table_name = $table ORDER BY column_index"
    )
    return [Column(*row) for row in cursor.execute(statement, {"table": table}).fetchall()]


def portable(columns: list[Column]) -> str:
    """The SELECT list that makes columns of the warehouse of those of the store."""
    return ", ".join(f'{_way(each).there.format(_quoted(each))} AS "{each.name}"' for each in columns)


def stored(columns: list[Column]) -> str:
    """The SELECT list that makes columns of the store of those of the warehouse."""
    return ", ".join(f'{_way(each).back.format(_quoted(each))} AS "{each.name}"' for each in columns)


def _quoted(column: Column) -> str:
    return f'"{column.name}"'


def _way(column: Column) -> _Way:
    if column.kind == "UBIGINT" and column.name.endswith(_IDS):
        return _HEXADECIMAL
    return _WAYS.get(column.kind, _AS_IT_IS)
