"""Arrow tables under a name that SQL can use, for as long as a block lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb
import pyarrow as pa


@contextmanager
def registered(cursor: duckdb.DuckDBPyConnection, **tables: pa.Table) -> Iterator[None]:
    """Make each table visible to the cursor's SQL under its keyword inside the block."""
    for name, table in tables.items():
        cursor.register(name, table)
    try:
        yield
    finally:
        for name in tables:
            cursor.unregister(name)
