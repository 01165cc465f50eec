"""Captures of real software decode completely: what the `json` module counts is in the tables."""

from __future__ import annotations

import io
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracekit.otlp import SCHEMAS, Batch, Document, decode, documents

LISTS = {
    "resourceSpans": "resources",
    "resourceMetrics": "resources",
    "scopeSpans": "scopes",
    "scopeMetrics": "scopes",
    "spans": "spans",
    "events": "span_events",
    "links": "span_links",
    "exemplars": "exemplars",
}
POINTS = {"gauge": "metric_points", "sum": "metric_points", "histogram": "metric_histograms"}


def counted(value: Any, counts: Counter[str]) -> Counter[str]:
    """Rows that each table must have for a parsed document."""
    if isinstance(value, dict):
        for key, each in value.items():
            if key in LISTS:
                counts[LISTS[key]] += len(each)
            if key in POINTS and isinstance(each, dict):
                counts[POINTS[key]] += len(each["dataPoints"])
            counted(each, counts)
    elif isinstance(value, list):
        for each in value:
            counted(each, counts)
    return counts


def row_counts(batches: list[Batch]) -> Counter[str]:
    return Counter({name: sum(getattr(batch, name).num_rows for batch in batches) for name in SCHEMAS})


@pytest.mark.parametrize(
    "name", ["vllm_gateway.traces.jsonl", "train_ddp_gloo.traces.jsonl", "train_ddp_gloo.metrics.jsonl"]
)
def test_capture_decodes_completely(shared_data: Path, name: str) -> None:
    """Each span, event, link, point and exemplar of the file, and nothing set aside."""
    path = shared_data / "real" / name
    expected: Counter[str] = Counter()
    for line in path.read_text().splitlines():
        counted(json.loads(line), expected)
    batches = [decode(chunk.documents, encoding=chunk.encoding) for chunk in documents(path)]
    found = row_counts(batches)
    assert found["rejects"] == 0
    assert {key: found[key] for key in expected} == dict(expected)


def spans_of(capture: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in capture.read_text().splitlines()]
    return [
        span
        for line in lines
        for resource in line["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]


def test_ids_times_and_attributes_of_a_capture_are_exact(shared_data: Path) -> None:
    """Column by column what the text says, span by span."""
    path = shared_data / "real" / "vllm_gateway.traces.jsonl"
    (chunk,) = documents(path)
    spans, expected = decode(chunk.documents, encoding="json").spans, spans_of(path)
    assert [each.hex() for each in spans["trace_id"].to_pylist()] == [each["traceId"] for each in expected]
    assert [f"{each:016x}" for each in spans["span_id"].to_pylist()] == [each["spanId"] for each in expected]
    parents = [None if each is None else f"{each:016x}" for each in spans["parent_span_id"].to_pylist()]
    assert parents == [each.get("parentSpanId") for each in expected]
    assert spans["start_ns"].to_pylist() == [int(each["startTimeUnixNano"]) for each in expected]
    assert spans["end_ns"].to_pylist() == [int(each["endTimeUnixNano"]) for each in expected]
    assert spans["name"].to_pylist() == [each["name"] for each in expected]
    keys = [[each["key"] for each in span.get("attributes", [])] for span in expected]
    assert [list(json.loads(text)) if text else [] for text in spans["attributes"].to_pylist()] == keys


def test_exporters_of_the_sdk_are_read_in_both_encodings() -> None:
    """The file exporter's JSON and the protobuf encoder's bytes of the same spans give the same rows."""
    stream, memory, provider = io.StringIO(), InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(FileSpanExporter(stream=stream)))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("test", "1.0")
    with tracer.start_as_current_span("outer", attributes={"a": [1, 2], "b": 2.5, "ü": "é\n"}) as outer:
        outer.add_event("first token", {"index": 2**62})
        with tracer.start_as_current_span("inner"):
            pass
    provider.shutdown()
    from_json = [
        decode(chunk.documents, encoding=chunk.encoding) for chunk in documents(io.BytesIO(stream.getvalue().encode()))
    ]
    payload = encode_spans(memory.get_finished_spans()).SerializeToString()
    from_protobuf = decode([Document(payload)], encoding="protobuf", signal="traces")
    columns = [
        "trace_id",
        "span_id",
        "parent_span_id",
        "name",
        "start_ns",
        "end_ns",
        "attributes",
        "flags",
        "kind",
    ]
    assert from_json[0].spans.select(columns).equals(from_protobuf.spans.select(columns))
    assert from_protobuf.spans["attributes"].to_pylist()[1] == '{"a":[1,2],"b":2.5,"ü":"é\\n"}'
    assert from_json[0].span_events.equals(from_protobuf.span_events)
