"""SQL that people type on a page answers questions and does nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracekit.errors import QueryError
from tracekit.store import Database, read_only_sql


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with Database.open(tmp_path / "store.duckdb") as opened:
        yield opened


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT stage FROM stages ORDER BY stage",
        "FROM stages",
        "WITH owned AS (SELECT owner FROM stages) SELECT owner FROM owned",
        "DESCRIBE spans",
        "SUMMARIZE stages",
        "SHOW TABLES",
        "VALUES (1), (2)",
        "SELECT 1;  -- one statement and a remark",
        "TABLE stages",
        "EXPLAIN SELECT * FROM spans",
        "EXPLAIN ANALYZE SELECT * FROM spans",
        "explain (format json) FROM spans",
        "/* why */ EXPLAIN (ANALYZE) SELECT 1",
        "PIVOT stages ON layer USING count(*)",
        "PIVOT stages ON layer IN ('host') USING count(*)",
        "UNPIVOT (SELECT 1 AS a, 2 AS b) ON a, b",
        "FROM duckdb_tables()",
        "SELECT 'checkpoint(' AS text",
    ],
)
def test_every_form_of_one_select_is_answered(database: Database, statement: str) -> None:
    """What DuckDB parses as one SELECT may run."""
    assert read_only_sql(database, statement).frame.height > 0


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO base.built_through VALUES (1)",
        "WITH added AS (INSERT INTO base.built_through VALUES (1) RETURNING *) SELECT * FROM added",
        "WITH gone AS (DELETE FROM base.stages RETURNING *) SELECT * FROM gone",
        "UPDATE base.stages SET owner = 'me'",
        "DELETE FROM base.stages",
        "TRUNCATE base.stages",
        "MERGE INTO base.stages USING base.stages AS other ON false WHEN NOT MATCHED THEN INSERT",
        "DROP VIEW spans",
        "ALTER TABLE base.spans ADD COLUMN mine INTEGER",
        "COMMENT ON TABLE base.spans IS 'mine'",
        "CREATE TABLE mine AS SELECT 1",
        "CREATE TEMP TABLE mine AS SELECT 1",
        "CREATE MACRO mine() AS 1",
        "EXPLAIN ANALYZE DELETE FROM base.stages",
        "PREPARE mine AS SELECT 1",
        "VACUUM",
        "CHECKPOINT",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SELECT 1; SELECT 2",
        "SELECT 1; DELETE FROM base.stages",
        "COMMIT; DELETE FROM base.stages",
        "FROM checkpoint()",
        'FROM main."CHECKPOINT" ()',
        "SELECT 1 WHERE EXISTS (FROM force_checkpoint('store'))",
        "FROM enable_logging()",
        "FROM truncate_duckdb_logs()",
        "SELECT write_log('mine')",
        "SELECT 'mine'.write_log()",
        "FROM query('FROM checkpoint()')",
        "FROM json_execute_serialized_sql('{}')",
        "SELECT sleep_ms(10)",
        "EXPLAIN CHECKPOINT",
        "EXPLAIN ANALYZE CHECKPOINT",
        "EXPLAIN (FORMAT json) CHECKPOINT",
        "EXPLAIN",
        "EXPLAIN EXPLAIN ANALYZE CHECKPOINT",
        "CALL pragma_version()",
        "EXECUTE mine",
        "",
        "-- nothing",
    ],
)
def test_what_is_not_one_select_changes_nothing(database: Database, statement: str) -> None:
    """Statements are refused by kind, and what hides in a SELECT is stopped by the transaction."""
    before = database.sql("SELECT * FROM base.stages ORDER BY stage")
    with pytest.raises(QueryError):
        read_only_sql(database, statement)
    assert database.sql("SELECT * FROM base.stages ORDER BY stage").equals(before)
    assert database.sql("SELECT * FROM base.built_through").is_empty()
    assert database.sql("SELECT comment FROM duckdb_tables() WHERE comment = 'mine'").is_empty()


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM read_csv('{secret}')",
        "SELECT * FROM read_text('{secret}')",
        "SELECT * FROM read_blob('{secret}')",
        "SELECT * FROM read_json('{secret}')",
        "SELECT * FROM parquet_scan('{secret}')",
        "FROM sniff_csv('{secret}')",
        "FROM '{secret}'",
        "FROM query_table('{secret}')",
        "FROM query('FROM ''{secret}''')",
        "FROM glob('{folder}/*')",
        "COPY stages TO '{folder}/out.csv'",
        "COPY base.stages FROM '{secret}'",
        "EXPORT DATABASE '{folder}/export'",
        "IMPORT DATABASE '{folder}'",
        "ATTACH '{folder}/other.duckdb'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "FROM quack_serve()",
        "SET threads = 1",
        "RESET threads",
        "PRAGMA threads = 1",
        "SET enable_external_access = true",
        "CALL enable_logging()",
        "FROM enable_logging('QueryLog', storage = 'file', storage_path = '{folder}/log')",
        "SELECT getenv('HOME')",
        "CREATE SECRET mine (TYPE s3)",
        "FROM duckdb_secrets()",
    ],
)
def test_files_extensions_settings_and_the_environment_are_out_of_reach(
    database: Database, tmp_path: Path, statement: str
) -> None:
    """The store's SQL knows only the store, whoever types it."""
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n")
    with pytest.raises(QueryError):
        read_only_sql(database, statement.format(secret=secret, folder=tmp_path))
    names = {path.name for path in tmp_path.iterdir()}
    assert names <= {"secret.csv", "store.duckdb", "store.duckdb.wal"}


def test_variables_of_the_program_are_out_of_reach(database: Database) -> None:
    """A frame in a caller's variable is not a table."""
    import polars as pl

    frame_of_the_program = pl.DataFrame({"secret": [1]})
    assert frame_of_the_program.height == 1
    with pytest.raises(QueryError, match="frame_of_the_program"):
        read_only_sql(database, "FROM frame_of_the_program")


def test_rows_beyond_the_limit_are_announced(database: Database) -> None:
    """The first rows come in the order asked for, and the reader knows that there are more."""
    statement = "SELECT range AS number FROM range(100) ORDER BY number DESC"
    some = read_only_sql(database, statement, row_limit=3)
    assert some.frame.rows() == [(99,), (98,), (97,)]
    assert some.truncated
    every = read_only_sql(database, statement, row_limit=100)
    assert every.frame.height == 100
    assert not every.truncated


def test_a_query_that_takes_too_long_is_stopped(database: Database) -> None:
    """The time limit interrupts, and the store goes on answering."""
    began = time.monotonic()
    with pytest.raises(QueryError, match=r"took longer than 0\.2 s"):
        read_only_sql(
            database,
            "SELECT count(*) FROM range(10000000) AS a, range(10000000) AS b WHERE a.range + b.range = 7",
            time_limit_s=0.2,
        )
    assert time.monotonic() - began < 20
    assert read_only_sql(database, "SELECT 1").frame.item() == 1


def test_parameters_are_bound_and_not_part_of_the_statement(database: Database) -> None:
    """A value cannot become SQL."""
    rows = read_only_sql(database, "SELECT $text AS text", parameters={"text": "x'; DROP TABLE base.spans; --"})
    assert rows.frame.item() == "x'; DROP TABLE base.spans; --"


def test_a_reader_sees_what_a_writer_committed_and_no_more(database: Database) -> None:
    """Readers and a writer work side by side in one process."""
    seen: list[int] = []
    with database.transaction() as cursor:
        cursor.execute("INSERT INTO base.built_through VALUES (1)")
        reader = threading.Thread(
            target=lambda: seen.append(read_only_sql(database, "SELECT count(*) FROM base.built_through").frame.item())
        )
        reader.start()
        reader.join()
    assert seen == [0]
    assert read_only_sql(database, "SELECT count(*) FROM base.built_through").frame.item() == 1
