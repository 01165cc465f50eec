"""OTLP over HTTP, sentence by sentence of the specification."""

from __future__ import annotations

import gzip
import json
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard
from google.protobuf import json_format
from google.rpc import error_details_pb2, status_pb2
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.conformance import exports
from tests.conformance.conftest import JSON, PROTOBUF, Answer, StartReceiver, request
from tracekit.receiver import Receiver

RESPONSES = {
    "traces": (ExportTraceServiceResponse, "rejected_spans"),
    "metrics": (ExportMetricsServiceResponse, "rejected_data_points"),
    "logs": (ExportLogsServiceResponse, "rejected_log_records"),
}
SIGNALS = sorted(RESPONSES)
STORED = {"traces": "spans", "metrics": "metric_points", "logs": "logs"}


def stored_count(receiver: Receiver, signal: str) -> int:
    return receiver.store.database.sql(f"SELECT count(*) AS count FROM {STORED[signal]}")["count"][0]


def status_of(answer: Answer) -> status_pb2.Status:
    if answer.headers["content-type"] == PROTOBUF:
        return status_pb2.Status.FromString(answer.body)
    return json_format.Parse(answer.body, status_pb2.Status())


@pytest.mark.parametrize("signal", SIGNALS)
def test_success_in_protobuf_is_200_with_an_empty_body(receiver: Receiver, signal: str) -> None:
    """The empty response message is zero bytes; `partial_success` must be unset on success."""
    before = stored_count(receiver, signal)
    answer = request(receiver, f"/v1/{signal}", exports.EXPORTS[signal](3))
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"", PROTOBUF)
    assert stored_count(receiver, signal) == before + 3


def test_success_in_json_is_200_with_an_empty_object(receiver: Receiver) -> None:
    """The response uses the request's Content-Type; parameters of the type are no part of it."""
    body = (
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0AF7651916CD43DD8448EB211C80319C",'
        b'"spanId":"b7ad6b7169203331","kind":2,"startTimeUnixNano":"5","endTimeUnixNano":7}]}]}]}'
    )
    answer = request(receiver, "/v1/traces", body, content_type="application/json; charset=utf-8")
    assert (answer.status, answer.body, answer.headers["content-type"]) == (200, b"{}", JSON)
    found = receiver.store.database.sql("SELECT kind FROM spans WHERE trace_id = '0af7651916cd43dd8448eb211c80319c'")
    assert found["kind"].to_list() == ["SERVER"]


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize(("content_type", "body"), [(PROTOBUF, b""), (JSON, b"{}")])
def test_an_empty_request_succeeds(receiver: Receiver, signal: str, content_type: str, body: bytes) -> None:
    """A server should answer a request without telemetry with success."""
    answer = request(receiver, f"/v1/{signal}", body, content_type=content_type)
    assert answer.status == 200


@pytest.mark.parametrize("signal", SIGNALS)
def test_partial_success_names_the_number_rejected(receiver: Receiver, signal: str) -> None:
    """Rejected records are counted in the signal's own field with a message; the good ones are stored."""
    before = stored_count(receiver, signal)
    answer = request(receiver, f"/v1/{signal}", exports.EXPORTS[signal](2, bad=1))
    message, field = RESPONSES[signal]
    partial = message.FromString(answer.body).partial_success
    assert answer.status == 200
    assert getattr(partial, field) == 1
    assert "not stored: 1 " in partial.error_message
    assert stored_count(receiver, signal) == before + 2


def test_partial_success_in_json_writes_the_count_as_a_string(receiver: Receiver) -> None:
    """The JSON mapping writes 64-bit integers as decimal strings and keys in lowerCamelCase."""
    span = {
        "traceId": "1" * 32,
        "spanId": "2" * 16,
        "name": "a",
        "startTimeUnixNano": "5",
        "endTimeUnixNano": "6",
    }
    bad = span | {"spanId": "00"}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span, bad]}]}]}).encode()
    answer = request(receiver, "/v1/traces", body, content_type=JSON)
    assert json.loads(answer.body)["partialSuccess"]["rejectedSpans"] == "1"


@pytest.mark.parametrize("signal", SIGNALS)
def test_a_request_without_one_good_record_is_bad_data(receiver: Receiver, signal: str) -> None:
    """Where nothing was accepted there is no partial success: 400 with the fields that are wrong."""
    answer = request(receiver, f"/v1/{signal}", exports.EXPORTS[signal](0, bad=2))
    details = error_details_pb2.BadRequest()
    assert answer.status == 400
    assert status_of(answer).code == 3
    assert status_of(answer).details[0].Unpack(details)
    assert details.field_violations[0].description


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"{", b"\x0a\x05abc", b"[1]", b"null", b'{"resourceSpans":7}'])
def test_undecodable_data_is_400_with_a_status_in_the_requests_encoding(
    receiver: Receiver, content_type: str, body: bytes
) -> None:
    """All 4xx bodies are `google.rpc.Status`; nothing of such a request is stored."""
    before = stored_count(receiver, "traces")
    answer = request(receiver, "/v1/traces", body, content_type=content_type)
    assert (answer.status, answer.headers["content-type"]) == (400, content_type)
    assert status_of(answer).code == 3
    assert status_of(answer).message
    assert "retry-after" not in answer.headers
    assert stored_count(receiver, "traces") == before


@pytest.mark.parametrize(
    ("field", "change"),
    [
        ("trace_id", {"traceId": None, "trace_id": "1" * 32}),
        ("traceId", {"traceId": "Z6z8LqVvEI+kU1/Ci6mXBQ=="}),
        ("kind", {"kind": "SPAN_KIND_INTERNAL"}),
        ("startTimeUnixNano", {"startTimeUnixNano": "soon"}),
    ],
)
def test_json_that_breaks_the_mapping_is_400_and_names_the_field(
    receiver: Receiver, field: str, change: dict[str, object]
) -> None:
    """snake_case keys, base64 ids, enum names and words for numbers are errors, not something else."""
    span = {
        "traceId": "1" * 32,
        "spanId": "2" * 16,
        "name": "a",
        "startTimeUnixNano": "5",
        "endTimeUnixNano": "6",
    }
    wrong = {key: value for key, value in (span | change).items() if value is not None}
    good = span | {"spanId": "3" * 16}
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [good, wrong]}]}]}).encode()
    answer = request(receiver, "/v1/traces", body, content_type=JSON)
    assert answer.status == 400
    assert field.replace("_i", "I") in status_of(answer).message


@pytest.mark.parametrize("with_ids", [False, True])
def test_logs_at_the_traces_path_are_refused(receiver: Receiver, with_ids: bool) -> None:
    """The messages share field numbers: log bytes must never become spans."""
    before = stored_count(receiver, "traces")
    answer = request(receiver, "/v1/traces", exports.logs(2, with_ids=with_ids))
    assert answer.status == 400
    assert stored_count(receiver, "traces") == before


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("x-gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("deflate", lambda body: zlib.compress(body, wbits=-15)),
        ("zstd", zstandard.compress),
        ("gzip", lambda body: gzip.compress(body[:50]) + gzip.compress(body[50:])),
        ("zstd", lambda body: zstandard.compress(body[:50]) + zstandard.compress(body[50:])),
        ("identity", bytes),
    ],
)
def test_compressed_bodies_are_read(receiver: Receiver, encoding: str, compress) -> None:  # noqa: ANN001
    """gzip must be supported; deflate is what the Python exporter offers too, zstd the Collector."""
    before = stored_count(receiver, "traces")
    answer = request(receiver, "/v1/traces", compress(exports.traces(20)), Content_Encoding=encoding)
    assert (answer.status, answer.body) == (200, b"")
    assert stored_count(receiver, "traces") == before + 20


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", b"not gzip"),
        ("gzip", gzip.compress(exports.traces())[:-9]),
        ("zstd", zstandard.compress(exports.traces())[:-1]),
        ("zstd", b"not zstd"),
        ("deflate", zlib.compress(exports.traces())[:-5]),
        ("gzip", b""),
    ],
)
def test_damaged_compression_is_400(receiver: Receiver, encoding: str, body: bytes) -> None:
    """A truncated body must not pass for a whole one."""
    assert request(receiver, "/v1/traces", body, Content_Encoding=encoding).status == 400


@pytest.mark.parametrize("content_type", ["text/plain", "application/protobuf", None, ""])
def test_other_media_types_are_415(receiver: Receiver, content_type: str | None) -> None:
    """Only the two media types of OTLP are read."""
    answer = request(receiver, "/v1/traces", exports.traces(), content_type=content_type)
    assert answer.status == 415
    assert "application/x-protobuf" in status_of(answer).message


def test_unknown_content_encodings_are_415(receiver: Receiver) -> None:
    """The answer names what would be understood."""
    answer = request(receiver, "/v1/traces", b"x", Content_Encoding="br")
    assert answer.status == 415
    assert "gzip" in status_of(answer).message


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_other_methods_are_405(receiver: Receiver, method: str) -> None:
    """OTLP/HTTP is POST only; `Allow` says so."""
    answer = request(receiver, "/v1/traces", b"", method=method)
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert status_of(answer).message


@pytest.mark.parametrize("path", ["/", "/v1/profiles", "/v1development/profiles", "/v1/traces/"])
def test_other_paths_are_404_with_a_status(receiver: Receiver, path: str) -> None:
    """Profiles are not stored, and nothing pretends that they are."""
    answer = request(receiver, path, exports.traces())
    assert answer.status == 404
    assert status_of(answer).code == 5


def test_unknown_fields_are_ignored(receiver: Receiver) -> None:
    """A newer sender's fields must not break an older receiver, in either encoding."""
    unknown = b"\xba\x3e\x03new"
    assert request(receiver, "/v1/traces", exports.traces() + unknown).status == 200
    assert (
        request(receiver, "/v1/traces", b'{"resourceSpans":[],"aNewField":{"x":[1]}}', content_type=JSON).status == 200
    )


def test_limits_hold_after_decompression(start_receiver: StartReceiver) -> None:
    """A request beyond the limit is 413, however small it was on the wire; one at the limit is read."""
    receiver = start_receiver(max_request_bytes=1 << 20)
    padding = 1 << 20
    exact = exports.traces(value="x" * (padding - len(exports.traces(value="x" * padding)) + padding))
    assert len(exact) == 1 << 20
    over = exact[:-1] + b"\0\0"
    assert request(receiver, "/v1/traces", exact).status == 200
    for body, headers in [
        (over, {}),
        (gzip.compress(over), {"Content_Encoding": "gzip"}),
        (zstandard.compress(bytes(1 << 28)), {"Content_Encoding": "zstd"}),
    ]:
        answer = request(receiver, "/v1/traces", body, **headers)
        assert answer.status == 413
        assert status_of(answer).code == 8
        assert not status_of(answer).details
        assert "retry-after" not in answer.headers


def test_sixty_four_mebibytes_are_taken_by_default(receiver: Receiver) -> None:
    """The recommended limit since version 1.11 of the protocol; one huge attribute value must not break
    it."""
    before = stored_count(receiver, "traces")
    assert request(receiver, "/v1/traces", exports.traces(value="x" * (60 << 20))).status == 200
    assert stored_count(receiver, "traces") == before + 1


def test_the_same_request_sent_twice_at_once_is_stored_once(receiver: Receiver) -> None:
    """A retry after a lost answer may overlap the first try; both succeed and duplicates are counted."""
    before = stored_count(receiver, "traces")
    payload = exports.traces(50)
    with ThreadPoolExecutor(8) as senders:
        answers = list(senders.map(lambda _: request(receiver, "/v1/traces", payload), range(8)))
    assert [(answer.status, answer.body) for answer in answers] == [(200, b"")] * 8
    assert stored_count(receiver, "traces") == before + 50


def test_a_span_id_taken_by_another_span_is_a_partial_success(receiver: Receiver) -> None:
    """The first span stays; the sender learns that its second one is not stored."""
    message = ExportTraceServiceRequest.FromString(exports.traces(1))
    request(receiver, "/v1/traces", message.SerializeToString())
    message.resource_spans[0].scope_spans[0].spans[0].name = "another"
    answer = request(receiver, "/v1/traces", message.SerializeToString())
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert partial.rejected_spans == 1
    assert "span_id_conflict" in partial.error_message


def test_health_readiness_and_counters_answer(receiver: Receiver) -> None:
    """What an orchestrator and a Prometheus server ask for."""
    assert request(receiver, "/healthz", b"", method="GET").status == 200
    assert request(receiver, "/readyz", b"", method="GET").status == 200
    text = request(receiver, "/metrics", b"", method="GET").body.decode()
    assert 'tracekit_receiver_records_total{signal="traces",fate="stored"}' in text
    assert 'tracekit_receiver_commit_duration_seconds_bucket{le="+Inf"}' in text
