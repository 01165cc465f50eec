"""A warehouse and a store of one file side by side: every row of every table, and every answer."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl

import tracekit
from tracekit.store import Database
from tracekit.warehouse.columns import DIMENSION_TABLES, JOB_TABLES, RECORD_TABLES, SPAN_TABLES

TABLES = (*SPAN_TABLES, *RECORD_TABLES, *DIMENSION_TABLES, *JOB_TABLES, "ingests", "ingest_rejects", "stages")
METRICS = ("ttft", "tpot", "e2e", "step")
_UNTOLD = {"ingests": ["received_ns"], "metric_streams": []}
"""Columns that say when something was read, not what."""


def rows_of(database: Database, table: str) -> pl.DataFrame:
    """Every row of a table in one order, with units by what they are, not by their number."""
    columns = database.sql(
        "SELECT column_name AS name, data_type AS kind FROM duckdb_columns() "
        "WHERE schema_name = 'base' AND table_name = $table AND column_name != 'rowid' ORDER BY column_index",
        table=table,
    )
    chosen = [_shown(table, *row) for row in columns.iter_rows() if row[0] not in _UNTOLD.get(table, [])]
    return database.sql(f"SELECT {', '.join(chosen)} FROM base.{table} AS t ORDER BY ALL")


def _shown(table: str, name: str, kind: str) -> str:
    if name == "unit_id":
        return "(SELECT unit_key FROM units WHERE units.unit_id = t.unit_id) AS unit_id"
    if kind == "VARIANT":
        return f'"{name}"::JSON::VARCHAR AS "{name}"'
    return f'"{name}"::VARCHAR AS "{name}"'


def unequal_tables(one: Database, other: Database) -> dict[str, str]:
    """What differs, by table."""
    found = {}
    for table in TABLES:
        left, right = rows_of(one, table), rows_of(other, table)
        if not left.equals(right):
            found[table] = _difference(left, right)
    return found


def _difference(left: pl.DataFrame, right: pl.DataFrame) -> str:
    columns = left.columns
    alone = [
        side.join(beside, on=columns, how="anti", nulls_equal=True) for side, beside in ((left, right), (right, left))
    ]
    return (
        f"{left.height} and {right.height} rows; only here {alone[0].head(2).rows()}, there {alone[1].head(2).rows()}"
    )


def answers(store: tracekit.Store) -> dict[str, Any]:
    """Every answer that a store gives, as plain values."""
    asked: dict[str, Any] = {"quality": store.quality, "stragglers": store.stragglers, "failures": store.failures}
    asked |= {"metrics": store.metrics, "goodput": lambda: store.goodput(slo="ttft=2s,e2e=20s", price=2.0)}
    asked |= {f"tail {metric}": lambda metric=metric: store.tail(metric, outcome="any") for metric in METRICS}
    asked["report"] = lambda: store.report().json
    middle = store.sql("SELECT median(start_ns)::BIGINT AS at FROM units").item()
    asked["compare"] = lambda: store.compare(f"start_ns < {middle or 0}", f"start_ns >= {middle or 0}")
    asked["whatif"] = lambda: store.whatif("without=rank:1")
    for trace in store.sql("SELECT DISTINCT trace_id FROM spans ORDER BY hash(trace_id) LIMIT 4")["trace_id"]:
        asked[f"operations {trace}"] = lambda trace=trace: store.operations(trace_id=trace)
    return {name: _plain(ask) for name, ask in asked.items()}


def _plain(ask: Any) -> Any:
    try:
        answer = ask()
    except tracekit.TracekitError as error:
        return type(error).__name__, str(error)
    value = (
        answer.as_dict()
        if hasattr(answer, "as_dict")
        else answer.to_dicts()
        if isinstance(answer, pl.DataFrame)
        else answer
    )
    return json.loads(json.dumps(value, sort_keys=True, default=str))


def unequal_answers(one: tracekit.Store, other: tracekit.Store) -> dict[str, list[str]]:
    """Where answers differ, numbers of units aside, which each store gives as it likes."""
    left, right = answers(one), answers(other)
    found = {name: list(_unequal(left[name], right.get(name), "")) for name in left}
    return {name: places[:4] for name, places in found.items() if places}


def _unequal(one: Any, other: Any, place: str) -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one.keys() - {"unit_id", "received_ns"}:
            yield from _unequal(one[key], other[key], f"{place}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from _unequal(left, right, f"{place}[{number}]")
    elif one != other and not _is_rounding(one, other):
        yield f"{place}: {str(one)[:100]} and {str(other)[:100]}"


def _is_rounding(one: Any, other: Any) -> bool:
    """Whether two sums of doubles differ by the order in which they were added up."""
    return isinstance(one, float) and isinstance(other, float) and math.isclose(one, other, rel_tol=1e-12)


def dealt(paths: Sequence[Path], folder: Path, *, count: int, repeated: int = 0, seed: int = 1) -> list[Path]:
    """The lines of files dealt over as many new ones, some of them twice."""
    lines = [line for path in paths for line in path.read_text(encoding="utf-8").splitlines(keepends=True)]
    chosen = random.Random(seed)
    lines += chosen.sample(lines, min(repeated, len(lines)))
    chosen.shuffle(lines)
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"part-{number}.jsonl" for number in range(count)]
    for number, file in enumerate(files):
        file.write_text("".join(lines[number::count]), encoding="utf-8")
    return files
