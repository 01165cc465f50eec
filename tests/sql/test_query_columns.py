"""The columns that a header names are those that the statement gives, in their order."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import polars as pl
import pytest

from tests.sql.headers import named_under, view_under
from tests.unit.stages.stored import SERVER, Span, store
from tracekit import queries
from tracekit.analysis.requests.goodput import judge_requests
from tracekit.analysis.requests.slo import SloSet, parsed_slo
from tracekit.analysis.temporary import create_table
from tracekit.stages import update_units
from tracekit.stages.mapping import EXPORTERS, batch_statement
from tracekit.stages.update.reading import read_steps, read_traces, select_batch, select_step_batch
from tracekit.stages.update.selection import batch_ranges, define_request_ids, select_late
from tracekit.store import Database
from tracekit.warehouse.names import define_telling

# Held by test_answer_queries and test_outcome_queries, where the temporary tables of those questions are.
ELSEWHERE = ("tail", "quality", "stragglers", "goodput")
TOPICS = sorted(path.name for path in queries.folder("queries").iterdir() if path.is_dir() and path.name != "schema")
NAMES = [
    name
    for topic in TOPICS
    if topic not in ELSEWHERE
    for name in queries.names(topic)
    if topic != "failures" or name.startswith("failures/dump")
]
SELECT = duckdb.StatementType.SELECT
SELECTING = [name for name in NAMES if duckdb.extract_statements(queries.text(name))[0].type == SELECT]
WRITING = [name for name in NAMES if name not in SELECTING]

AS = {"units/step_batch_spans": "units/batch_spans"}
"""Statements that take the place of another, whose header names the columns."""
VALUES: dict[str, object] = {
    "trace_id": f"{1:032x}", "span_id": f"{1:016x}", "kind": "request", "attribute": "tenant", "job_id": "j",
    "unit_ids": [1], "windows": ["ttft"], "keys": ["module"], "wanted": ["module"], "job": None, "share": 0.5,
    "metric": "kv_cache.usage", "by": ["host_name"], "text": "a", "outcome": "ok", "latest_first": True,
    "tenant_key": "tenant", "messages": "aside",
}  # fmt: skip
"""Of parameters that are no numbers."""


@pytest.fixture(scope="module")
def cursor() -> Iterator[duckdb.DuckDBPyConnection]:
    """A cursor with the temporary relations that updates and comparisons leave for their statements."""
    step = {"tracekit.stage": "step", "tracekit.step": 1}
    spans = [
        Span(1, 0, 100, kind=SERVER), Span(2, 10, 60, parent=1),
        Span(3, 0, 50, "step", trace=2, job="j", attempt=0, rank=0, world=1, attributes=step),
    ]  # fmt: skip
    with Database.open(None) as database:
        store(database, spans)
        update_units(database)
        with database.transaction() as opened:
            select_late(opened, built_through=-1, batch_spans=500_000)
            for batch_no, first_ns, last_ns in batch_ranges(opened, "step_ranges"):
                select_step_batch(opened, batch_no=batch_no, first_ns=first_ns, last_ns=last_ns)
                read_steps(opened)
            for batch_no, first_ns, last_ns in batch_ranges(opened, "request_ranges"):
                select_batch(opened, batch_no=batch_no, first_ns=first_ns, last_ns=last_ns)
                read_traces(opened)
            opened.execute(f"CREATE TEMP TABLE job_resources AS {queries.text('jobs/resources')}")
            judge_requests(opened, SloSet((parsed_slo("ttft=100ns"),)), where=None)
            series = {"metric": "kv_cache.usage", "by": ["host_name"]}
            create_table(opened, "asked_series", "metrics/asked_series", series)
            opened.execute("CREATE TEMP TABLE doomed_spans AS SELECT trace_id, span_id FROM base.spans")
            opened.register("compared_units", pl.DataFrame({"unit_id": [1], "position": [0]}))
            members = {"unit_id": 1, "population": "p", "is_tail": True, "class_id": 0, "value_ns": 1, "start_ns": 1}
            opened.register("compared_members", pl.DataFrame([members]))
            opened.register("compared_stages", pl.DataFrame({"stage": ["x"], "stage_no": [0]}))
            opened.execute(
                "CREATE TEMP VIEW whatif_candidates AS SELECT *, true AS is_asked, true AS is_normal FROM units"
            )
            define_telling(opened, define_request_ids(opened))
            opened.execute("CREATE TEMP VIEW exported AS SELECT attributes FROM base.spans")
            opened.register("incoming_spans", opened.sql("SELECT 0 AS row, * FROM base.spans").to_arrow_table())
            named = "SELECT 0 AS span_row, ''::BLOB AS trace_id, 2 AS kind, '{}' AS attributes"
            linked = "SELECT 0 AS span_row, ''::BLOB AS linked_trace_id, 1 AS linked_span_id"
            opened.register("spans_in", opened.sql(named).to_arrow_table())
            opened.register("links_in", opened.sql(linked).to_arrow_table())
            yield opened


def returned(cursor: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """The columns that a statement gives."""
    text = queries.text(name)
    if "FROM batch_spans" in text or "JOIN batch_spans" in text:
        text = batch_statement(name, frozenset())
    parameters = duckdb.extract_statements(text)[0].named_parameters
    return cursor.sql(text, params={one: VALUES.get(one, 1) for one in parameters} or None).columns


def told(cursor: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    """The columns that a header names; those of a view stand before what it names itself."""
    text = queries.text(AS.get(name, name))
    view = view_under(text, "Columns")
    inherited = [] if view is None else cursor.sql(f"SELECT * FROM main.{view}").columns
    return inherited + named_under(text, "Columns")


@pytest.mark.parametrize("name", [name for name in SELECTING if name != "units/batch_exporters"])
def test_columns_are_those_of_the_statement(cursor: duckdb.DuckDBPyConnection, name: str) -> None:
    """None is kept silent, none is told that is not there."""
    if name.startswith("stages/"):
        # A mapping gives those of the common columns that it knows something for.
        assert sorted(told(cursor, name)) == sorted(returned(cursor, name))
    else:
        assert told(cursor, name) == returned(cursor, name)


def test_there_is_a_mapping_for_each_column_that_tells_which_to_run(cursor: duckdb.DuckDBPyConnection) -> None:
    """A misspelt one would be run always."""
    assert set(returned(cursor, "units/batch_exporters")) < set(EXPORTERS)


@pytest.mark.parametrize("name", WRITING)
def test_what_writes_returns_a_count(name: str) -> None:
    """Or its header says what the table holds that it makes."""
    first = duckdb.extract_statements(queries.text(name))[0]
    columns = named_under(queries.text(name), "Columns")
    assert columns in ([], ["count"]) or first.type == duckdb.StatementType.CREATE
