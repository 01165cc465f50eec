"""A known field of another wire type is unknown, as protobuf has it: google's own parser is the oracle."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import DecodeError, Message
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, LogsData, ScopeLogs
from opentelemetry.proto.metrics.v1.metrics_pb2 import Gauge, Metric, MetricsData, NumberDataPoint, ScopeMetrics
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span, TracesData

from tests.unit.otlp.messages import logs_data, metrics_data, traces_data
from tracekit.otlp import Batch, Document, Signal, decode
from tracekit.records import SCHEMAS

MESSAGES: dict[Signal, Any] = {"traces": TracesData, "metrics": MetricsData, "logs": LogsData}
_LENGTH_KINDS = {FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES, FieldDescriptor.TYPE_MESSAGE}
_WIDE = {FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FIXED64, FieldDescriptor.TYPE_SFIXED64}


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def wire_type(field: FieldDescriptor) -> int:
    if field.type in _LENGTH_KINDS:
        return 2
    return 1 if field.type in _WIDE else 5 if field.type == FieldDescriptor.TYPE_FIXED32 else 0


@st.composite
def strange_fields(draw: st.DrawFn, message: Descriptor) -> bytes:
    """A field of a message that has another wire type than it should, or a group."""
    field = draw(st.sampled_from(list(message.fields)))
    allowed = {0, 1, 2, 3, 5} - {wire_type(field)} - ({2} if field.is_repeated else set())
    kind = draw(st.sampled_from(sorted(allowed)))
    key = varint(field.number << 3 | kind)
    if kind == 0:
        return key + varint(draw(st.integers(0, 2**64 - 1)))
    if kind == 2:
        content = draw(st.binary(max_size=12))
        return key + varint(len(content)) + content
    if kind == 3:
        return key + b"\x08\x01" * draw(st.integers(0, 3)) + varint(field.number << 3 | 4)
    return key + draw(st.binary(min_size=8 if kind == 1 else 4, max_size=8 if kind == 1 else 4))


@st.composite
def with_strange_fields(draw: st.DrawFn, message: Message) -> bytes:
    """The message on the wire, with strange fields strewn into it and into the messages inside."""
    parts = [draw(strange_fields(message.DESCRIPTOR)) for _ in range(draw(st.integers(0, 2)))]
    for field, value in message.ListFields():
        if field.message_type is None:
            own = type(message)()
            if field.is_repeated:
                getattr(own, field.name).extend(value)
            else:
                setattr(own, field.name, value)
            parts.append(own.SerializeToString())
            continue
        for each in value if field.is_repeated else [value]:
            inside = draw(with_strange_fields(each))
            parts.append(varint(field.number << 3 | 2) + varint(len(inside)) + inside)
    return b"".join(draw(st.permutations(parts)) if len(parts) < 4 else parts)


def tables(batch: Batch) -> str:
    """All records and findings, without the bytes that they were found at, as text: NaN equals NaN."""
    found = {name: getattr(batch, name).to_pylist() for name in SCHEMAS if name not in ("documents", "rejects")}
    return repr({**found, "rejects": batch.rejects.drop_columns(["offset"]).to_pylist()})


@pytest.mark.parametrize(("signal", "made"), [("traces", traces_data), ("metrics", metrics_data), ("logs", logs_data)])
@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_fields_of_another_wire_type_are_skipped_as_protobuf_skips_them(
    signal: Signal, made: st.SearchStrategy[Message], data: st.DataObject
) -> None:
    """The records are those of the message that google's parser makes of the same bytes, without what it skipped."""
    content = data.draw(with_strange_fields(data.draw(made)))
    known = MESSAGES[signal]()
    known.ParseFromString(content)
    known.DiscardUnknownFields()
    expected = decode([Document(known.SerializeToString())], encoding="protobuf", signal=signal)
    assert tables(decode([Document(content)], encoding="protobuf", signal=signal)) == tables(expected)


@settings(max_examples=300, deadline=None)
@given(tail=st.lists(st.tuples(st.sampled_from([3, 4, 0, 1, 2, 5, 6, 7]), st.integers(0, 20)), max_size=6))
def test_groups_end_where_protobuf_says_they_do(tail: list[tuple[int, int]]) -> None:
    """What google's parser refuses is a fault here, and the other way round."""
    whole = TracesData()
    whole.resource_spans.add().scope_spans.add().spans.add(
        name="good", start_time_unix_nano=1, trace_id=b"t" * 16, span_id=b"s" * 8
    )
    content = whole.SerializeToString() + b"".join(varint(number << 3 | kind) for kind, number in tail)
    batch = decode([Document(content)], encoding="protobuf", signal="traces")
    try:
        TracesData.FromString(content)
    except DecodeError:
        assert batch.rejects.num_rows == 1
    else:
        assert (batch.rejects.num_rows, batch.spans.num_rows) == (0, 1)


@pytest.mark.parametrize("number", [17, 18, 999, 1000, 1001, 2047, 2048, 2**29 - 1])
@pytest.mark.parametrize("content", [b"", b"text", b"\x0a\x02\x08\x01"])
def test_a_field_of_any_number_that_a_span_does_not_have_is_skipped(number: int, content: bytes) -> None:
    """Wherever its number lies beside those of the tables."""
    span = Span(name="good", start_time_unix_nano=1, trace_id=b"t" * 16, span_id=b"s" * 8).SerializeToString()
    field = varint(number << 3 | 2) + varint(len(content)) + content
    known = TracesData()
    known.resource_spans.add().scope_spans.add().spans.add().ParseFromString(field + span)
    batch = decode([Document(known.SerializeToString())], encoding="protobuf", signal="traces")
    assert (batch.spans["name"].to_pylist(), batch.rejects.num_rows) == (["good"], 0)


@pytest.mark.parametrize("signal", ["traces", "metrics", "logs"])
def test_records_under_the_number_of_old_instrumentation_libraries_are_read(signal: Signal) -> None:
    """Until 0.19 they might stand in field 1000 of a resource, whose content is what field 2 has."""
    inside = {
        "traces": ScopeSpans(spans=[Span(name="one", start_time_unix_nano=1, trace_id=b"t" * 16, span_id=b"s" * 8)]),
        "metrics": ScopeMetrics(
            metrics=[Metric(name="one", gauge=Gauge(data_points=[NumberDataPoint(as_int=1, time_unix_nano=1)]))]
        ),
        "logs": ScopeLogs(log_records=[LogRecord(time_unix_nano=1)]),
    }[signal]
    inside.scope.name = "library"

    def batch(number: int) -> Batch:
        scope = inside.SerializeToString()
        resource = varint(number << 3 | 2) + varint(len(scope)) + scope
        return decode([Document(b"\x0a" + varint(len(resource)) + resource)], encoding="protobuf", signal=signal)

    assert batch(1000).record_count == 1
    assert tables(batch(1000)) == tables(batch(2))
