"""A merged batch is the same batch in another order, with what its spans have beside it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.store.records import attributes, batch, span, traces
from tracekit.store import MergedBatch, merge_batches, sort_by_service

SPANS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.integers(1, 3), st.integers(1, 4), st.integers(0, 2)), max_size=12
)


CUTS = st.sets(st.integers(1, 11), max_size=3)


def documents(spans: Sequence[tuple[str | None, int, int, int]]) -> list[dict[str, Any]]:
    """A document a span of (service, trace, number, events); the name tells where it came."""
    made = []
    for place, (service, trace, number, events) in enumerate(spans):
        parts = [{"timeUnixNano": str(at + 1), "name": f"event {at}"} for at in range(events)]
        links = [{"traceId": f"{at + 1:032x}", "spanId": f"{7:016x}"} for at in range(events)]
        sent = span(trace, number, name=f"span {place}", events=parts, links=links)
        document = traces(sent, service=service or "")
        if service is None:
            document["resourceSpans"][0]["resource"]["attributes"] = []
        made.append(document)
    return made


def ready_of(spans: Sequence[tuple[str | None, int, int, int]], cuts: set[int]) -> MergedBatch:
    """The spans merged, decoded in parts that begin at the cuts."""
    sent = documents(spans) or [traces()]
    bounds = [0, *sorted(cut for cut in cuts if 0 < cut < len(sent)), len(sent)]
    parts = [sent[first:end] for first, end in itertools.pairwise(bounds)]
    return merge_batches([sort_by_service(batch(*part)) for part in parts])


def described(ready: MergedBatch) -> list[tuple[str, list[str], int]]:
    """Name, events and number of links of each span, in order."""
    rows = range(ready.batch.spans.num_rows)
    events, links = ready.batch.span_events.to_pylist(), ready.batch.span_links.to_pylist()
    return [
        (
            ready.batch.spans["name"][row].as_py(),
            [each["name"] for each in events if each["span_row"] == row],
            sum(each["span_row"] == row for each in links),
        )
        for row in rows
    ]


@given(spans=SPANS, cuts=CUTS)
def test_spans_lie_by_service_and_trace_and_keep_what_is_theirs(
    spans: list[tuple[str | None, int, int, int]], cuts: set[int]
) -> None:
    """A service's spans of one trace in one part are neighbours; events and links follow theirs; nothing is lost."""
    ready = ready_of(spans, cuts)
    found = described(ready)
    assert sorted(found) == sorted(
        (f"span {place}", [f"event {at}" for at in range(events)], events)
        for place, (_, _, _, events) in enumerate(spans)
    )
    kinds = [spans[int(name.removeprefix("span "))][:2] for name, _, _ in found]
    services = [service for service, _ in kinds]
    assert len(list(itertools.groupby(services))) == len(set(services))
    if not cuts:
        assert len(list(itertools.groupby(kinds))) == len(set(kinds))


@given(spans=SPANS, cuts=CUTS)
def test_the_span_that_came_first_with_an_id_is_known(
    spans: list[tuple[str | None, int, int, int]], cuts: set[int]
) -> None:
    """Whatever the order in which they are stored: the first of an id is the one that stays."""
    ready = ready_of(spans, cuts)
    names = ready.batch.spans["name"].to_pylist()
    for row, first in enumerate(ready.first_rows):
        _, trace, number, _ = spans[int(names[row].removeprefix("span "))]
        came_first = next(at for at, each in enumerate(spans) if each[1:3] == (trace, number))
        assert names[first] == f"span {came_first}"


def test_attribute_keys_are_told_by_sender() -> None:
    """Each once, for the first of the resources that are the same."""
    shop = [
        traces(span(1, number, attributes=attributes({key: 1})), service="shop") for number, key in enumerate("aab", 1)
    ]
    bank = traces(span(1, 9, attributes=attributes({"a": "x"})), service="bank")
    ready = merge_batches([sort_by_service(batch(*shop, bank))])
    assert sorted(map(tuple, (row.values() for row in ready.batch.span_keys.to_pylist()))) == [
        (0, "a"),
        (0, "b"),
        (3, "a"),
    ]
