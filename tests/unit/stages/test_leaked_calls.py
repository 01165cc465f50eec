"""Calls of a model that name a parent which had ended: whose time they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.analysis.requests_received import ERROR, MS, Seen, call, receive, root
from tracekit.analysis import request_failures
from tracekit.store import Database


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(None) as opened:
        yield opened


def handled(*calls: Seen, endpoint_end: int = 110) -> list[Seen]:
    """A web framework whose dependencies end at 5 ms and whose endpoint then works on, with a step of its own."""
    return [
        root(120 * MS, 200),
        Seen(2, 0, 5 * MS, "fastapi.dependencies", parent=1),
        Seen(3, 5 * MS, endpoint_end * MS, "fastapi.endpoint", parent=1),
        Seen(4, 6 * MS, 7 * MS, "route m", parent=3),
        *calls,
    ]


def stage_ms(database: Database) -> dict[str, float]:
    rows = database.sql("SELECT stage, sum(self_ns) / 1e6 AS ms FROM unit_stages GROUP BY stage").rows()
    return {stage: ms for stage, ms in rows if ms}


def test_the_span_that_holds_the_call_waited_for_it(database: Database, tmp_path: Path) -> None:
    """The call names the dependencies, which had ended; the endpoint holds it."""
    receive(database, tmp_path, handled(call(5, 20 * MS, 100 * MS, parent=2)))
    found = stage_ms(database)
    assert found["upstream"] == 80
    assert found["gateway:fastapi.endpoint"] == 105 - 80 - 1


def test_attempts_stay_together(database: Database, tmp_path: Path) -> None:
    """The first one is a retry, with the pause after it, and the request is served."""
    failed = call(5, 10 * MS, 20 * MS, parent=2, status=ERROR)
    receive(database, tmp_path, handled(failed, call(6, 30 * MS, 100 * MS, parent=2)))
    found = stage_ms(database)
    assert (found["retry"], found["upstream"]) == (20, 70)
    answer = request_failures(database)
    assert answer.failed == 0
    assert dict(answer.recovered.select("how", "request_count").rows()) == {"retried": 1, "handled": 0}


def test_a_call_that_outlasts_every_other_span_stays_where_it_is(database: Database, tmp_path: Path) -> None:
    """A stream goes on after the endpoint has returned: only the request holds it, as before."""
    receive(database, tmp_path, handled(call(5, 20 * MS, 118 * MS, parent=2), endpoint_end=50))
    assert stage_ms(database)["upstream"] >= 68


def test_a_call_whose_parent_runs_is_not_moved(database: Database, tmp_path: Path) -> None:
    """It names the request and lies inside the endpoint: it may run beside it, and the endpoint has the time."""
    receive(database, tmp_path, handled(call(5, 20 * MS, 100 * MS, parent=1)))
    assert stage_ms(database)["gateway:fastapi.endpoint"] == 104


def test_another_process_made_no_call_of_this_one(database: Database, tmp_path: Path) -> None:
    """What holds the call in time is of another service: nothing says that it made it."""
    spans = handled(call(5, 20 * MS, 100 * MS, parent=2))
    spans[2] = replace(spans[2], service="worker", host="worker-0")
    receive(database, tmp_path, spans)
    assert stage_ms(database)["worker:fastapi.endpoint"] >= 100
