"""An iterator that a thread runs ahead of its user."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from tracekit.ingest.ahead import ahead


def test_items_come_in_order_and_complete() -> None:
    """The thread changes when items are made, not which."""
    assert list(ahead(iter(range(100)))) == list(range(100))
    assert list(ahead(iter([]))) == []


def test_the_next_item_is_made_while_one_is_used_and_no_more() -> None:
    """Two items exist at a time, so memory does not grow with the lead of the thread."""
    made: list[int] = []

    def items() -> Iterator[int]:
        for number in range(5):
            made.append(number)
            yield number

    lead = ahead(items())
    assert next(lead) == 0
    deadline = time.monotonic() + 10
    while len(made) < 2 and time.monotonic() < deadline:
        time.sleep(0.001)
    time.sleep(0.05)
    assert made == [0, 1]
    lead.close()


def test_an_error_of_the_iterator_is_raised_where_items_are_used() -> None:
    """After the items before it."""

    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    lead = ahead(items())
    assert next(lead) == 1
    with pytest.raises(ValueError, match="broken"):
        next(lead)


def test_leaving_early_stops_the_thread() -> None:
    """Nothing goes on reading behind the back of a user who gave up."""
    lead = ahead(iter(range(1000)))
    next(lead)
    lead.close()
    assert not any(thread.name == "tracekit-ahead" for thread in threading.enumerate())
