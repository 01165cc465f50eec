"""Requests below a start-up trace, where an engine without trace headers puts them."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from tests.unit.stages.stored import SERVER, Span, store
from tests.unit.stages.test_arrival import assert_sums_are_exact
from tracekit.stages import operations, update_units
from tracekit.store import Database

LOADING = Span(1, 0, 100, "Overall Loading", scope="vllm.entrypoints", service="vllm")
MODEL = Span(2, 10, 90, "Load model", parent=1, scope="vllm.worker", service="vllm")
ENGINE = {
    "gen_ai.latency.time_to_first_token": 2e-8,
    "gen_ai.latency.e2e": 4e-8,
    "gen_ai.latency.time_in_model_prefill": 1e-8,
    "gen_ai.latency.time_in_model_decode": 1e-8,
    "gen_ai.usage.completion_tokens": 3,
}
FIRST = Span(3, 200, 250, "llm_request", parent=1, kind=SERVER, service="vllm", attributes=ENGINE)
SECOND = replace(FIRST, id=4, start=300, end=360)


def requests(database: Database) -> list[tuple[str, int, int, int]]:
    """Root span, interval and number of spans of each request."""
    update_units(database)
    assert_sums_are_exact(database)
    found = database.sql("SELECT root_span_id, start_ns, end_ns, span_count::INT FROM units ORDER BY start_ns")
    return found.rows()


def test_each_request_below_start_up_is_one_of_its_own(database: Database) -> None:
    """Without headers the engine's requests take the trace of its start-up; that itself is no request."""
    below = Span(5, 205, 215, "tokenise", parent=3, service="vllm")
    store(database, [LOADING, MODEL, FIRST, below, SECOND])
    assert requests(database) == [(f"{3:016x}", 200, 250, 2), (f"{4:016x}", 300, 360, 1)]
    first = database.sql("SELECT ttft_ns, outcome FROM units ORDER BY start_ns LIMIT 1").row(0)
    assert first == (20, "ok")


@pytest.mark.parametrize("parent", [2, 99])
def test_the_place_below_start_up_does_not_matter(database: Database, parent: int) -> None:
    """Below an inner span, or beside the start-up below a process that sends no spans itself."""
    loading = LOADING if parent == 2 else replace(LOADING, parent=99)
    store(database, [loading, MODEL, replace(FIRST, parent=parent)])
    assert requests(database) == [(f"{3:016x}", 200, 250, 1)]


def test_a_request_below_another_request_stays_with_it(database: Database) -> None:
    """Only what hangs on start-up directly is there by accident."""
    store(database, [LOADING, FIRST, replace(FIRST, id=5, parent=3, start=210, end=240)])
    assert requests(database) == [(f"{3:016x}", 200, 250, 2)]


def test_later_requests_join_without_changing_the_first(database: Database) -> None:
    """The trace grows as long as the engine runs."""
    store(database, [LOADING, FIRST])
    before = requests(database)
    store(database, [SECOND])
    assert requests(database)[0] == before[0]
    assert len(requests(database)) == 2


def test_all_requests_of_the_trace_are_shown(database: Database) -> None:
    """The operations of the trace own the time of every request in it."""
    store(database, [LOADING, FIRST, SECOND])
    shown = operations(database, trace_id=f"{1:032x}").explode("owned").drop_nulls("owned")
    by_stage = shown.group_by("stage").agg(
        (pl.col("owned").struct.field("end_ns") - pl.col("owned").struct.field("start_ns")).sum()
    )
    assert dict(by_stage.rows()) == {
        "lifecycle.startup": 100,
        "unattributed": 20,
        "eng.prefill": 20,
        "eng.decode": 20,
        "out.detok": 50,
    }
