"""Whatever the bytes are, reading them ends with sound tables and a report; it never fails otherwise."""

from __future__ import annotations

import io
import json

import pytest
from google.protobuf.message import DecodeError, Message
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.metrics.v1.metrics_pb2 import MetricsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests.unit.otlp import messages
from tracekit.errors import TracekitError
from tracekit.otlp import SCHEMAS, Batch, Document, decode, documents

any_data = st.one_of(messages.traces_data, messages.metrics_data, messages.logs_data)
SIGNALS = {TracesData: "traces", MetricsData: "metrics", LogsData: "logs"}
TABLES = {"traces": ("spans",), "metrics": ("metric_streams",), "logs": ("logs",)}


def record_count(batch: Batch) -> int:
    return batch.spans.num_rows + batch.metric_streams.num_rows + batch.logs.num_rows


def assert_sound(batch: Batch) -> None:
    """Arrow agrees that the tables are well-formed (UTF-8 too) and that rows point to rows."""
    for name, schema in SCHEMAS.items():
        table = getattr(batch, name)
        table.validate(full=True)
        assert table.schema == schema
    for name in ("spans", "metric_streams", "logs"):
        assert all(row < batch.resources.num_rows for row in getattr(batch, name)["resource_row"].to_pylist())
        assert all(row < batch.scopes.num_rows for row in getattr(batch, name)["scope_row"].to_pylist())
    assert all(row < batch.spans.num_rows for row in batch.span_events["span_row"].to_pylist())
    for name in ("metric_points", "metric_histograms", "metric_summaries", "exemplars"):
        assert all(row < batch.metric_streams.num_rows for row in getattr(batch, name)["stream_row"].to_pylist())
    for name in ("spans", "logs", "resources", "metric_streams"):
        assert all(
            isinstance(json.loads(text), dict) for text in getattr(batch, name)["attributes"].to_pylist() if text
        )


@given(data=any_data, cut=st.floats(0, 1))
def test_truncated_protobuf_keeps_a_prefix_of_the_records(data: Message, cut: float) -> None:
    """What is kept is what the whole document begins with; the cut is reported unless nothing was lost."""
    payload, signal = data.SerializeToString(), SIGNALS[type(data)]
    whole = decode([Document(payload)], encoding="protobuf", signal=signal)
    part = decode([Document(payload[: int(cut * len(payload))])], encoding="protobuf", signal=signal)
    assert_sound(part)
    (table,) = TABLES[signal]
    if signal != "metrics":
        kept = getattr(part, table)
        assert kept.equals(getattr(whole, table).slice(0, kept.num_rows))
    has_fault = any(each["kind"] == "rejected" for each in part.rejects.to_pylist())
    assert has_fault or record_count(part) <= record_count(whole)


@given(data=any_data, cut=st.floats(0, 1))
def test_truncated_json_keeps_a_prefix_of_the_records(data: Message, cut: float) -> None:
    """The same for JSON, where each proper prefix is a fault."""
    payload, signal = messages.to_json(data), SIGNALS[type(data)]
    whole = decode([Document(payload)], encoding="json")
    part = decode([Document(payload[: min(int(cut * len(payload)), len(payload) - 1)])], encoding="json")
    assert_sound(part)
    (table,) = TABLES[signal]
    if signal != "metrics":
        kept = getattr(part, table)
        assert kept.equals(getattr(whole, table).slice(0, kept.num_rows))
    assert "truncated" in [each["reason"] for each in part.rejects.to_pylist()]


flips = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4)


def flipped(payload: bytes, changes: list[tuple[int, int]]) -> bytes:
    damaged = bytearray(payload)
    for place, byte in changes:
        if damaged:
            damaged[place % len(damaged)] = byte
    return bytes(damaged)


@given(data=any_data, changes=flips, signal=st.sampled_from(["traces", "metrics", "logs", None]))
def test_damaged_protobuf_is_read_soundly(data: Message, changes: list[tuple[int, int]], signal: str | None) -> None:
    """Also when the wrong signal is asked for."""
    assert_sound(decode([Document(flipped(data.SerializeToString(), changes))], encoding="protobuf", signal=signal))


@given(data=any_data, changes=flips)
def test_damaged_json_is_read_soundly(data: Message, changes: list[tuple[int, int]]) -> None:
    """Whatever character stands where."""
    assert_sound(decode([Document(flipped(messages.to_json(data), changes))], encoding="json"))


@given(payload=st.binary(max_size=200), encoding=st.sampled_from(["json", "protobuf"]))
def test_any_bytes_are_read_soundly(payload: bytes, encoding: str) -> None:
    """Not even bytes that were never OTLP do harm."""
    assert_sound(decode([Document(payload)], encoding=encoding))


@given(data=any_data, changes=flips, is_json=st.booleans(), cut=st.floats(0, 1), chunk_bytes=st.integers(1, 500))
def test_damaged_files_are_read_or_refused(
    data: Message, changes: list[tuple[int, int]], is_json: bool, cut: float, chunk_bytes: int
) -> None:
    """A file gives documents and faults, or the one error that says it is of no known format."""
    message = messages.to_json(data) + b"\n" if is_json else data.SerializeToString()
    content = flipped(message * 2, changes)[: int(cut * 2 * len(message)) + 1]
    try:
        for chunk in documents(io.BytesIO(content), chunk_bytes=chunk_bytes):
            assert_sound(decode(chunk.documents, encoding=chunk.encoding, signal=chunk.signal))
    except TracekitError:
        pass


@given(data=any_data, other=st.sampled_from(["traces", "metrics", "logs"]))
def test_no_record_of_one_signal_is_read_as_another(data: Message, other: str) -> None:
    """Field numbers are shared between signals: a log must not become a span without ids and with a junk
    name.
    """
    signal = SIGNALS[type(data)]
    batch = decode([Document(data.SerializeToString())], encoding="protobuf", signal=other)
    if other != signal:
        assert record_count(batch) == 0


@given(data=any_data)
def test_signal_of_protobuf_is_found_by_trial(data: Message) -> None:
    """What is stored without being told the signal is what is stored when told."""
    payload = [Document(data.SerializeToString())]
    told = decode(payload, encoding="protobuf", signal=SIGNALS[type(data)])
    found = decode(payload, encoding="protobuf")
    assert record_count(found) == record_count(told)
    if record_count(told):
        assert all(getattr(found, name).num_rows == getattr(told, name).num_rows for name in SCHEMAS)


@given(data=any_data, payload=st.binary(max_size=60))
def test_protobuf_that_the_official_parser_takes_is_taken(data: Message, payload: bytes) -> None:
    """Appended bytes that are fields for the official parser are fields here: known, repeated or unknown."""
    whole = data.SerializeToString() + payload
    try:
        type(data).FromString(whole)
    except DecodeError:
        return
    batch = decode([Document(whole)], encoding="protobuf", signal=SIGNALS[type(data)])
    assert_sound(batch)
    assert "truncated" not in [each["reason"] for each in batch.rejects.to_pylist()]


@pytest.mark.parametrize("has_ids", [True, False])
def test_logs_bytes_offered_as_traces_are_rejected(has_ids: bool) -> None:
    """The report says that it is another signal; nothing of it is stored."""
    data = LogsData()
    record = data.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=5, severity_text="INFO")
    record.body.string_value = "hello"
    if has_ids:
        record.trace_id, record.span_id = b"t" * 16, b"s" * 8
    batch = decode([Document(data.SerializeToString())], encoding="protobuf", signal="traces")
    assert record_count(batch) == 0
    assert [each["reason"] for each in batch.rejects.to_pylist()] == ["wrong_signal"]


@pytest.mark.parametrize(
    "key",
    [b"\xe0\xe0\xe0\xe0\xe0\xe0\xe0\xe0\xe0\x09", b"\x88\x80\x80\x80\x80\x01", b"\xf8\xff\xff\xff\x7f"],
    ids=["64 bits", "six bytes for a small number", "a number beyond 29 bits"],
)
def test_keys_that_no_protobuf_has_are_not_skipped_as_unknown_fields(key: bytes) -> None:
    """The official parser refuses them; a document that has one was damaged on its way."""
    payload = key + b"\x01"
    with pytest.raises(DecodeError):
        TracesData.FromString(payload)
    found = decode([Document(payload)], encoding="protobuf", signal="traces").rejects.to_pylist()
    assert [each["reason"] for each in found] == ["malformed"]
