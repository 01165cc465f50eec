"""Spans, events and links decode to what the official parser reads, from either encoding."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from tests.unit.otlp import messages, oracle
from tracekit.otlp import SCHEMAS, Batch, Document, decode

Row = dict[str, Any]


def span_rows(data: TracesData) -> list[Row]:
    return [
        {
            **place,
            "trace_id": span.trace_id,
            "span_id": oracle.span_number(span.span_id),
            "parent_span_id": oracle.span_number(span.parent_span_id),
            "trace_state": span.trace_state,
            "flags": span.flags,
            "name": span.name,
            "kind": span.kind,
            "start_ns": span.start_time_unix_nano,
            "end_ns": span.end_time_unix_nano,
            "attributes": oracle.attribute_object(span.attributes),
            "dropped_attributes_count": span.dropped_attributes_count,
            "dropped_events_count": span.dropped_events_count,
            "dropped_links_count": span.dropped_links_count,
            "status_code": span.status.code,
            "status_message": span.status.message,
            "document_row": 0,
        }
        for place, span in oracle.placed_records(data, "spans")
    ]


def spans_of(data: TracesData) -> list[Span]:
    return [span for _, span in oracle.placed_records(data, "spans")]


def event_rows(data: TracesData) -> list[Row]:
    return [
        {
            "span_row": row, "event_index": index, "time_ns": event.time_unix_nano, "name": event.name,
            "attributes": oracle.attribute_object(event.attributes),
            "dropped_attributes_count": event.dropped_attributes_count,
        }
        for row, span in enumerate(spans_of(data))
        for index, event in enumerate(span.events)
    ]  # fmt: skip


def link_rows(data: TracesData) -> list[Row]:
    return [
        {
            "span_row": row,
            "link_index": index,
            "linked_trace_id": link.trace_id,
            "linked_span_id": oracle.span_number(link.span_id),
            "trace_state": link.trace_state,
            "flags": link.flags,
            "attributes": oracle.attribute_object(link.attributes),
            "dropped_attributes_count": link.dropped_attributes_count,
        }
        for row, span in enumerate(spans_of(data))
        for index, link in enumerate(span.links)
    ]


def repeated_key_count(data: TracesData) -> int:
    """Attributes that are set aside anywhere in the document."""
    lists = [each.resource.attributes for each in data.resource_spans]
    lists += [inside.scope.attributes for _, inside in oracle.containers(data)]
    for span in spans_of(data):
        lists += [span.attributes, *(each.attributes for each in [*span.events, *span.links])]
    return sum(oracle.repeated_key_count(each) for each in lists)


def span_keys(data: TracesData) -> set[tuple[str, str]]:
    """Attribute keys of spans, each with what its resource says."""
    sent = [
        (resource, span) for resource in data.resource_spans for scope in resource.scope_spans for span in scope.spans
    ]
    return {
        (str(oracle.attribute_object(resource.resource.attributes)), pair.key)
        for resource, span in sent
        for pair in span.attributes
    }


def noted_keys(batch: Batch) -> set[tuple[str, str]]:
    resources = oracle.rows_of(batch.resources, json_columns=("attributes",))
    rows = batch.span_keys.to_pylist()
    noted = {(str(resources[each["resource_row"]]["attributes"]), each["key"]) for each in rows}
    assert len(noted) == len(rows)
    return noted


def assert_holds(batch: Batch, data: TracesData) -> None:
    has_json = {"json_columns": ("attributes",)}
    assert oracle.rows_of(batch.spans, **has_json) == span_rows(data)
    assert oracle.rows_of(batch.span_events, **has_json) == event_rows(data)
    assert oracle.rows_of(batch.span_links, **has_json) == link_rows(data)
    assert oracle.rows_of(batch.scopes, **has_json) == oracle.scope_rows(data)
    assert oracle.resources_of(batch) == oracle.resource_rows(data)
    assert noted_keys(batch) == span_keys(data)
    assert {each["reason"] for each in batch.rejects.to_pylist()} <= {"duplicate_attribute_key"}
    assert sum(batch.rejects["count"].to_pylist()) == repeated_key_count(data)


@given(data=messages.traces_data)
def test_protobuf_decodes_to_what_the_official_parser_reads(data: TracesData) -> None:
    """Every field of every span, event, link, scope and resource is in the tables, and nothing else is."""
    assert_holds(decode([Document(data.SerializeToString())], encoding="protobuf", signal="traces"), data)


@given(data=messages.traces_data)
def test_json_decodes_to_the_same_tables(data: TracesData) -> None:
    """The encodings meet: one document gives one batch, whichever way it was sent."""
    batch = decode([Document(messages.to_json(data))], encoding="json")
    assert_holds(batch, data)
    same = decode([Document(data.SerializeToString())], encoding="protobuf", signal="traces")
    assert all(getattr(batch, name).equals(getattr(same, name)) for name in SCHEMAS if name != "rejects")


def test_any_number_of_distinct_attribute_keys_is_told() -> None:
    """More than there is room to note on the way are read from what was written."""
    data = TracesData()
    scope = data.resource_spans.add().scope_spans.add()
    for number in range(3000):
        span = scope.spans.add(
            trace_id=bytes([1] * 16), span_id=(number + 1).to_bytes(8, "big"), start_time_unix_nano=1
        )
        span.attributes.add(key=f"key {number}").value.int_value = number
    batch = decode([Document(data.SerializeToString())], encoding="protobuf", signal="traces")
    assert noted_keys(batch) == span_keys(data)


@given(data=messages.traces_data, again=messages.traces_data)
def test_documents_of_a_call_do_not_mix(data: TracesData, again: TracesData) -> None:
    """Two documents in one call give the rows of both, one behind the other."""
    documents = [Document(each.SerializeToString()) for each in (data, again)]
    batch = decode(documents, encoding="protobuf", signal="traces")
    assert batch.spans.num_rows == len(spans_of(data)) + len(spans_of(again))
    assert batch.spans["document_row"].to_pylist() == [0] * len(spans_of(data)) + [1] * len(spans_of(again))
    assert batch.spans["name"].to_pylist() == [span.name for each in (data, again) for span in spans_of(each)]


@pytest.mark.parametrize("encoding", ["json", "protobuf"])
def test_no_documents_give_empty_tables_with_all_columns(encoding: str) -> None:
    """The shape of a batch does not depend on what is in it."""
    batch = decode([], encoding=encoding)
    for name, schema in SCHEMAS.items():
        assert getattr(batch, name).schema == schema
        assert getattr(batch, name).num_rows == 0
