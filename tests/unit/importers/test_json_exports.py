"""JSON of other tools: real shapes go in, spans with the same ids, times and words come out."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit import importers, otlp
from tracekit.errors import UnknownFormatError
from tracekit.records import Batch, recognised

Json = dict[str, Any]
TRACE, SPAN, PARENT = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174", "eee19b7ec3c1b173"
FORMATS = (*importers.FORMATS, *otlp.FORMATS, importers.REFUSED)


def read(content: bytes | Json | list[Any], *, chunk_bytes: int = 1 << 20) -> tuple[str, list[Batch], list[Json]]:
    """The format's name, the records and everything that was set aside."""
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    window = otlp.open_window(io.BytesIO(data))
    pieces = list(recognised(window, FORMATS).read(window, chunk_bytes=chunk_bytes))
    tables = [table for piece in pieces for table in (piece.faults, piece.batch.rejects)]
    return pieces[0].format, [piece.batch for piece in pieces], [row for table in tables for row in table.to_pylist()]


def spans(batches: list[Batch]) -> list[Json]:
    """The spans with their resource and scope, ids in hexadecimal, attributes read."""
    found = []
    for batch in batches:
        resources, scopes = batch.resources.to_pylist(), batch.scopes.to_pylist()
        for row in batch.spans.to_pylist():
            texts = {
                "attributes": json.loads(row["attributes"] or "{}"),
                "resource": json.loads(resources[row["resource_row"]]["attributes"] or "{}"),
                "scope": scopes[row["scope_row"]]["name"],
                "trace_id": row["trace_id"].hex(),
                "span_id": f"{row['span_id']:016x}",
                "parent_span_id": None if row["parent_span_id"] is None else f"{row['parent_span_id']:016x}",
            }
            found.append({**row, **texts})
    return found


def rejected(rows: list[Json]) -> list[tuple[str, int]]:
    return [(row["reason"], row["count"]) for row in rows if row["kind"] == "rejected"]


OTLP_SPAN = {
    "traceId": TRACE, "spanId": SPAN, "parentSpanId": PARENT, "name": "chat", "kind": 2,
    "startTimeUnixNano": "1700000000000000001", "endTimeUnixNano": "1700000000500000002", "status": {"code": 2},
    "attributes": [{"key": "tokens", "value": {"intValue": "42"}}],
}  # fmt: skip
RESOURCE = {"attributes": [{"key": "service.name", "value": {"stringValue": "gateway"}}]}


def resource_spans(span: Json, *, old: bool = False) -> Json:
    """One span, in the names of today or in those before 2022."""
    names = ("instrumentationLibrarySpans", "instrumentationLibrary") if old else ("scopeSpans", "scope")
    return {"resource": RESOURCE, names[0]: [{names[1]: {"name": "lib"}, "spans": [span]}]}


def in_base64() -> Json:
    """The span as Go's protobuf writers give it out: ids in base64, names of enums."""

    def encoded(text: str) -> str:
        return base64.b64encode(bytes.fromhex(text)).decode()

    return OTLP_SPAN | {
        "traceId": encoded(TRACE), "spanId": encoded(SPAN), "parentSpanId": encoded(PARENT),
        "kind": "SPAN_KIND_SERVER", "status": {"code": "STATUS_CODE_ERROR"},
        "links": [{"traceId": encoded(TRACE), "spanId": encoded(PARENT)}],
    }  # fmt: skip


WRAPPED = {
    "old names": {"resourceSpans": [resource_spans(OTLP_SPAN, old=True)]},
    "array": [{"resourceSpans": [resource_spans(OTLP_SPAN)]}],
    "array of old ones": [{"resourceSpans": [resource_spans(OTLP_SPAN, old=True)]}],
    "api_v3": {"result": {"resourceSpans": [resource_spans(OTLP_SPAN)]}},
    "api_v3 in base64": {"result": {"resourceSpans": [resource_spans(in_base64())]}},
    "Tempo v2": {"trace": {"resourceSpans": [resource_spans(in_base64())]}, "metrics": {}},
    "Tempo v1": {"batches": [resource_spans(in_base64())]},
    "old Tempo": {"batches": [resource_spans(in_base64(), old=True)]},
    "metrics first": {"metrics": {"a": [1, 2]}, "trace": {"resourceSpans": [resource_spans(in_base64())]}},
}


@pytest.mark.parametrize("content", WRAPPED.values(), ids=WRAPPED)
def test_otlp_is_found_in_its_old_names_and_in_envelopes(content: Json | list[Any]) -> None:
    """The same span from each shape, with ids and enums as plain OTLP/JSON has them."""
    _, batches, rows = read(content)
    [span] = spans(batches)
    assert rows == []
    assert (span["trace_id"], span["span_id"], span["parent_span_id"]) == (TRACE, SPAN, PARENT)
    assert (span["start_ns"], span["end_ns"]) == (1700000000000000001, 1700000000500000002)
    assert (span["kind"], span["status_code"], span["attributes"]) == (2, 2, {"tokens": 42})
    assert (span["resource"], span["scope"]) == ({"service.name": "gateway"}, "lib")


def test_old_names_of_metrics_and_logs_are_known() -> None:
    point = {"timeUnixNano": "1700000000000000000", "asInt": "3"}
    metric = {"instrumentationLibrary": {"name": "m"}, "metrics": [{"name": "n", "gauge": {"dataPoints": [point]}}]}
    log = {"instrumentationLibrary": {"name": "l"}, "logRecords": [{"timeUnixNano": "1", "body": {"stringValue": "x"}}]}
    _, [batch], rows = read({
        "resourceMetrics": [{"instrumentationLibraryMetrics": [metric]}],
        "resourceLogs": [{"instrumentationLibraryLogs": [log]}],
    })  # fmt: skip
    assert (batch.metric_points.num_rows, batch.logs.num_rows, rows) == (1, 1, [])
    assert batch.scopes["name"].to_pylist() == ["m", "l"]


def test_arrays_are_read_element_by_element_whatever_stands_around() -> None:
    documents = [{"resourceSpans": [resource_spans(OTLP_SPAN | {"spanId": f"{i:016x}"})]} for i in range(1, 60)]
    for text in (
        json.dumps(documents), json.dumps(documents, indent=2), "\n".join(json.dumps([each]) for each in documents),
        json.dumps([documents]), "\ufeff\n" + json.dumps(documents) + "\n",
    ):  # fmt: skip
        format, batches, rows = read(text.encode(), chunk_bytes=1000)
        assert (format, len(spans(batches)), rows) == ("OTLP/JSON array", 59, [])


def test_an_array_that_is_cut_off_gives_what_is_whole_and_says_where_it_ends() -> None:
    text = json.dumps([{"resourceSpans": [resource_spans(OTLP_SPAN | {"spanId": f"{i:016x}"})]} for i in (1, 2, 3)])
    _, batches, rows = read(text[:-150].encode())
    assert len(spans(batches)) == 2
    assert [(row["reason"], row["offset"]) for row in rows] == [("truncated", text.rindex('{"resourceSpans"'))]


def jaeger_trace(**fields: Any) -> Json:
    """A trace as Jaeger's UI saves it."""
    tag = {"key": "http.status_code", "type": "int64", "value": 200}
    span = {
        "traceID": TRACE[16:], "spanID": SPAN, "operationName": "GET /chat", "flags": 1,
        "references": [{"refType": "CHILD_OF", "traceID": TRACE[16:], "spanID": PARENT},
                       {"refType": "FOLLOWS_FROM", "traceID": TRACE, "spanID": SPAN}],
        "startTime": 1700000000000001, "duration": 250_000,
        "tags": [tag, {"key": "span.kind", "type": "string", "value": "server"},
                 {"key": "error", "type": "bool", "value": True}, {"key": "ratio", "type": "float64", "value": 2},
                 {"key": "otel.scope.name", "type": "string", "value": "lib"},
                 {"key": "raw", "type": "binary", "value": "AAE="}],
        "logs": [{"timestamp": 1700000000000500, "fields": [{"key": "event", "type": "string", "value": "first token"},
                                                           {"key": "n", "type": "int64", "value": "7"}]}],
        "processID": "p1", "warnings": ["clock skew"],
    }  # fmt: skip
    process = {"serviceName": "gateway", "tags": [{"key": "hostname", "type": "string", "value": "node-1"}]}
    return {"traceID": TRACE[16:], "spans": [span | fields], "processes": {"p1": process}, "warnings": None}


JAEGER = {
    "UI": {"data": [jaeger_trace()], "total": 0, "limit": 0, "offset": 0, "errors": None},
    "one trace": jaeger_trace(),
    "list": [jaeger_trace()],
    "Elasticsearch": {**jaeger_trace()["spans"][0], "process": jaeger_trace()["processes"]["p1"], "processID": None},
}


@pytest.mark.parametrize("content", JAEGER.values(), ids=JAEGER)
def test_jaeger_spans_come_with_their_process_tags_logs_and_references(content: Json | list[Any]) -> None:
    format, batches, rows = read(content)
    [span] = spans(batches)
    assert (format, rejected(rows)) == ("Jaeger JSON", [])
    assert [row["example"] for row in rows] == ["times are whole microseconds in this format"]
    assert (span["trace_id"], span["parent_span_id"]) == ("0" * 16 + TRACE[16:], PARENT)
    assert (span["start_ns"], span["end_ns"]) == (1700000000000001000, 1700000000250001000)
    assert (span["kind"], span["status_code"], span["flags"], span["scope"]) == (2, 2, 1, "lib")
    assert span["resource"] == {"service.name": "gateway", "hostname": "node-1", "host.name": "node-1"}
    assert span["attributes"] == {
        "http.status_code": 200, "ratio": 2.0, "raw": {"bytesValue": "AAE="}, "jaeger.warnings": ["clock skew"],
    }  # fmt: skip
    [event], [link] = batches[0].span_events.to_pylist(), batches[0].span_links.to_pylist()
    assert (event["name"], event["time_ns"], json.loads(event["attributes"])) == (
        "first token", 1700000000000500000, {"n": 7},
    )  # fmt: skip
    assert (link["linked_trace_id"].hex(), link["attributes"]) == (TRACE, '{"opentracing.ref_type":"follows_from"}')


def test_a_large_jaeger_answer_is_read_trace_by_trace() -> None:
    """The envelope is passed over, before the traces and behind them, and another may follow."""
    traces = [jaeger_trace(spanID=f"{i:x}", tags=[{"key": "k", "type": "string", "value": "x" * 9000}])
              for i in range(1, 400)]  # fmt: skip
    answer = json.dumps({"data": traces, "total": 0, "errors": [{"msg": "]}"}]})
    _, batches, rows = read((answer + "\n" + answer).encode(), chunk_bytes=100_000)
    assert len(batches) > 3
    assert (len(spans(batches)), rejected(rows)) == (798, [])


ZIPKIN_SPAN = {
    "traceId": TRACE, "id": SPAN, "parentId": PARENT, "kind": "CLIENT", "name": "get /chat", "shared": True,
    "timestamp": 1700000000000001, "duration": 250_000,
    "localEndpoint": {"serviceName": "gateway", "ipv4": "10.0.0.1", "port": 80},
    "remoteEndpoint": {"serviceName": "engine", "ipv6": "::1"},
    "annotations": [{"timestamp": 1700000000000500, "value": "first token"}],
    "tags": {"http.method": "GET", "error": "timed out"},
}  # fmt: skip


@pytest.mark.parametrize("content", [[ZIPKIN_SPAN], [[ZIPKIN_SPAN]], ZIPKIN_SPAN])
def test_zipkin_v2_spans_come_with_their_endpoints_and_annotations(content: Json | list[Any]) -> None:
    format, batches, rows = read(content)
    [span] = spans(batches)
    assert (format, rejected(rows)) == ("Zipkin JSON v2", [])
    assert (span["trace_id"], span["span_id"], span["parent_span_id"]) == (TRACE, SPAN, PARENT)
    assert (span["start_ns"], span["end_ns"], span["kind"]) == (1700000000000001000, 1700000000250001000, 3)
    assert (span["status_code"], span["status_message"]) == (2, "timed out")
    assert span["resource"] == {"service.name": "gateway"}
    assert span["attributes"] == {
        "http.method": "GET", "peer.service": "engine", "network.local.address": "10.0.0.1", "network.local.port": 80,
        "network.peer.address": "::1", "zipkin.shared": True,
    }  # fmt: skip
    assert batches[0].span_events["name"].to_pylist() == ["first token"]


def test_a_bad_span_costs_only_itself_and_is_named() -> None:
    _, batches, rows = read([ZIPKIN_SPAN, ZIPKIN_SPAN | {"traceId": "xyz"}, ZIPKIN_SPAN | {"timestamp": None},
                             ZIPKIN_SPAN | {"id": 7}, 5, {"other": 1}])  # fmt: skip
    assert len(spans(batches)) == 1
    assert sorted(rejected(rows)) == [
        ("id_not_hex", 1), ("no_known_signal", 1), ("time_zero", 1), ("wrong_type", 1), ("wrong_type", 1),
    ]  # fmt: skip


def test_python_console_output_is_read_between_other_lines() -> None:
    """Made with the real exporters: spans, metrics of every kind, logs."""
    from opentelemetry._logs import LogRecord, SeverityNumber
    from opentelemetry.sdk import _logs as sdk_logs
    from opentelemetry.sdk._logs import export as log_export
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
    from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

    out, resource = io.StringIO(), Resource({"service.name": "api"})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=out)))
    link = Link(SpanContext(1, 2, is_remote=True, trace_flags=TraceFlags(1), trace_state=TraceState([("k", "v")])))
    out.write("Starting {up}\nINFO ready\n")
    with provider.get_tracer("t").start_as_current_span("a", kind=SpanKind.SERVER, attributes={"n": [1, 2]}) as outer:
        with provider.get_tracer("t").start_as_current_span("b", links=[link]) as inner:
            inner.add_event("ev", {"z": 1.5})
            inner.set_status(Status(StatusCode.ERROR, "bad"))
        out.write("INFO between\n")
    reader = PeriodicExportingMetricReader(ConsoleMetricExporter(out=out), export_interval_millis=3_600_000)
    meters = MeterProvider(metric_readers=[reader], resource=resource)
    meters.get_meter("m").create_counter("c").add(3)
    meters.get_meter("m").create_gauge("g").set(1.5)
    meters.get_meter("m").create_histogram("h").record(4.5)
    meters.shutdown()
    logs = sdk_logs.LoggerProvider(resource=resource)
    logs.add_log_record_processor(log_export.SimpleLogRecordProcessor(log_export.ConsoleLogRecordExporter(out=out)))
    logs.get_logger("l").emit(LogRecord(timestamp=10**18, body={"a": [1]}, severity_number=SeverityNumber.WARN))

    format, [batch], rows = read(out.getvalue().encode())
    child, parent = spans([batch])
    assert (format, rejected(rows)) == ("output of Python's console exporter", [])
    assert [row["reason"] for row in rows] == ["assumed"] * 3
    assert (child["name"], child["status_code"], child["status_message"]) == ("b", 2, "bad")
    assert child["parent_span_id"] == parent["span_id"] == f"{outer.get_span_context().span_id:016x}"
    # The exporter prints microseconds, made through a double.
    assert abs(child["start_ns"] - inner.start_time) <= 1000
    assert (parent["kind"], parent["attributes"], parent["resource"]) == (2, {"n": [1, 2]}, {"service.name": "api"})
    assert batch.span_links["trace_state"].to_pylist() == ["k=v"]
    kinds = dict(zip(batch.metric_streams["name"].to_pylist(), batch.metric_streams["kind"].to_pylist(), strict=True))
    assert kinds == {"c": "sum", "g": "gauge", "h": "histogram"}
    [log] = batch.logs.to_pylist()
    assert (log["time_ns"], log["severity_number"], json.loads(log["body"])) == (10**18, 13, {"a": [1]})
    assert (log["trace_id"], log["span_id"]) == (None, None)


def test_go_console_output_is_read() -> None:
    context = {"TraceID": TRACE, "SpanID": SPAN, "TraceFlags": "01", "TraceState": "", "Remote": False}
    span = {
        "Name": "chat", "SpanContext": context, "Parent": context | {"SpanID": "0" * 16}, "SpanKind": 2,
        "StartTime": "2023-11-14T23:13:20.000000001+01:00", "EndTime": "2023-11-14T22:13:21Z",
        "Attributes": [{"Key": "ratio", "Value": {"Type": "FLOAT64", "Value": 2}}], "Events": None, "Links": None,
        "Status": {"Code": "Error", "Description": "bad"}, "DroppedAttributes": 1, "ChildSpanCount": 0,
        "Resource": [{"Key": "service.name", "Value": {"Type": "STRING", "Value": "gateway"}}],
        "InstrumentationLibrary": {"Name": "lib", "Version": "", "SchemaURL": ""},
    }  # fmt: skip
    _, batches, rows = read(json.dumps(span, indent="\t").encode())
    [found] = spans(batches)
    assert rows == []
    assert (found["start_ns"], found["end_ns"]) == (1700000000000000001, 1700000001000000000)
    assert (found["parent_span_id"], found["kind"], found["status_code"]) == (None, 2, 2)
    assert (found["attributes"], found["scope"]) == ({"ratio": 2.0}, "lib")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ({"traceEvents": [{"ph": "X"}]}, "no profile of PyTorch"),
        ([{"name": "k", "ph": "X", "ts": 1}], "Chrome trace events"),
        ([{"traceId": "a", "id": "b", "binaryAnnotations": []}], "Zipkin JSON v1"),
        ({"traces": [{"traceID": "a", "rootServiceName": "s"}]}, "Tempo search results"),
        (b"\x0c\x00\x00\x00\x02\x0a\x00\x01" + bytes(20), "Thrift"),
        (bytes.fromhex("0a04080110021206") + b"\x0a\x01\x01\x12\x01\x01", "pprof"),
        (b"SQLite format 3\x00" + bytes(100), "Nsight"),
        (b"PAR1" + bytes(100), "Parquet without the columns"),
        (b"time,host,latency\n1,a,2\n", "CSV"),
        (b"PK\x03\x04" + bytes(30), "zip archive"),
        (b"# HELP up x\n# TYPE up gauge\nup 1\n", "Prometheus"),
        (b"<!DOCTYPE html><html></html>", "web page"),
    ],
)
def test_what_is_known_and_not_read_is_refused_by_its_name(content: Any, name: str) -> None:
    with pytest.raises(UnknownFormatError, match=name):
        read(content)


def test_an_object_beyond_the_limit_is_refused_and_memory_stays_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.importers.json_exports.MAX_DOCUMENT_BYTES", 1 << 16)
    huge = ZIPKIN_SPAN | {"name": "x" * (4 << 20)}
    _, batches, rows = read([ZIPKIN_SPAN, huge, ZIPKIN_SPAN])
    assert (len(spans(batches)), rejected(rows)) == (1, [("too_large", 1)])


DEEP = b'[{"traceId":"a","id":"b","tags":' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}]"
BRACES = b'[{"traceId":"a","id":"b"},\n' + b"{\n" * 200_000


@pytest.mark.parametrize(("content", "reason"), [(DEEP, "nested_too_deep"), (BRACES, "truncated")])
def test_hostile_nesting_is_a_reject(content: bytes, reason: str) -> None:
    """Neither the stack nor the time is the sender's to spend."""
    _, batches, rows = read(content)
    assert spans(batches) == []
    assert reason in {found for found, _ in rejected(rows)}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_value_anywhere_stops_the_reading(data: st.DataObject) -> None:
    """Any field may hold anything: what is no span is counted, and the spans around it are read."""
    wild = data.draw(st.sampled_from([ZIPKIN_SPAN, jaeger_trace(), jaeger_trace()["spans"][0], WRAPPED["Tempo v1"]]))
    field = data.draw(st.sampled_from(sorted(wild)))
    changed = wild | {field: data.draw(VALUES)}
    _, batches, rows = read([wild, changed, wild])
    whole = len(spans(read([wild, wild])[1]))
    assert len(spans(batches)) >= whole
    assert pl.DataFrame(rows, infer_schema_length=None).height >= 0
