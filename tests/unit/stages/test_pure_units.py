"""Units are functions of the tables they are given: no store behind them, no key beside them."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from tests.unit.stages.stored import CLIENT, ERROR, SERVER, Span, store
from tracekit.stages import TraceTables, build_requests
from tracekit.stages.update.reading import read_traces, select_batch
from tracekit.stages.update.selection import batch_ranges, select_late
from tracekit.store import Database

UNITS = Path(__file__).resolve().parents[3] / "tracekit" / "stages" / "units"


@pytest.mark.parametrize("path", sorted(UNITS.glob("*.py")), ids=lambda path: path.stem)
def test_units_know_no_store(path: Path) -> None:
    """What runs on a cluster imports neither a database nor whoever reads one."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    allowed = ("tracekit.errors", "tracekit.kernels", "tracekit.partition", "tracekit.schema", "tracekit.stages.units")
    assert not {name for name in modules if name.startswith("tracekit") and not name.startswith(allowed)}
    assert "duckdb" not in modules


def traces() -> list[Span]:
    """A call on a skewed clock, one with a repeated attempt, and a wait that a link tells of."""
    first = [
        Span(1, 0, 100, "root", host="a"),
        Span(2, 10, 90, "call", parent=1, kind=CLIENT, host="a"),
        Span(3, 0, 50, "serve", parent=2, kind=SERVER, service="b", host="b"),
    ]
    second = [
        Span(1, 200, 300, "root", trace=2, attributes={"http.response.status_code": 503}),
        Span(2, 210, 220, "try", parent=1, trace=2, kind=CLIENT, status=ERROR),
        Span(3, 230, 290, "try", parent=1, trace=2, kind=CLIENT),
    ]
    third = [
        Span(1, 400, 500, "root", trace=3),
        Span(2, 400, 450, "load", parent=1, trace=3),
        Span(3, 430, 500, "use", parent=1, trace=3, waits_for=2),
        Span(4, 410, 480, "log", parent=1, trace=3, attributes={"tracekit.async": True}),
    ]
    return [*first, *second, *third]


def tables_of(database: Database) -> TraceTables:
    with database.transaction() as cursor:
        select_late(cursor, built_through=-1, batch_spans=1_000)
        ((batch_no, first_ns, last_ns),) = batch_ranges(cursor, "request_ranges")
        select_batch(cursor, batch_no=batch_no, first_ns=first_ns, last_ns=last_ns)
        return read_traces(cursor)


def of_key(tables: TraceTables, key: int) -> TraceTables:
    """The part of the tables that is about one trace."""
    spans = tables.spans.filter(pc.equal(tables.spans["key"], key))

    def about_it(table: pa.Table) -> pa.Table:
        return table.filter(pc.is_in(table["span_row"], spans["span_row"].combine_chunks()))

    return replace(
        tables,
        spans=spans,
        mapped=tuple(about_it(rows) for rows in tables.mapped),
        outcomes=about_it(tables.outcomes),
        unawaited=about_it(tables.unawaited),
        waits=about_it(tables.waits),
    )


def test_a_trace_has_the_same_request_alone_as_among_others(database: Database) -> None:
    """So the tables may be those of a batch, or of any partition that holds whole traces."""
    store(database, traces())
    tables = tables_of(database)
    together = build_requests(tables)
    assert together.units["shift_ns"].to_list() == [10, 0, 0]
    assert together.units["outcome"].to_list() == ["ok", "rejected", "ok"]
    for key in range(3):
        alone = build_requests(of_key(tables, key))
        for frame, whole in ((alone.units, together.units), (alone.stages, together.stages)):
            expected = whole.filter(pl.col("unit") == key).drop("unit")
            assert (
                frame.drop("unit")
                .cast({pl.Enum: pl.String, pl.Categorical: pl.String})
                .equals(expected.cast({pl.Enum: pl.String, pl.Categorical: pl.String}))
            )
