"""A record that cannot be stored is rejected with a reason that helps, and the records beside it are kept."""

from __future__ import annotations

import pytest
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests.unit.otlp.documents import (
    SPAN_ID,
    TRACE_ID,
    Json,
    attribute,
    logs,
    metrics,
    names,
    read,
    reasons,
    span,
    traces,
)  # fmt: skip
from tracekit.otlp import Document, decode

GOOD = span(name="good")
POINT = {"timeUnixNano": "5", "asInt": "1"}


@pytest.mark.parametrize(
    ("fields", "reason", "named"),
    [
        ({"traceId": "Z6z8LqVvEI+kU1/Ci6mXBQ=="}, "id_not_hex", "traceId"),
        ({"spanId": "Z6z8LqVvEI8="}, "id_not_hex", "spanId"),
        ({"traceId": TRACE_ID[:-2]}, "trace_id_invalid", "traceId"),
        ({"traceId": "0" * 32}, "trace_id_invalid", "traceId"),
        ({"traceId": None}, "trace_id_invalid", "traceId"),
        ({"spanId": SPAN_ID + "00"}, "span_id_invalid", "spanId"),
        ({"spanId": "0" * 16}, "span_id_invalid", "spanId"),
        ({"startTimeUnixNano": "0"}, "time_zero", "startTimeUnixNano"),
        ({"startTimeUnixNano": None}, "time_zero", "startTimeUnixNano"),
        ({"endTimeUnixNano": str(2**63)}, "time_out_of_range", "endTimeUnixNano"),
        ({"startTimeUnixNano": str(2**64)}, "number_out_of_range", "startTimeUnixNano"),
        ({"startTimeUnixNano": "soon"}, "wrong_type", "startTimeUnixNano"),
        ({"startTimeUnixNano": 1000.5}, "wrong_type", "startTimeUnixNano"),
        ({"start_time_unix_nano": "1000"}, "key_not_lower_camel_case", "startTimeUnixNano"),
        ({"trace_id": TRACE_ID, "traceId": None}, "key_not_lower_camel_case", "traceId"),
        ({"kind": "SPAN_KIND_INTERNAL"}, "enum_name", "kind"),
        ({"kind": 256}, "number_out_of_range", "kind"),
        ({"status": {"code": "STATUS_CODE_OK"}}, "enum_name", "code"),
        ({"flags": -1}, "number_out_of_range", "flags"),
        ({"name": 7}, "wrong_type", "name"),
        ({"name": "\ud800"}, "invalid_utf8", "name"),
        ({"attributes": {"a": 1}}, "wrong_type", "attributes"),
        ({"attributes": [None]}, "wrong_type", "attributes"),
        ({"attributes": [{"key": "a", "Value": {"StringValue": "x"}}]}, "key_not_lower_camel_case", "value"),
        ({"attributes": [attribute("a", string_value="x")]}, "key_not_lower_camel_case", "stringValue"),
        ({"attributes": [attribute("a", intValue="9223372036854775808")]}, "number_out_of_range", "intValue"),
        ({"attributes": [attribute("a", doubleValue="big")]}, "wrong_type", "doubleValue"),
        ({"attributes": [attribute("a", bytesValue="?")]}, "bytes_not_base64", "bytesValue"),
        ({"attributes": [attribute("a", boolValue="true")]}, "wrong_type", "boolValue"),
        ({"attributes": [attribute("a", stringValue="\udfff")]}, "invalid_utf8", "attributes"),
        ({"events": [{"name": "\ud800"}]}, "invalid_utf8", "name"),
        ({"events": [{"timeUnixNano": str(2**63)}]}, "time_out_of_range", "timeUnixNano"),
    ],
)
def test_span_is_rejected_with_the_field_named(fields: Json, reason: str, named: str) -> None:
    """The report names the field as a sender writes it; the good spans on both sides stay."""
    batch = read(traces(GOOD, span(**fields), GOOD))
    assert names(batch) == ["good", "good"]
    assert reasons(batch) == [("rejected", reason, 1)]
    assert f"field {named}:" in batch.rejects["example"][0].as_py()


def test_double_beyond_the_range_is_rejected() -> None:
    """`1e400` is no double; it must not become infinity."""
    text = traces(GOOD, span(attributes=[attribute("a", doubleValue="@")])).replace(b'"@"', b"1e400")
    batch = read(text)
    assert names(batch) == ["good"]
    assert reasons(batch) == [("rejected", "number_out_of_range", 1)]


def test_reject_tells_the_byte_of_the_fault() -> None:
    """The offset counts from the start of the source, over all its documents."""
    first, second = traces(GOOD), traces(GOOD, span(kind="SPAN_KIND_SERVER"))
    report = read(first, second).rejects.to_pylist()
    assert [(each["document_row"], each["signal"]) for each in report] == [(1, "traces")]
    assert (first + second)[report[0]["offset"] :].startswith(b'"SPAN_KIND_SERVER"')


def test_rejects_are_counted_by_document_and_reason() -> None:
    """One line for many faults of one kind."""
    bad = span(traceId="0" * 32)
    batch = read(traces(bad, GOOD, bad), traces(bad, span(startTimeUnixNano="0")))
    assert reasons(batch) == [
        ("rejected", "trace_id_invalid", 2),
        ("rejected", "time_zero", 1),
        ("rejected", "trace_id_invalid", 1),
    ]


def test_only_the_first_fault_of_a_record_counts() -> None:
    """Rejected records can be added up."""
    assert reasons(read(traces(span(name=3, kind="A", spanId="0" * 16)))) == [("rejected", "wrong_type", 1)]


def test_end_before_start_is_kept() -> None:
    """What a span says about itself is data, and for the quality report to judge."""
    batch = read(traces(span(startTimeUnixNano="2000", endTimeUnixNano="1000")))
    assert batch.spans.select(["start_ns", "end_ns"]).to_pylist() == [{"start_ns": 2000, "end_ns": 1000}]
    assert reasons(batch) == []


def test_zero_parent_is_no_parent() -> None:
    """Some senders write zeros where a root has no parent."""
    parents = read(traces(span(parentSpanId="0" * 16), span(parentSpanId=""), span())).spans["parent_span_id"]
    assert parents.to_pylist() == [None, None, None]


def test_repeated_attribute_keeps_the_first_value_and_is_noted() -> None:
    """The span stays; the note counts the attributes that were set aside."""
    attributes = [attribute("a", intValue=1), attribute("a", intValue=2), attribute("b", intValue=3)]
    batch = read(traces(span(attributes=[*attributes, attribute("a", intValue=4)])))
    assert batch.spans["attributes"].to_pylist() == ['{"a":1,"b":3}']
    assert reasons(batch) == [("note", "duplicate_attribute_key", 2)]


def test_link_with_an_id_of_wrong_length_is_set_aside() -> None:
    """The span is worth more than its link; the links that are kept keep their places."""
    good = {"traceId": TRACE_ID, "spanId": SPAN_ID}
    batch = read(traces(span(links=[{**good, "spanId": "ab"}, good])))
    assert batch.span_links["link_index"].to_pylist() == [1]
    assert reasons(batch) == [("note", "link_id_invalid", 1)]


def test_bad_text_of_a_resource_is_noted_and_its_spans_are_kept() -> None:
    """One broken attribute of a process does not cost its spans."""
    broken = [attribute("host.name", stringValue="\ud800"), attribute("service.name", stringValue="trainer")]
    batch = read(traces(GOOD, attributes=broken))
    assert names(batch) == ["good"]
    assert batch.resources["attributes"].to_pylist() == ['{"host.name":null,"service.name":"trainer"}']
    assert reasons(batch) == [("note", "invalid_utf8", 1)]


def test_fault_of_a_resource_is_reported_and_its_spans_are_kept() -> None:
    """A key in the wrong case outside the spans loses that key only."""
    batch = read(traces(GOOD, dropped_attributes_count=3))
    assert names(batch) == ["good"]
    assert reasons(batch) == [("rejected", "key_not_lower_camel_case", 1)]


@pytest.mark.parametrize("key", ["resource_spans", "ResourceSpans"])
def test_root_key_in_another_case_is_named(key: str) -> None:
    """A whole document in snake_case is one clear rejection, not an empty success."""
    batch = read(traces(GOOD).replace(b"resourceSpans", key.encode()))
    assert reasons(batch) == [("rejected", "key_not_lower_camel_case", 1)]
    assert "resourceSpans" in batch.rejects["example"][0].as_py()


@pytest.mark.parametrize(
    ("point", "reason"),
    [
        ({"timeUnixNano": "5"}, "point_without_value"),
        ({"asInt": "1"}, "time_zero"),
        ({"timeUnixNano": str(2**63), "asInt": "1"}, "time_out_of_range"),
        ({**POINT, "startTimeUnixNano": str(2**63)}, "time_out_of_range"),
        ({**POINT, "exemplars": [{"timeUnixNano": str(2**63)}]}, "time_out_of_range"),
        ({**POINT, "attributes": [attribute("a", stringValue="\ud800")]}, "invalid_utf8"),
        ({**POINT, "exemplars": [{"span_id": "ab"}]}, "key_not_lower_camel_case"),
    ],
)
def test_point_is_rejected(point: Json, reason: str) -> None:
    """The other points of the metric are kept, each with its stream."""
    batch = read(metrics({"name": "m", "gauge": {"dataPoints": [POINT, point, {**POINT, "asInt": "2"}]}}))
    assert batch.metric_points.select(["stream_row", "value_int"]).to_pylist() == [
        {"stream_row": 0, "value_int": 1}, {"stream_row": 1, "value_int": 2},
    ]  # fmt: skip
    assert batch.metric_streams.num_rows == 2
    assert reasons(batch) == [("rejected", reason, 1)]


def test_point_without_recorded_value_is_kept() -> None:
    """The flag says on purpose that there is no value: a gap, not a fault."""
    batch = read(metrics({"name": "m", "gauge": {"dataPoints": [{"timeUnixNano": "5", "flags": 1}]}}))
    assert batch.metric_points.select(["value_int", "value_double"]).to_pylist() == [
        {"value_int": None, "value_double": None}
    ]
    assert reasons(batch) == []


@pytest.mark.parametrize("fields", [{"name": 3}, {"name": "\ud800"}, {"unit": "\ud800"}, {"Unit": "s"}])
def test_fault_of_a_metric_rejects_its_points(fields: Json) -> None:
    """A point cannot be read without its metric; all of them count."""
    bad = {"name": "bad", "gauge": {"dataPoints": [POINT, POINT]}, **fields}
    batch = read(metrics(bad, {"name": "good", "gauge": {"dataPoints": [POINT]}}))
    assert batch.metric_streams["name"].to_pylist() == ["good"]
    assert [count for _, _, count in reasons(batch)] == [2]


@pytest.mark.parametrize(("counts", "bounds", "is_kept"), [
    ([], [], True), (["4"], [], True), (["1", "3"], [10.0], True),
    (["4"], [10.0], False), ([], [10.0], False), (["1", "2", "1"], [10.0], False),
])  # fmt: skip
def test_histogram_needs_one_more_bucket_than_bounds(counts: list[str], bounds: list[float], is_kept: bool) -> None:
    """Or no buckets at all; one bucket without bounds is the whole line."""
    point = {"timeUnixNano": "5", "count": "4", "bucketCounts": counts, "explicitBounds": bounds}
    batch = read(metrics({"name": "m", "histogram": {"dataPoints": [point], "aggregationTemporality": 2}}))
    if is_kept:
        assert batch.metric_histograms["bucket_counts"].to_pylist() == [[int(each) for each in counts]]
        assert batch.metric_histograms["explicit_bounds"].to_pylist() == [bounds]
    else:
        assert batch.metric_histograms.num_rows == 0
        assert reasons(batch) == [("rejected", "histogram_shape", 1)]


@pytest.mark.parametrize("kind", ["sum", "histogram"])
def test_unspecified_temporality_is_kept_and_noted(kind: str) -> None:
    """The values are sound, but no rate can be made of them."""
    batch = read(metrics({"name": "m", kind: {"dataPoints": [{**POINT, "count": 0}]}}))
    assert batch.metric_streams["temporality"].to_pylist() == [0]
    assert reasons(batch) == [("note", "temporality_unspecified", 1)]


NO_ID = ["abcd", "zzzzzzzzzzzzzzzz", "6a7d1c1e-3d0b-4a8e-9b1f-2f0a1b2c3d4e", 5, {"high": 1}]
"""What is no id: of the wrong length, not hexadecimal, a UUID with dashes, no text at all."""


@pytest.mark.parametrize("wrong", NO_ID)
def test_wrong_id_of_an_exemplar_costs_the_id(wrong: object) -> None:
    """The measurement is sound, and the other id still leads somewhere."""
    exemplars = [{"timeUnixNano": "4", "traceId": TRACE_ID, "spanId": wrong, "asInt": "1"}, {"timeUnixNano": "4"}]
    batch = read(metrics({"name": "m", "gauge": {"dataPoints": [{**POINT, "exemplars": exemplars}]}}))
    assert batch.exemplars.select(["value_int", "trace_id", "span_id"]).to_pylist() == [
        {"value_int": 1, "trace_id": bytes.fromhex(TRACE_ID), "span_id": None},
        {"value_int": None, "trace_id": None, "span_id": None},
    ]
    assert reasons(batch) == [("note", "exemplar_id_invalid", 1)]


@pytest.mark.parametrize("wrong", NO_ID)
def test_wrong_parent_id_costs_the_id(wrong: object) -> None:
    """The span is kept as a root; only its own ids are needed."""
    batch = read(traces(GOOD, span(name="child", spanId="00000000000000ab", parentSpanId=wrong)))
    assert batch.spans.select(["name", "parent_span_id"]).to_pylist() == [
        {"name": "good", "parent_span_id": None}, {"name": "child", "parent_span_id": None},
    ]  # fmt: skip
    assert reasons(batch) == [("note", "parent_span_id_invalid", 1)]


@pytest.mark.parametrize("wrong", NO_ID)
@pytest.mark.parametrize("field", ["traceId", "spanId"])
def test_wrong_id_of_a_log_record_costs_the_id(field: str, wrong: object) -> None:
    """The record is kept with what else it says."""
    batch = read(logs({"severityText": "kept", "traceId": TRACE_ID, "spanId": SPAN_ID, field: wrong}))
    expected = {"traceId": bytes.fromhex(TRACE_ID), "spanId": int(SPAN_ID, 16)} | {field: None}
    (row,) = batch.logs.select(["severity_text", "trace_id", "span_id"]).to_pylist()
    assert list(row.values()) == ["kept", *expected.values()]
    assert reasons(batch) == [("note", "log_id_invalid", 1)]


@pytest.mark.parametrize(
    "ids",
    [
        {}, {"traceId": "0" * 32, "spanId": "0" * 16}, {"traceId": TRACE_ID}, {"spanId": SPAN_ID},
        *({"traceId": TRACE_ID, "spanId": wrong} for wrong in NO_ID),
    ],
)  # fmt: skip
def test_link_that_leads_nowhere_is_set_aside(ids: Json) -> None:
    """SDKs write links to no span; the span and its other links are kept, and the links keep their places."""
    good = {"traceId": TRACE_ID, "spanId": SPAN_ID}
    batch = read(traces(span(name="linked", links=[{**ids, "traceState": "a=1"}, good])))
    assert names(batch) == ["linked"]
    assert batch.span_links["link_index"].to_pylist() == [1]
    assert reasons(batch) == [("note", "link_id_invalid", 1)]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"severityNumber": "SEVERITY_NUMBER_INFO"}, "enum_name"),
        ({"timeUnixNano": str(2**63)}, "time_out_of_range"),
        ({"body": {"stringValue": "\ud800"}}, "invalid_utf8"),
    ],
)
def test_log_record_is_rejected(fields: Json, reason: str) -> None:
    """A log needs neither ids nor a time, but what it has must be sound."""
    batch = read(logs({"severityText": "good"}, fields))
    assert batch.logs["severity_text"].to_pylist() == ["good"]
    assert reasons(batch) == [("rejected", reason, 1)]


def test_zero_ids_of_a_log_record_are_none() -> None:
    """A log outside any trace, written with zeros."""
    batch = read(logs({"traceId": "0" * 32, "spanId": "0" * 16}))
    assert batch.logs.select(["trace_id", "span_id"]).to_pylist() == [{"trace_id": None, "span_id": None}]


def nested(levels: int) -> Json:
    value: Json = {"stringValue": "deep"}
    for level in range(levels):
        pairs = {"kvlistValue": {"values": [{"key": "k", "value": value}]}}
        value = pairs if level % 2 else {"arrayValue": {"values": [value]}}
    return value


def test_values_nest_64_levels() -> None:
    """Deeper ones are rejected with their record; they cost no more than others."""
    batch = read(traces(span(attributes=[{"key": "a", "value": nested(64)}])))
    assert batch.spans["attributes"][0].as_py().count("deep") == 1
    batch = read(traces(GOOD, span(attributes=[{"key": "a", "value": nested(65)}])))
    assert names(batch) == ["good"]
    assert reasons(batch) == [("rejected", "nested_too_deep", 1)]


@pytest.mark.parametrize("opening", ['{"arrayValue":{"values":[', '{"kvlistValue":{"values":[{"key":"k","value":'])
def test_a_bomb_of_nesting_is_rejected_quickly(opening: str) -> None:
    """A million levels neither crash nor hang."""
    bomb = traces(GOOD, span(attributes=[{"key": "a", "value": "@"}])).replace(b'"@"', opening.encode() * 1_000_000)
    batch = read(bomb)
    assert names(batch) == ["good"]
    assert [kind for kind, _, _ in reasons(batch)] == ["rejected"]


def test_unknown_fields_are_ignored() -> None:
    """A newer sender may say more than we know, anywhere and of any shape."""
    unknown = {
        "fieldOfTomorrow": {"deep": [1, "]", {"x": '\\"}'}]},
        "other": None,
        "third": [[]],
        "fourth": -1.5e3,
    }
    batch = read(traces(span(**unknown, status={"code": 1, **unknown}), **unknown))
    assert batch.spans.select(["name", "status_code"]).to_pylist() == [{"name": "step", "status_code": 1}]
    assert reasons(batch) == []


def test_one_wrong_signal_of_a_json_document_is_rejected() -> None:
    """An endpoint for traces takes no logs, but the spans beside them."""
    both = traces(GOOD)[:-1] + b"," + logs({"severityText": "x"})[1:]
    assert read(both).logs.num_rows == 1
    batch = read(both, signal="traces")
    assert (names(batch), batch.logs.num_rows) == (["good"], 0)
    assert reasons(batch) == [("rejected", "wrong_signal", 1)]


def test_json_without_any_signal_is_rejected() -> None:
    """Some other JSON is no empty success; the empty export is."""
    assert reasons(read(b'{"traceEvents":[]}')) == [("rejected", "no_known_signal", 1)]
    assert reasons(read(b"{}", b'{"resourceSpans":[]}')) == []


def test_document_beyond_the_size_limit_is_rejected() -> None:
    """The rest of the call is read."""
    documents = [Document(traces(GOOD)), Document(traces(GOOD, *[span() for _ in range(100)]))]
    batch = decode(documents, encoding="json", max_document_bytes=1000)
    assert names(batch) == ["good"]
    assert reasons(batch) == [("rejected", "too_large", 1)]


def test_a_rejected_span_takes_its_events_and_links_along() -> None:
    """Whichever part of a span is at fault, nothing of it stays, and the rows of the others still point
    right.
    """
    link = {"traceId": TRACE_ID, "spanId": SPAN_ID}
    broken = {**link, "traceState": "\ud800"}
    batch = read(traces(
        span(name="bad", events=[{"name": "bad"}], links=[link, broken]),
        span(name="good", events=[{"name": "good"}], links=[link]),
    ))  # fmt: skip
    assert names(batch) == ["good"]
    assert batch.span_events.select(["span_row", "name"]).to_pylist() == [{"span_row": 0, "name": "good"}]
    assert batch.span_links["span_row"].to_pylist() == [0]


@pytest.mark.parametrize("signal", ["traces", None])
def test_documents_around_a_malformed_one_are_read(signal: str | None) -> None:
    """Each keeps its own resource and scope."""
    good = LogsData()
    data = TracesData()
    found = data.resource_spans.add().scope_spans.add().spans.add(name="good", start_time_unix_nano=1)
    found.trace_id, found.span_id = b"t" * 16, b"s" * 8
    good.resource_logs.add().scope_logs.add().log_records.add(severity_text="log", time_unix_nano=1)
    whole = data.SerializeToString()
    payloads = [whole, b"\x00" + whole, whole, good.SerializeToString(), whole + b"\x0c", whole]
    batch = decode([Document(each) for each in payloads], encoding="protobuf", signal=signal)
    assert batch.spans["document_row"].to_pylist() == [0, 2, 4, 5]
    assert batch.spans["resource_row"].to_pylist() == batch.spans["scope_row"].to_pylist() == [0, 1, 2, 3]
    rejected = {each["document_row"]: each["reason"] for each in batch.rejects.to_pylist()}
    assert rejected == {1: "malformed", 4: "malformed"} | ({3: "wrong_signal"} if signal else {})
    assert batch.logs.num_rows == (0 if signal else 1)
