"""Senders that stall, vanish, lie and send garbage: nothing hangs, nothing leaks, nothing wrong is
accepted."""

from __future__ import annotations

import gzip
import json
import socket
import time
from contextlib import ExitStack

import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.conformance import exports
from tests.conformance.conftest import JSON, PROTOBUF, StartReceiver, request
from tests.conformance.test_http import stored_count
from tracekit.receiver import Receiver

CONNECTIONS = 1_000
GOOD = exports.traces(3)
GOOD_JSON = json_format.MessageToJson(ExportTraceServiceRequest.FromString(GOOD)).encode()


def head(length: int, path: str = "/v1/traces") -> bytes:
    lines = [
        f"POST {path} HTTP/1.1",
        "Host: localhost",
        f"Content-Type: {PROTOBUF}",
        f"Content-Length: {length}",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


def connect(receiver: Receiver) -> socket.socket:
    return socket.create_connection(("127.0.0.1", receiver.ports.http_port), timeout=20)


def wait_until_idle(receiver: Receiver) -> None:
    deadline = time.monotonic() + 10
    while receiver.intake.budget.used_bytes:
        assert time.monotonic() < deadline, "bytes were not given back"
        time.sleep(0.02)


def test_a_body_that_stalls_is_ended(start_receiver: StartReceiver) -> None:
    """A sender that stops in the middle gets 408 after the time limit, and its bytes are given back."""
    receiver = start_receiver(body_timeout_s=0.5)
    with connect(receiver) as stalled:
        stalled.sendall(head(1000) + b"x" * 500)
        assert stalled.recv(4096).startswith(b"HTTP/1.1 408")
    wait_until_idle(receiver)


def test_a_sender_that_vanishes_leaves_nothing(receiver: Receiver) -> None:
    """A connection that ends inside a body stores nothing of it."""
    before = stored_count(receiver, "traces")
    for _ in range(20):
        with connect(receiver) as vanishing:
            vanishing.sendall(head(len(GOOD)) + GOOD[:-1])
    wait_until_idle(receiver)
    assert stored_count(receiver, "traces") == before


def test_bytes_beyond_the_declared_length_end_the_connection(receiver: Receiver) -> None:
    """What follows the declared body is no HTTP; whether the request before it is still answered is
    chance."""
    with connect(receiver) as lying:
        lying.sendall(head(len(exports.traces())) + exports.traces() + b"surplus\r\n\r\n")
        received = b""
        while piece := lying.recv(65536):
            received += piece
    assert b"HTTP/1.1 400" in received
    assert request(receiver, "/v1/traces", exports.traces()).status == 200


@pytest.mark.parametrize(
    "garbage", [b"\0" * 100, b"\x16\x03\x01\x02\0\x01\0", b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
)
def test_garbage_on_the_ports_harms_nobody(receiver: Receiver, garbage: bytes) -> None:
    """TLS, HTTP/2 and noise where HTTP/1.1 is spoken, and noise where gRPC is."""
    for port in (receiver.ports.http_port, receiver.ports.grpc_port):
        with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
            connection.sendall(garbage)
    assert request(receiver, "/v1/traces", exports.traces()).status == 200


def test_a_thousand_open_connections_do_not_stop_anybody(receiver: Receiver) -> None:
    """Idle and half-way connections cost a descriptor, not a thread."""
    with ExitStack() as open_connections:
        for number in range(CONNECTIONS):
            connection = open_connections.enter_context(connect(receiver))
            if number % 2:
                connection.sendall(head(100)[:40])
        started = time.monotonic()
        assert request(receiver, "/v1/traces", exports.traces()).status == 200
        assert time.monotonic() - started < 5


def test_a_bomb_costs_no_memory(receiver: Receiver) -> None:
    """Content that inflates beyond the limit is dropped at the limit, not after it."""
    bomb = gzip.compress(bytes(1 << 30), compresslevel=1)
    before_kib = resident_kib()
    assert request(receiver, "/v1/traces", bomb, Content_Encoding="gzip").status == 413
    assert resident_kib() - before_kib < 400 << 10


def resident_kib() -> int:
    with open("/proc/self/status", encoding="ascii") as status:  # noqa: PTH123
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@st.composite
def damaged(draw: st.DrawFn, whole: bytes) -> bytes:
    """A good body with bytes changed, cut out or doubled."""
    body = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(body) - 1))
        match draw(st.sampled_from(["change", "cut", "double"])):
            case "change":
                body[place] = draw(st.integers(0, 255))
            case "cut":
                del body[place : place + draw(st.integers(1, 20))]
            case _:
                body[place:place] = body[place : place + draw(st.integers(1, 20))]
        if not body:
            break
    return bytes(body)


@settings(max_examples=150)
@given(
    body=st.one_of(
        st.tuples(st.just(PROTOBUF), st.binary(max_size=300)),
        st.tuples(st.just(JSON), st.binary(max_size=300)),
        st.tuples(st.just(PROTOBUF), damaged(GOOD)),
        st.tuples(st.just(JSON), damaged(GOOD_JSON)),
    ),
    signal=st.sampled_from(["traces", "metrics", "logs"]),
)
def test_no_bytes_break_the_receiver(receiver: Receiver, body: tuple[str, bytes], signal: str) -> None:
    """Every body is answered with success, partial success or bad data; what is stored has valid ids."""
    content_type, payload = body
    answer = request(receiver, f"/v1/{signal}", payload, content_type=content_type)
    assert answer.status in (200, 400)
    if answer.status == 200 and content_type == JSON:
        assert set(json.loads(answer.body)) <= {"partialSuccess"}


def test_nothing_stored_is_without_ids(receiver: Receiver) -> None:
    """After all of the above, in particular after the random bodies."""
    wrong = receiver.store.database.sql(
        "SELECT count(*) AS count FROM spans WHERE trace_id = repeat('0', 32) OR span_id = repeat('0', 16)"
    )
    assert wrong["count"][0] == 0
