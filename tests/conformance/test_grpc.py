"""OTLP over gRPC, sentence by sentence of the specification."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from tests.conformance import exports
from tests.conformance.conftest import StartReceiver, grpc_call
from tests.conformance.test_http import RESPONSES, SIGNALS, stored_count
from tracekit.receiver import Receiver
from tracekit.receiver.grpc_export import SERVICES


def refusal(receiver: Receiver, service: str, payload: bytes, **options: object) -> grpc.RpcError:
    with pytest.raises(grpc.RpcError) as refused:
        grpc_call(receiver, service, payload, **options)
    return refused.value


def details_of(error: grpc.RpcError) -> status_pb2.Status:
    trailers = dict(error.trailing_metadata())
    return status_pb2.Status.FromString(trailers["grpc-status-details-bin"])


@pytest.mark.parametrize("signal", SIGNALS)
def test_success_is_the_empty_response(receiver: Receiver, signal: str) -> None:
    """`partial_success` must be unset when all was accepted."""
    before = stored_count(receiver, signal)
    assert grpc_call(receiver, SERVICES[signal], exports.EXPORTS[signal](3)) == b""
    assert stored_count(receiver, signal) == before + 3


@pytest.mark.parametrize("signal", SIGNALS)
def test_an_empty_request_succeeds(receiver: Receiver, signal: str) -> None:
    """A server should answer a request without telemetry with success."""
    assert grpc_call(receiver, SERVICES[signal], b"") == b""


@pytest.mark.parametrize("signal", SIGNALS)
def test_partial_success_names_the_number_rejected(receiver: Receiver, signal: str) -> None:
    """The same message as over HTTP, with code OK."""
    message, field = RESPONSES[signal]
    answer = message.FromString(grpc_call(receiver, SERVICES[signal], exports.EXPORTS[signal](2, bad=1)))
    assert getattr(answer.partial_success, field) == 1
    assert answer.partial_success.error_message


@pytest.mark.parametrize(
    "payload",
    [b"\xff\xff\xff", b"\x0a\x05abc", exports.logs(2), exports.traces(0, bad=1)],
    ids=["no tag", "cut off", "another signal", "a bad span"],
)
def test_bad_data_is_invalid_argument_with_the_fields(receiver: Receiver, payload: bytes) -> None:
    """INVALID_ARGUMENT is not tried again; `BadRequest` says what is wrong."""
    error = refusal(receiver, SERVICES["traces"], payload)
    details = error_details_pb2.BadRequest()
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert details_of(error).details[0].Unpack(details)
    assert details.field_violations[0].description


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_compressed_messages_are_read(receiver: Receiver, compression: grpc.Compression) -> None:
    """gzip must be supported."""
    assert grpc_call(receiver, SERVICES["traces"], exports.traces(50), compression=compression) == b""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the size of the process from /proc")
def test_a_message_is_let_go_with_its_answer(receiver: Receiver) -> None:
    """Forty messages of 8 MiB one after the other, none of them kept, also before any garbage collection."""
    payload = b"\xff" * (8 << 20)
    with gc_stopped():
        refusal(receiver, SERVICES["traces"], payload)
        before = resident_bytes()
        for _ in range(40):
            refusal(receiver, SERVICES["traces"], payload)
        assert resident_bytes() - before < 10 * len(payload)


@contextmanager
def gc_stopped() -> Iterator[None]:
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("compression", [None, grpc.Compression.Gzip])
def test_too_large_is_resource_exhausted_without_retry_info(
    start_receiver: StartReceiver, compression: grpc.Compression | None
) -> None:
    """The limit holds after decompression; without RetryInfo the client must not try again."""
    receiver = start_receiver(max_request_bytes=1 << 20)
    error = refusal(receiver, SERVICES["traces"], exports.traces(value="x" * (2 << 20)), compression=compression)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "grpc-status-details-bin" not in dict(error.trailing_metadata() or ())


def test_messages_beyond_grpcs_own_default_are_taken(receiver: Receiver) -> None:
    """gRPC stops at 4 MiB unless told otherwise; the protocol recommends 64 MiB."""
    with grpc.insecure_channel(f"127.0.0.1:{receiver.ports.grpc_port}") as channel:
        call = channel.unary_unary(f"/{SERVICES['traces']}/Export")
        assert call(exports.traces(value="x" * (20 << 20)), timeout=30) == b""


@pytest.mark.parametrize(
    "service",
    ["opentelemetry.proto.collector.profiles.v1development.ProfilesService", "grpc.health.v1.Nothing"],
)
def test_other_services_are_unimplemented(receiver: Receiver, service: str) -> None:
    """Profiles are not stored, and nothing pretends that they are."""
    assert refusal(receiver, service, b"").code() is grpc.StatusCode.UNIMPLEMENTED


def test_calls_on_one_connection_run_at_the_same_time(receiver: Receiver) -> None:
    """Clients pipeline: while one commit holds the store, calls gather and are answered together."""
    before = stored_count(receiver, "traces")
    with grpc.insecure_channel(f"127.0.0.1:{receiver.ports.grpc_port}") as channel:
        call = channel.unary_unary(f"/{SERVICES['traces']}/Export")
        with receiver.store.database.writing:
            calls = [call.future(exports.traces(10), timeout=30) for _ in range(40)]
        assert [each.result() for each in calls] == [b""] * 40
    assert stored_count(receiver, "traces") == before + 400


def test_http_and_grpc_serve_at_the_same_time(receiver: Receiver) -> None:
    """Both transports feed one store."""
    before = stored_count(receiver, "traces")
    with ThreadPoolExecutor(16) as senders:
        assert set(senders.map(lambda _: grpc_call(receiver, SERVICES["traces"], exports.traces(10)), range(16))) == {
            b""
        }
    assert stored_count(receiver, "traces") == before + 160
