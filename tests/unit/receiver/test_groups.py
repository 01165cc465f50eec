"""Requests that are read in groups and written together get the answers that each would get alone."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conformance import exports
from tests.unit.store.records import gauge, logs, metrics, point, span, traces
from tracekit.otlp import Signal
from tracekit.receiver.export import Export
from tracekit.receiver.groups import joined, read_group, write_group
from tracekit.receiver.outcome import Accepted, Outcome, Refused
from tracekit.store import Database

ROWS = 2048
_names = itertools.count()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Database]:
    with Database.serve(tmp_path / "store.duckdb", row_group_rows=ROWS) as database:
        yield database


def protobuf(signal: Signal, payload: bytes) -> Export:
    return Export(signal, "protobuf", payload, "http")


def in_json(signal: Signal, document: dict[str, Any]) -> Export:
    return Export(signal, "json", json.dumps(document).encode(), "http")


def told(outcomes: Sequence[Outcome]) -> list[int | str]:
    """The number of rejected records of each accepted request, and why others were refused."""
    return [each.rejected_count if isinstance(each, Accepted) else each.why.name for each in outcomes]


REQUESTS = {
    "good": lambda: protobuf("traces", exports.traces(3)),
    "part bad": lambda: protobuf("traces", exports.traces(2, bad=2)),
    "all bad": lambda: protobuf("traces", exports.traces(0, bad=1)),
    "no OTLP": lambda: protobuf("traces", b"\xff\xff\xff"),
    "empty": lambda: protobuf("traces", b""),
    "logs": lambda: protobuf("logs", exports.logs(1, bad=1)),
    "metrics": lambda: protobuf("metrics", exports.metrics(2)),
    "json": lambda: in_json("traces", traces(span(1 << 100 | next(_names), 1), {"traceId": "abcd"})),
}
ALONE = {
    "good": 0, "part bad": 2, "all bad": "INVALID", "no OTLP": "INVALID", "empty": 0, "logs": 1, "metrics": 0, "json": 1
}  # fmt: skip


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.sampled_from(sorted(REQUESTS)), min_size=1, max_size=5), min_size=1, max_size=4))
def test_joined_groups_answer_every_request_as_if_it_came_alone(groups: list[list[str]]) -> None:
    """Whatever came with it, and in which of the groups that are written at once."""
    read = joined([read_group([REQUESTS[name]() for name in group]) for group in groups])
    with Database.open(None) as database:
        written = write_group(database, read)
        stored = database.sql("SELECT count(*) FROM spans").item()
    names = [name for group in groups for name in group]
    assert told(written.outcomes) == [ALONE[name] for name in names]
    assert stored == sum({"good": 3, "part bad": 2, "json": 1}.get(name, 0) for name in names)


def test_the_same_span_in_two_joined_groups_is_stored_once(served: Database) -> None:
    """A retry may overtake its first try."""
    payload = exports.traces(5)
    written = write_group(served, joined([read_group([protobuf("traces", payload)]) for _ in range(3)]))
    assert told(written.outcomes) == [0, 0, 0]
    assert [(counts.spans, counts.duplicates) for _, counts in written.counts] == [(5, 10)]


@pytest.mark.parametrize("first", ["json", "protobuf"])
def test_a_group_larger_than_a_row_group_in_two_encodings_is_stored(served: Database, first: str) -> None:
    """Each encoding in a transaction of its own."""
    many = [protobuf("traces", exports.traces(ROWS + 10)), in_json("traces", traces(*_spans(ROWS + 10)))]
    few = [protobuf("traces", exports.traces(10)), in_json("traces", traces(*_spans(10)))]
    group = few + (many if first == "protobuf" else many[::-1])
    written = write_group(served, read_group(group))
    assert told(written.outcomes) == [0, 0, 0, 0]
    assert served.sql("SELECT count(*) FROM spans").item() == 2 * ROWS + 40


def test_a_flood_of_resources_between_other_signals_is_stored(served: Database) -> None:
    """All signals share the table of resources. One of them, two full row groups and one more are more than DuckDB can
    take in one transaction.
    """
    flood = {"resourceSpans": [resource for each in _spans(2 * ROWS) for resource in _alone(each)]}
    group = [
        in_json("logs", logs({"timeUnixNano": "5"}, service="a")),
        in_json("traces", flood),
        in_json("metrics", metrics(gauge("g", point(1, 1.0)), service="b")),
    ]
    assert told(write_group(served, read_group(group)).outcomes) == [0, 0, 0]
    assert served.sql("SELECT count(*) FROM resources").item() == 2 * ROWS + 2


def _spans(count: int) -> list[dict[str, Any]]:
    return [span(1 << 100 | next(_names), 7) for _ in range(count)]


def _alone(one: dict[str, Any]) -> list[dict[str, Any]]:
    return traces(one, service=f"service-{next(_names)}")["resourceSpans"]


def test_what_cannot_be_read_refuses_only_its_sender(served: Database) -> None:
    """The others of the group are stored."""
    group = [protobuf("traces", exports.traces(2)), protobuf("traces", b"\xff"), protobuf("traces", exports.traces(2))]
    outcomes = write_group(served, read_group(group)).outcomes
    assert [isinstance(each, Refused) for each in outcomes] == [False, True, False]
    assert served.sql("SELECT count(*) FROM spans").item() == 4
