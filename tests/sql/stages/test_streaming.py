"""Requests whose root span ends while they still stream."""

from __future__ import annotations

from dataclasses import replace

from tests.sql.stages.test_gateway import AUTH, CALL, ENGINE, HTTP, MS, ROOT, SERVE
from tests.unit.stages.stored import INTERNAL, Span, request, store, times
from tracekit.stages import operations
from tracekit.store import Database

SHORT_ROOT = replace(ROOT, end=64 * MS)
LAST_NS, STREAMED_NS = 90 * MS, 99 * MS
"""When the engine has its last token, and when the gateway's call has passed it on."""


def test_a_request_lasts_until_its_last_token(database: Database) -> None:
    """A handler that returns a streaming response ends its span long before the response; nothing is cut off."""
    store(database, [SHORT_ROOT, AUTH, CALL, SERVE])
    unit = request(database)
    assert (unit["ttft_ns"], unit["last_token_ns"], unit["end_ns"]) == (63 * MS, LAST_NS, STREAMED_NS)
    assert (unit["conflict_count"], unit["flags"]) == (0, None)
    assert times(database)["decode", "eng.decode", "llm_request/decode"] == 27 * MS
    assert sum(times(database).values()) == STREAMED_NS


def test_how_long_spans_outlast_the_root_is_still_told(database: Database) -> None:
    """The call ends 35 ms after the root that came."""
    store(database, [SHORT_ROOT, AUTH, CALL, SERVE])
    assert request(database)["post_root_ns"] == 35 * MS


def test_a_root_that_ends_before_the_first_token_lasts_as_well(database: Database) -> None:
    """Some frameworks end the span before anything was sent."""
    store(database, [replace(ROOT, end=20 * MS), AUTH, CALL, SERVE])
    assert (request(database)["ttft_ns"], request(database)["end_ns"]) == (63 * MS, STREAMED_NS)


def test_the_time_that_is_shown_is_the_time_that_is_counted(database: Database) -> None:
    """The operations of the trace cover the request to its last token."""
    store(database, [SHORT_ROOT, AUTH, CALL, SERVE])
    owned = [piece for pieces in operations(database, trace_id=f"{1:032x}")["owned"] for piece in pieces]
    assert sum(piece["end_ns"] - piece["start_ns"] for piece in owned) == STREAMED_NS


def test_who_went_away_did_not_wait_for_later_tokens(database: Database) -> None:
    """An aborted request ends with its root, whatever the engine still made."""
    gone = replace(SHORT_ROOT, attributes=HTTP | {"http.response.status_code": 499})
    store(database, [gone, AUTH, CALL, SERVE])
    assert (request(database)["outcome"], request(database)["end_ns"]) == ("aborted", 64 * MS)


def test_work_after_the_answer_does_not_lengthen_a_request(database: Database) -> None:
    """Only tokens do: a log that is written after the root's end is nothing that was asked for."""
    log = Span(9, 95 * MS, 200 * MS, "audit", parent=1, kind=INTERNAL, service="gw")
    store(database, [ROOT, AUTH, CALL, replace(SERVE, attributes=ENGINE), log])
    assert request(database)["end_ns"] == 100 * MS
