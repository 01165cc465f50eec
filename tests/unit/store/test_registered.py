"""Tables that a block makes visible to SQL."""

from __future__ import annotations

from contextlib import closing

import polars as pl
import pytest

from tracekit.errors import StoreError
from tracekit.store import Database, registered


def test_they_are_gone_after_the_block() -> None:
    """As if they had never been."""
    with Database.open(None) as database, closing(database.cursor()) as cursor:
        with registered(cursor, {"numbers": pl.DataFrame({"number": [1, 2]})}):
            assert cursor.execute("SELECT sum(number) FROM numbers").fetchall() == [(3,)]
        assert cursor.execute("SELECT count(*) FROM duckdb_views() WHERE view_name = 'numbers'").fetchall() == [(0,)]


def test_the_first_error_of_a_transaction_is_the_one_that_is_told() -> None:
    """Not that of taking the table out of a transaction that has failed."""
    frame = pl.DataFrame({"text": ["what went wrong first"]})
    with Database.open(None) as database, pytest.raises(StoreError, match="what went wrong first"):  # noqa: SIM117
        with database.transaction() as cursor, registered(cursor, {"rows": frame}):
            cursor.execute("SELECT error(text) FROM rows").fetchall()
