"""Batches that are joined are what one decoding of all documents gives."""

from __future__ import annotations

import json
from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.store.records import gauge, logs, metrics, point, span, traces
from tracekit.otlp import Batch, Document, decode
from tracekit.records.joining import joined

DOCUMENTS = st.lists(
    st.one_of(
        st.builds(
            lambda trace, service: traces(
                span(trace, 1, links=[{"traceId": f"{9:032x}", "spanId": f"{9:016x}"}]),
                span(trace, 2, events=[{"timeUnixNano": "1", "name": "event"}]),
                span(0, 3),
                service=service,
            ),
            st.integers(1, 3),
            st.sampled_from("xy"),
        ),
        st.builds(lambda time: metrics(gauge("cpu", point(time, 1), point(time, 2, host="a"))), st.integers(1, 3)),
        st.builds(lambda time: logs({"timeUnixNano": str(time)}), st.integers(1, 3)),
    ),
    min_size=1,
    max_size=6,
)


def decoded(documents: list[dict[str, object]], *, first: int) -> Batch:
    """Documents that lie 1000 bytes apart in their source, decoded together."""
    numbered = enumerate(documents, start=first)
    return decode([Document(json.dumps(each).encode(), 1000 * place) for place, each in numbered], encoding="json")


def referred(batch: Batch) -> dict[str, list[dict[str, object]]]:
    """Every table of records as rows, with the resource, scope, series or span that a row refers to in it."""
    tables = {table.name: getattr(batch, table.name).to_pylist() for table in fields(Batch)}
    others = {
        "resource_row": "resources",
        "scope_row": "scopes",
        "stream_row": "metric_streams",
        "span_row": "spans",
    }
    for rows in tables.values():
        for row in rows:
            row |= {column: tables[table][row[column]] for column, table in others.items() if column in row}
    return {name: rows for name, rows in tables.items() if name not in ("resources", "scopes")}


@given(DOCUMENTS, st.integers(1, 5))
def test_cutting_and_joining_gives_the_same_records(documents: list[dict[str, object]], size: int) -> None:
    """Row numbers follow the rows they count, documents included."""
    parts = [documents[place : place + size] for place in range(0, len(documents), size)]
    batches = [decoded(part, first=place * size) for place, part in enumerate(parts)]
    together = joined(batches)
    assert referred(together) == referred(decoded(documents, first=0))
