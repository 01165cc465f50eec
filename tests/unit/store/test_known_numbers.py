"""What a store remembers of the numbers that it gave."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.store.records import batch, span, traces
from tracekit.store import Database, IngestWriter
from tracekit.store.known_numbers import KnownNumbers


def note_and_abort(known: KnownNumbers) -> None:
    with known.transaction():
        known.note("resources", [("a",)], [1])
        raise ValueError("full")


def test_numbers_are_known_when_the_transaction_is_over() -> None:
    """And inside it from the moment when they were noted: a group has several batches."""
    known = KnownNumbers()
    with known.transaction():
        assert known.find("resources", [("a",)]) is None
        known.note("resources", [("a",), ("b",)], [1, 2])
        assert known.find("resources", [("b",), ("a",), ("b",)]) == [2, 1, 2]
    assert known.find("resources", [("a",)]) == [1]


def test_an_aborted_transaction_leaves_nothing() -> None:
    """The store gives its numbers again, to others."""
    known = KnownNumbers()
    with pytest.raises(ValueError, match="full"):
        note_and_abort(known)
    assert known.find("resources", [("a",)]) is None
    with known.transaction():
        assert known.find("resources", [("a",)]) is None


def test_one_unknown_content_is_enough_to_ask_the_store() -> None:
    """The store numbers all of a batch in one statement."""
    known = KnownNumbers()
    with known.transaction():
        known.note("scopes", [("a",)], [1])
    assert known.find("scopes", [("a",), ("b",)]) is None
    assert known.find("scopes", []) == []


def test_a_content_of_another_kind_is_another() -> None:
    """Resources and scopes are numbered apart."""
    known = KnownNumbers()
    with known.transaction():
        known.note("scopes", [("a",)], [1])
    assert known.find("resources", [("a",)]) is None


def test_memory_is_bounded() -> None:
    """Senders that come with ever new resources cost no more than `limit`."""
    known = KnownNumbers(limit=10)
    for number in range(1, 100):
        with known.transaction():
            known.note("resources", [(number,)], [number])
        assert known.find("resources", [(number,)]) == [number]
        assert sum(known.find("resources", [(each,)]) is not None for each in range(100)) <= 10


def failing() -> Iterator[None]:
    """Faults to report whose list breaks off, in the middle of the transaction."""
    raise ValueError("full")
    yield


def test_a_store_numbers_senders_rightly_after_an_aborted_batch() -> None:
    """The number that the aborted batch gave to its sender goes to another one, and each span knows its own."""
    with Database.open(None) as database:
        for service in ("before", "aborted", "after", "aborted", "before"):
            writer = IngestWriter(database, source="test")
            number = len(database.sql("FROM base.spans")) + 1
            document = batch(traces(span(1, number), service=service))
            if service == "aborted" and number == 2:
                with pytest.raises(ValueError, match="full"):
                    writer.write(document, rejects=failing())
            else:
                writer.write(document)
        found = database.sql("SELECT span_id, service_name, ingest_id FROM spans ORDER BY span_id")
        names = ["before", "after", "aborted", "before"]
        assert found["service_name"].to_list() == names
        assert found["ingest_id"].to_list() == [1, 2, 3, 4]
        assert database.sql("FROM base.resources").height == 3
