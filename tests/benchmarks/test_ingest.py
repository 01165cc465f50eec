"""The ingest benchmark measures what it says."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tests.benchmarks.ingest import measure
from tests.benchmarks.ingest_traces import SPANS, write_files


@pytest.mark.parametrize("encoding", ["protobuf", "json"])
def test_a_run_ingests_every_span_once(tmp_path: Path, encoding: str) -> None:
    """A measurement of less than the whole would look fast."""
    measured = measure(tmp_path, spans=3000, encoding=encoding)
    assert measured.spans_per_s > 0
    assert measured.stored_bytes_per_span > 0


def test_both_encodings_hold_the_same_spans_as_the_official_parser_reads_them(tmp_path: Path) -> None:
    """Ten attributes on each of ten spans a trace, children in their parent's trace."""
    raw = write_files(tmp_path, spans=1000, encoding="protobuf").read_bytes()
    spans = []
    while raw:
        (size,) = struct.unpack(">I", raw[:4])
        message, raw = TracesData.FromString(raw[4 : 4 + size]), raw[4 + size :]
        spans += list(message.resource_spans[0].scope_spans[0].spans)
    lines = write_files(tmp_path, spans=1000, encoding="json").read_text().splitlines()
    texts = [span for line in lines for span in json.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    assert len(spans) == len(texts) == 1000
    for span, text in zip(spans, texts, strict=True):
        assert (span.trace_id.hex(), span.span_id.hex()) == (text["traceId"], text["spanId"])
        assert span.parent_span_id.hex() == text.get("parentSpanId", "")
        assert str(span.end_time_unix_nano) == text["endTimeUnixNano"]
        values = [str(getattr(each.value, each.value.WhichOneof("value"))) for each in span.attributes]
        assert values == [str(value) for each in text["attributes"] for value in each["value"].values()]
        assert len(values) == 10
    assert len({span.trace_id for span in spans}) == 1000 // len(SPANS)
