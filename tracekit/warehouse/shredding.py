"""Which attributes of a file of Parquet lie in columns of their own.

DuckDB shreds a VARIANT by every key that its first rows have. A span has ten attributes of the forty that the services
of a file know, and each column costs time for every row, with or without a value: by all keys 12 µs a span, by those
that three of ten rows have 5 µs, and fewer bytes. The other attributes lie together beside them.
"""

from __future__ import annotations

import duckdb

from tracekit import queries
from tracekit.warehouse.columns import Column

_SAMPLED_ROWS = 1_000
_LEAST_SHARE = 0.3
_MOST_KEYS = 32


def shredding(cursor: duckdb.DuckDBPyConnection, columns: list[Column]) -> str:
    """The option of `COPY` that shreds the attributes of the view `exported`, '' for a table without."""
    if ("attributes", "VARIANT") not in columns:
        return ""
    fields = ", ".join(f'"{_doubled(key, chr(34))}" {kind}' for key, kind in _common(cursor))
    # No object is a text: nothing gets a column then.
    shape = f"STRUCT({fields})" if fields else "VARCHAR"
    return f", SHREDDING {{attributes: '{_doubled(shape, chr(39))}'}}"


def _common(cursor: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Attributes that many rows have, and their types."""
    (count,) = cursor.execute("SELECT count(*) FROM exported").fetchall()[0]
    found = cursor.execute(queries.text("warehouse/common_keys"), {"every": max(1, count // _SAMPLED_ROWS)}).fetchall()
    common: dict[str, tuple[str, str]] = {}
    for key, kind, share in found:
        # DuckDB takes names of columns that differ in case for the same.
        if share >= _LEAST_SHARE and len(common) < _MOST_KEYS and key.isprintable() and key:
            common.setdefault(key.casefold(), (key, kind))
    return list(common.values())


def _doubled(text: str, quote: str) -> str:
    return text.replace(quote, 2 * quote)
