"""What leaves on standard output: numbers as numbers, text as text, and no complaint when nobody reads on."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import tracekit as tk
from tests.unit.otlp.documents import span, traces
from tracekit.calendar_bounds import within_calendar
from tracekit.errors import QueryError, UsageError
from tracekit.output import FORMATS, Output, write


def written(rows: pl.DataFrame, output_format: str, capsys: pytest.CaptureFixture[str]) -> str:
    write(rows, output_format=output_format)
    return capsys.readouterr().out


def test_json_keeps_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """`sum()` is a number, also in lists and structs; what is no number is null."""
    statement = """
        SELECT sum(n) AS total, sum(n)::HUGEINT * 1000000000000000000000 AS huge, avg(n) AS mean, 1.50 AS price,
            'nan'::DOUBLE AS nothing, '-infinity'::DOUBLE AS less, [sum(n), NULL] AS list, {'a': sum(n)} AS inside,
            DATE '2026-01-02' AS day, TIMESTAMP '2026-01-02 03:04:05' AS moment, '\\x01'::BLOB AS bytes
        FROM (VALUES (1::BIGINT), (2)) AS numbers (n)"""
    with tk.open(None) as store:
        (row,) = json.loads(written(store.sql(statement), "json", capsys))
    assert row == {
        "total": 3, "huge": 3 * 10**21, "mean": 1.5, "price": 1.5, "nothing": None, "less": None, "list": [3, None],
        "inside": {"a": 3}, "day": "2026-01-02", "moment": "2026-01-02T03:04:05", "bytes": "01",
    }  # fmt: skip
    assert isinstance(row["total"], int)


@pytest.mark.parametrize("output_format", ["json", "jsonl"])
def test_no_value_makes_json_that_is_none(output_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Strict readers take it: no NaN, no Infinity."""
    frame = pl.DataFrame({"a": [float("nan")], "b": [Decimal("1.25")], "c": [[float("inf")]], "d": [datetime.now(UTC)]})

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    found = json.loads(written(frame, output_format, capsys), parse_constant=refuse)
    row = found[0] if output_format == "json" else found
    assert (row["a"], row["b"], row["c"]) == (None, 1.25, [None])


def test_an_object_keeps_its_numbers_too(capsys: pytest.CaptureFixture[str]) -> None:
    write(
        Output(pl.DataFrame(), {"x": float("nan"), "y": {1: Decimal(2)}, "z": date(2026, 1, 2)}), output_format="json"
    )
    assert json.loads(capsys.readouterr().out) == {"x": None, "y": {"1": 2}, "z": "2026-01-02"}


def test_csv_reads_back_and_computes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.DataFrame({"=name": ["=1+1", "-5", "a,b", None], "n": [1, 2, 3, 4]})
    rows = list(csv.reader(io.StringIO(written(frame, "csv", capsys))))
    assert rows == [["'=name", "n"], ["'=1+1", "1"], ["-5", "2"], ["a,b", "3"], ["", "4"]]


KINDS = (
    "1::UHUGEINT", "INTERVAL 1 DAY", "12345678901234567890123456789012345678901234567890::BIGNUM", "'101'::BIT",
    "'10:00:00+02'::TIMETZ", "[INTERVAL 1 DAY]", "union_value(a := 1)", "{'v': 'x'::VARIANT}", "'x'::VARIANT",
    "MAP {'a': INTERVAL 1 DAY}", "uuid()", "[]", "NULL",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("output_format", ["table", "json", "csv", "markdown"])
def test_every_kind_of_value_can_be_shown(kind: str, output_format: str, capsys: pytest.CaptureFixture[str]) -> None:
    with tk.open(None) as store:
        assert written(store.sql(f"SELECT {kind} AS x"), output_format, capsys)


def test_columns_with_one_name_are_told_apart() -> None:
    """As in a join of spans with spans; values stay with their columns."""
    with tk.open(None) as store:
        frame = store.sql("SELECT 1 AS a, 2 AS a, 3 AS a_1, 'x'::VARIANT AS a")
        joined = store.sql("SELECT * FROM spans AS one JOIN spans AS other ON one.span_id = other.parent_span_id")
    assert frame.rows(named=True) == [{"a": 1, "a_2": 2, "a_1": 3, "a_3": '"x"'}]
    assert len(set(joined.columns)) == len(joined.columns)
    assert {"span_id", "span_id_1", "span_attributes", "span_attributes_1"} <= set(joined.columns)


class Odd:
    """What no database takes."""


def test_what_cannot_be_bound_or_is_not_there_is_our_error() -> None:
    with tk.open(None) as store:
        for value in (Odd(), 2**200, {1, Odd()}, "\ud800"):
            with pytest.raises(QueryError):
                store.sql("SELECT $x AS x", x=value)
        for parameters in ({}, {"y": 1}):
            with pytest.raises(QueryError):
                store.sql("SELECT $x AS x", **parameters)
        for name in ("nope", "explore/nope", "../pyproject", "explore/../../x", "", "explore/services.sql"):
            with pytest.raises(UsageError, match="there is no query"):
                store.query(name)


@pytest.mark.e2e
@pytest.mark.parametrize(
    "arguments",
    [
        ["query", "FROM range(200000)"], ["query", "FROM range(200000)", "--json"],
        ["query", "FROM range(200000)", "--format", "csv"], ["query", "FROM range(3000000)", "--format", "parquet"],
        ["query", "SELECT 1"], ["report"], ["quality"], ["ingest", "good.jsonl"], ["--help"], ["tail", "--help"],
        ["generate", "--list"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_a_reader_that_leaves_is_no_fault(tmp_path: Path, arguments: list[str]) -> None:
    """`… | head` ends quietly with 0, whether it leaves in the middle or before the first line."""
    (tmp_path / "good.jsonl").write_bytes(traces(span()))
    environment = {**os.environ, "TRACEKIT_DB": str(tmp_path / "x.duckdb"), "PYTHONPATH": os.pathsep.join(sys.path)}
    with tk.open(tmp_path / "x.duckdb"):
        pass
    command = [sys.executable, "-m", "tracekit", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=tmp_path
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaints = process.stderr.read().decode()
        code = process.wait()
    assert "Traceback" not in complaints
    assert "BrokenPipe" not in complaints
    assert code == 0, complaints


@pytest.mark.parametrize(
    ("redirected", "code", "told"),
    [
        (">&-", 0, ""),
        (">&- 2>&-", 0, ""),
        pytest.param(
            ">/dev/full",
            2,
            "Error: cannot write to standard output: No space left on device",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="no such device here"),
        ),
    ],
)
def test_an_output_that_is_closed_or_full_is_told(tmp_path: Path, redirected: str, code: int, told: str) -> None:
    """In a sentence, and closed by the user it is none of our business."""
    with tk.open(tmp_path / "x.duckdb"):
        pass
    command = f"{sys.executable} -m tracekit query 'SELECT 1' --db {tmp_path}/x.duckdb {redirected}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run(["bash", "-c", command], stderr=subprocess.PIPE, env=environment, check=False)
    assert (ended.returncode, ended.stderr.decode().strip()) == (code, told)


def test_opening_a_store_prints_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tk.open(tmp_path / "x.duckdb") as store:
        assert store.served_by is None
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "")


@pytest.mark.parametrize("output_format", [name for name in FORMATS if name != "parquet"])
@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("'infinity'::DATE", "infinity"),
        ("'-infinity'::TIMESTAMP", "-infinity"),
        ("'infinity'::TIMESTAMPTZ", "infinity"),
        ("DATE '290000-01-01'", "290000-01-01"),
        ("DATE '10000-01-01'", "10000-01-01"),
        ("TIMESTAMP '10000-01-01 00:00:01'", "10000-01-01T"),
        ("['infinity'::DATE, DATE '2026-01-02']", "2026-01-02"),
        ("{'at': 'infinity'::TIMESTAMP, 'n': 1}", "infinity"),
        ("MAP {'at': 'infinity'::DATE}", "infinity"),
    ],
)
def test_dates_beyond_every_calendar_are_printed(tmp_path: Path, output_format: str, value: str, said: str) -> None:
    """DuckDB has infinite dates and the year 290000; polars ends in a panic over them."""
    with tk.open(None) as store:
        write(store.sql(f"SELECT {value} AS day, 7 AS number"), output_format=output_format, path=tmp_path / "x")
    text = (tmp_path / "x").read_text()
    assert said in text.replace("\\", "")
    assert "7" in text


@pytest.mark.parametrize(
    "value",
    [
        "DATE '9999-12-31'",
        "DATE '0001-01-01'",
        "TIMESTAMP '9999-12-31 23:59:59.999999'",
        "[DATE '2026-01-02', NULL]",
        "[]::DATE[]",
    ],
)
def test_dates_within_the_calendar_stay_what_they_are(value: str) -> None:
    """To the last day, and nested."""
    with tk.open(None) as store:
        frame = store.sql(f"SELECT {value} AS day")
    assert_frame_equal(within_calendar(frame), frame)
