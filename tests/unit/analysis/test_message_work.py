"""Work that messages start stands not beside the requests that send them, and is asked about where those are well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.analysis.requests_received import MS, SERVER, S, Seen, receive
from tracekit.analysis import FROM_MESSAGE, compare, tail
from tracekit.store import Database

PRODUCER, CONSUMER = 4, 5
COUNT = 240
CHANGE = 180


def sent(number: int, *, works_ms: int, root_kind: int = SERVER) -> Iterator[Seen]:
    """A request of 50 ms that sends a message, and the work of some milliseconds that this starts."""
    begin, trace = number * S, number + 1
    wobble = number * 7919 % 11 * MS // 10
    end = begin + 50 * MS + wobble
    yield Seen(1, begin, end, "POST /orders", trace=trace, kind=root_kind, service="shop")
    sender = 1
    if root_kind != PRODUCER:
        sender = 2
        yield Seen(2, end - 2 * MS, end - MS, "send receipt", parent=1, trace=trace, kind=PRODUCER, service="shop")
    began = end + 5 * MS
    yield Seen(
        3, began, began + works_ms * MS + wobble, "process receipt", parent=sender, trace=trace, kind=CONSUMER,
        service="mailer",
    )  # fmt: skip


@pytest.fixture
def slow_work(database: Database, tmp_path: Path) -> Database:
    """Receipts take 30 ms, the last sixty 300; requests always 50."""
    spans = [span for at in range(COUNT) for span in sent(at, works_ms=30 if at < CHANGE else 300)]
    return receive(database, tmp_path, spans)


def test_work_that_a_message_started_is_no_request_beside_its_sender(slow_work: Database) -> None:
    """Half of all units are such work; the mean request takes 50 ms, and not the mean of both."""
    answer = tail(slow_work, "e2e", quantile=0.0, baseline="body", where="start_ns IS NOT NULL")
    assert (answer.count, answer.tail_mean_ns // MS) == (COUNT, 50)
    assert answer.left_out.filter(reason=FROM_MESSAGE)["unit_count"].to_list() == [COUNT]
    assert answer.evidence.counts["missing_metric_count"] == 0


def test_slow_work_is_found_where_the_requests_show_nothing(slow_work: Database) -> None:
    answer = tail(slow_work, "e2e")
    assert answer.is_of_messages
    assert answer.verdict in ("excess_explained", "stage_slower")
    assert answer.stages["stage"][0] == "mailer:process receipt"


def test_work_alone_can_be_asked_about(slow_work: Database) -> None:
    answer = tail(slow_work, "e2e", quantile=0.0, baseline="body", where="service_name = 'mailer'")
    assert answer.count == COUNT
    assert not answer.is_of_messages


def test_a_comparison_leaves_the_work_out_and_says_so(slow_work: Database) -> None:
    change_ns = int(slow_work.sql("SELECT list_sort(list(start_ns))[361] FROM units").item())
    answer = compare(slow_work, f"start_ns < {change_ns}", f"start_ns >= {change_ns}")
    assert answer.left_out == {FROM_MESSAGE: COUNT}
    assert answer.verdict not in ("regressed", "stage_slower")


def test_where_requests_do_nothing_but_send_the_work_is_what_is_asked_about(database: Database, tmp_path: Path) -> None:
    receive(database, tmp_path, [span for at in range(20) for span in sent(at, works_ms=30, root_kind=PRODUCER)])
    assert tail(database, "e2e", quantile=0.0, baseline="body").count == 40
    assert database.sql("SELECT count(*) FROM units WHERE contains(flags, 'from_message')").item() == 0
