"""Log records decode to what the official parser reads, from either encoding."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData

from tests.unit.otlp import messages, oracle
from tracekit.otlp import SCHEMAS, Document, decode

Row = dict[str, Any]


def log_rows(data: LogsData) -> list[Row]:
    return [
        {
            **place,
            "time_ns": log.time_unix_nano or None,
            "observed_time_ns": log.observed_time_unix_nano or None,
            "severity_number": log.severity_number,
            "severity_text": log.severity_text,
            "body": oracle.body(log.body),
            "attributes": oracle.attribute_object(log.attributes),
            "dropped_attributes_count": log.dropped_attributes_count,
            "flags": log.flags,
            "trace_id": log.trace_id or None,
            "span_id": oracle.span_number(log.span_id),
            "event_name": log.event_name,
            "document_row": 0,
        }
        for place, log in oracle.placed_records(data, "log_records")
    ]


def repeated_in_bodies(data: LogsData) -> int:
    bodies = [log.body for _, log in oracle.placed_records(data, "log_records")]
    return sum(oracle.repeated_key_count([KeyValue(value=each)]) for each in bodies)


@given(data=messages.logs_data)
def test_protobuf_decodes_to_what_the_official_parser_reads(data: LogsData) -> None:
    """Every field of every log record is in the table; empty times and ids are null."""
    batch = decode([Document(data.SerializeToString())], encoding="protobuf", signal="logs")
    assert oracle.rows_of(batch.logs, json_columns=("attributes", "body")) == log_rows(data)
    assert oracle.rows_of(batch.scopes, json_columns=("attributes",)) == oracle.scope_rows(data)
    assert oracle.resources_of(batch) == oracle.resource_rows(data)
    assert sum(batch.rejects["count"].to_pylist()) >= repeated_in_bodies(data)


@given(data=messages.logs_data)
def test_json_decodes_to_the_same_tables(data: LogsData) -> None:
    """The encodings meet: one document gives one batch, whichever way it was sent."""
    batch = decode([Document(messages.to_json(data))], encoding="json")
    same = decode([Document(data.SerializeToString())], encoding="protobuf", signal="logs")
    assert all(getattr(batch, name).equals(getattr(same, name)) for name in SCHEMAS if name != "rejects")


def body_text(value: AnyValue) -> str | None:
    data = LogsData()
    data.resource_logs.add().scope_logs.add().log_records.add(body=value)
    batch = decode([Document(data.SerializeToString())], encoding="protobuf", signal="logs")
    return batch.logs["body"].to_pylist()[0]


def test_body_is_json_text_of_its_value() -> None:
    """A body may be of any type; its text says which."""
    nested = AnyValue()
    nested.kvlist_value.values.add(key="code", value=AnyValue(int_value=2**53 + 1))
    nested.kvlist_value.values.add(key="parts").value.array_value.values.add(double_value=1.0)
    assert body_text(AnyValue(string_value='say "hi"\n')) == '"say \\"hi\\"\\n"'
    assert body_text(nested) == '{"code":9007199254740993,"parts":[1.0]}'
    assert body_text(AnyValue(bytes_value=b"\x00\x01")) == '{"bytesValue":"AAE="}'
    assert body_text(AnyValue()) is None
