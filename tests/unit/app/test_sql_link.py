"""The search and the statement behind it: what the SQL page is given runs, and finds the same."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from investigation.search import fitting
from investigation.search_form import Search
from investigation.sql_link import filled_in, without_header

import tracekit as tk

ROOT = Path(__file__).resolve().parents[3]
EVERYTHING = Search(
    "request", None, None, None, None, None, None, None, None, None, None, 0, None, None, None, None, 0.0, False
)  # fmt: skip


def test_parameters_become_literals_and_texts_stay() -> None:
    """A name in a comment or in a text is no parameter; a longer name is another one."""
    statement = "-- $a\nSELECT $a, $ab, '$a', $flag -- $a\nWHERE x = $none AND y IN $list"
    assert filled_in(statement, a=1, ab="it's", flag=True, none=None, list=["p", 2]) == (
        "-- $a\nSELECT 1, 'it''s', '$a', true -- $a\nWHERE x = NULL AND y IN ['p', 2]"
    )


def test_the_header_goes_and_the_statement_stays() -> None:
    """Comments inside are part of it."""
    assert without_header("-- what\n--\nSELECT 1 -- one\n") == "SELECT 1 -- one\n"


@pytest.fixture(scope="module")
def store() -> tk.Store:
    """The gateway's capture."""
    opened = tk.Store.open(None)
    opened.ingest(ROOT / "sample_traces" / "vllm_gateway")
    return opened


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_no_text_breaks_out_of_its_literal(store: tk.Store, text: str) -> None:
    """Whatever a sender called it."""
    assert store.sql(filled_in("SELECT $a AS a", a=text)).item() == text


@pytest.mark.parametrize(
    "asked",
    [
        {}, {"text": "overload", "outcome": "ok"}, {"stage": "eng.queue", "least_share": 0.3, "latest_first": True},
        {"attribute": "scenario", "value": "steady", "least_ns": 10**8, "below_ns": 10**9}, {"service": "it's"},
        {"operation": "POST /v1/completions", "first_ns": 0, "last_ns": 2**62}, {"attribute": "scenario"},
        {"model": "./tiny", "tenant_key": "scenario", "tenant": "overload"}, {"job": "job-a"},
    ],
)  # fmt: skip
def test_the_search_filled_in_finds_the_same(store: tk.Store, asked: dict[str, object]) -> None:
    """Row for row."""
    search = EVERYTHING._replace(**asked)._asdict()
    found = store.query("explore/found_units", **search, limit=50)
    assert store.sql(filled_in(tk.Store.statement("explore/found_units"), **search, limit=50)).equals(found)


def test_a_stage_s_share_is_of_the_whole_time(store: tk.Store) -> None:
    """Those found spent at least so much of it there, and the others did not."""
    search = EVERYTHING._replace(stage="eng.queue", least_share=0.3)._asdict()
    found = store.query("explore/found_units", **search, limit=1000)
    every = store.sql(
        "WITH queued AS (SELECT unit_id, sum(self_ns) AS ns FROM unit_stages WHERE stage = 'eng.queue' GROUP BY ALL) "
        "SELECT count(*) FROM units JOIN queued USING (unit_id) WHERE kind = 'request' AND ns >= 0.3 * e2e_ns"
    ).item()
    assert found["found_count"][0] == found.height == every > 0
    assert (found["stage_ns"] >= 0.3 * found["e2e_ns"]).all()


def test_a_cell_of_the_heat_map_counts_what_the_search_finds(store: tk.Store) -> None:
    """Each unit is in one cell, and the cell's ends find just its own."""
    cells = store.query("explore/latency_cells", **EVERYTHING.population, window_count=20, cells_a_decade=4)
    assert cells["unit_count"].sum() == store.sql("SELECT count(*) FROM units WHERE kind = 'request'").item()
    for cell in cells.iter_rows(named=True):
        ends = {name: cell[name] for name in ("first_ns", "last_ns", "least_ns", "below_ns")}
        found = store.query("explore/found_units", **EVERYTHING._replace(**ends)._asdict(), limit=1)
        assert found["found_count"].item() == cell["unit_count"]


@pytest.mark.parametrize("e2e_ns", [0, 1, 9, 10, 99, 100, 999, 1000, 10**9 - 1, 10**9, 3_162_277_660, 3_162_277_661])
def test_a_duration_at_a_cell_s_end_lies_in_just_one(e2e_ns: int) -> None:
    """Logarithms are rounded, whole nanoseconds are not."""
    with tk.open(None) as store:
        store.sql(
            "INSERT INTO base.units BY NAME SELECT 1 AS unit_id, 'request' AS kind, 'n' AS name, 0 AS start_ns, "
            "$e2e_ns AS end_ns, 'ok' AS outcome, 'v' AS vantage, 1 AS span_count, 0 AS orphan_count, 0 AS orphan_ns, "
            "0 AS outside_count, 0 AS outside_ns, 0 AS post_root_ns, 0 AS shift_ns, 0 AS conflict_count",
            e2e_ns=e2e_ns,
        )
        population = EVERYTHING.population
        cell = store.query("explore/latency_cells", **population, window_count=3, cells_a_decade=10).row(0, named=True)
    assert cell["least_ns"] <= e2e_ns < cell["below_ns"]


@pytest.mark.parametrize(("shortest_ns", "longest_ns"), [(1, 10**18), (10**6, 10**9), (10**9, 10**9 + 1), (0, 1)])
def test_a_heat_map_has_few_cells_whatever_the_durations(shortest_ns: int, longest_ns: int) -> None:
    """At most eighty and one high: with 120 windows fewer than ten thousand marks."""
    cells = pl.DataFrame({"least_ns": [shortest_ns], "below_ns": [longest_ns]})
    decades = math.log10(longest_ns / max(shortest_ns, 1))
    assert fitting(cells) * decades <= 80


def test_traces_are_found_whatever_was_made_of_them(store: tk.Store) -> None:
    """As many as there are; the filled-in statement finds the same."""
    search = EVERYTHING.of_traces()
    found = store.query("explore/found_traces", **search, limit=1000)
    assert found.height == found["found_count"][0] == store.sql("SELECT count(DISTINCT trace_id) FROM spans").item()
    assert found["span_count"].sum() == store.sql("SELECT count(*) FROM spans").item()
    assert store.sql(filled_in(tk.Store.statement("explore/found_traces"), **search, limit=1000)).equals(found)
    failed = EVERYTHING._replace(outcome="failed", text="VLLM").of_traces()
    assert (store.query("explore/found_traces", **failed, limit=1000)["error_count"] > 0).all()
