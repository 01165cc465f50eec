"""Rows of ClickHouse's `otel_traces` (the Collector's exporter), as `FORMAT JSONEachRow` writes them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.importers.test_json_exports import PARENT, SPAN, TRACE, Json, read, rejected, spans

ROW: Json = {
    "Timestamp": "2023-11-14 22:13:20.000000001", "TraceId": TRACE, "SpanId": SPAN, "ParentSpanId": PARENT,
    "TraceState": "a=b", "SpanName": "chat", "SpanKind": "Server", "ServiceName": "gateway",
    "ResourceAttributes": {"service.name": "gateway", "host.name": "gw-1"}, "ScopeName": "my.scope",
    "ScopeVersion": "1.0", "SpanAttributes": {"gen_ai.usage.input_tokens": "42"}, "Duration": "250000000",
    "StatusCode": "Error", "StatusMessage": "timed out",
    "Events.Timestamp": ["2023-11-14 22:13:20.000000500"], "Events.Name": ["first token"],
    "Events.Attributes": [{"n": "1"}],
    "Links.TraceId": [TRACE[::-1]], "Links.SpanId": [PARENT], "Links.TraceState": [""], "Links.Attributes": [{}],
}  # fmt: skip
OLDER = {"SpanKind": "SPAN_KIND_SERVER", "StatusCode": "STATUS_CODE_ERROR", "Duration": 250_000_000}
NESTED = {
    "Events": [{"Timestamp": "1700000000.000000500", "Name": "first token", "Attributes": {"n": "1"}}],
    "Links": [{"TraceId": TRACE[::-1], "SpanId": PARENT, "TraceState": "", "Attributes": {}}],
}
IN_OBJECTS = {key: value for key, value in ROW.items() if "." not in key} | NESTED


@pytest.mark.parametrize(
    "row",
    [
        ROW,
        ROW | OLDER,
        IN_OBJECTS,
        ROW | {"Timestamp": "1700000000.000000001"},
        ROW | {"Timestamp": "2023-11-14T22:13:20.000000001Z"},
    ],
)
def test_a_row_is_the_span_that_was_sent(row: Json) -> None:
    """Exporters of all ages, with nested columns as lists or as objects, and times in ClickHouse's three ways."""
    format, batches, rows = read(row)
    [span] = spans(batches)
    assert (format, rejected(rows)) == ("rows of ClickHouse's otel_traces", [])
    assert (span["trace_id"], span["span_id"], span["parent_span_id"]) == (TRACE, SPAN, PARENT)
    assert (span["start_ns"], span["end_ns"]) == (1700000000000000001, 1700000000250000001)
    assert (span["kind"], span["status_code"], span["status_message"]) == (2, 2, "timed out")
    assert (span["trace_state"], span["scope"]) == ("a=b", "my.scope")
    assert span["resource"] == {"service.name": "gateway", "host.name": "gw-1"}
    assert span["attributes"] == {"gen_ai.usage.input_tokens": "42"}
    (event,) = batches[0].span_events.to_pylist()
    assert (event["time_ns"], event["name"]) == (1700000000000000500, "first token")
    (link,) = batches[0].span_links.to_pylist()
    assert link["linked_trace_id"].hex() == TRACE[::-1]


def test_what_the_table_lost_is_told() -> None:
    _, _, rows = read(ROW)
    notes = [row["example"] for row in rows if row["kind"] == "note"]
    assert notes == ["attributes are text in this table, whatever type they had when they were sent"]


def test_a_root_in_few_columns_is_a_span() -> None:
    """Only what a span needs was selected; its service stands for its resource."""
    chosen = ("Timestamp", "TraceId", "SpanId", "SpanName", "Duration", "ServiceName")
    [span] = spans(read({key: ROW[key] for key in chosen} | {"ParentSpanId": ""})[1])
    assert (span["parent_span_id"], span["resource"]) == (None, {"service.name": "gateway"})


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("TraceId", "zz", "id_not_hex"),
        ("TraceId", "", "trace_id_invalid"),
        ("Timestamp", "yesterday", "wrong_type"),
        ("Duration", "-5", "number_out_of_range"),
    ],
)
def test_a_bad_row_costs_only_itself(field: str, value: Any, reason: str) -> None:
    content = "\n".join(json.dumps(row) for row in (ROW, ROW | {"SpanId": PARENT, field: value}))
    _, batches, rows = read(content.encode())
    assert (len(spans(batches)), rejected(rows)) == (1, [(reason, 1)])
