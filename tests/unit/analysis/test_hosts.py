"""Which hosts served the slow requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.unit.store.records import batch, span, traces
from tracekit.analysis import TailAnswer, tail
from tracekit.report import answer_text
from tracekit.stages import update_units
from tracekit.store import Database, IngestWriter

MS = 1_000_000
SECOND = 1000 * MS


@pytest.fixture
def database() -> Iterator[Database]:
    with Database.open(None) as opened:
        yield opened


def serve(database: Database, host_of: Callable[[int], str], *, slow: str = "w1", tries: bool = False) -> TailAnswer:
    """400 requests a second apart; the engine on host `slow` takes ten times as long.

    With `tries` each one spends 1 ms on host w2 before.
    """
    documents = []
    for number in range(400):
        trace, start = number + 1, number * SECOND
        took = (200 if host_of(number) == slow else 20) * MS + number % 7 * 1000
        root = span(trace, 1, start=start, end=start + took + 10 * MS, name="chat", kind=2)
        work = span(trace, 2, start=start + 5 * MS, end=start + 5 * MS + took, name="work", parentSpanId="1".zfill(16))
        documents.append(traces(root, service="gateway", **{"host.name": "g0"}))
        documents.append(traces(work, service="engine", **{"host.name": host_of(number)}))
        if tries:
            tried = span(trace, 3, start=start + MS, end=start + 2 * MS, name="try", parentSpanId="1".zfill(16))
            documents.append(traces(tried, service="engine", **{"host.name": "w2"}))
    IngestWriter(database, source="test").write(batch(*documents))
    update_units(database)
    return tail(database, "e2e", quantile=0.8)


def every_fourth_on_w1(number: int) -> str:
    return "w1" if number % 4 == 0 else "w0"


def test_the_host_that_serves_the_slow_ones_comes_first(database: Database) -> None:
    """All of the slowest fifth were on w1, few of the rest; the text of the answer says so."""
    answer = serve(database, every_fourth_on_w1)
    first = answer.differences.row(0, named=True)
    assert (first["dimension"], first["value"], first["tail_count"]) == ("host of engine", "w1", answer.tail_count)
    assert (first["tail_share"], first["rest_count"]) == (1.0, 0)
    assert "host of engine" in answer_text(answer)


def test_a_service_on_one_host_is_no_difference(database: Database) -> None:
    """Of the gateway there is only one."""
    answer = serve(database, every_fourth_on_w1)
    assert "host of gateway" not in answer.differences["dimension"].to_list()


def test_a_request_is_told_by_the_host_that_worked_longest_for_it(database: Database) -> None:
    """A short try elsewhere before does not count."""
    answer = serve(database, every_fourth_on_w1, tries=True)
    hosts = answer.differences.filter(dimension="host of engine")
    assert set(hosts["value"]) == {"w1"}
    assert hosts["tail_count"].sum() == answer.tail_count


def test_hosts_that_serve_slow_and_fast_alike_are_not_shown(database: Database) -> None:
    """Where all of one host's requests take as long as the other's, the text says nothing of hosts."""
    answer = serve(database, lambda number: f"w{number % 2}", slow="none")
    assert "host of engine" not in answer_text(answer)
