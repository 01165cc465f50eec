"""Load for a receiver: batches of 512 spans, 10 attributes each, fresh ids every time, over HTTP or gRPC.

The mix: traces of eight spans (a gateway's SERVER span over authentication, routing, a chat call and its
parts), with model, token counts, a latency, a request id and other attributes of GenAI senders. A batch is
built once with the official classes; before each sending only ids and times are written anew into its bytes,
so that the senders cost little.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import grpc
import numpy as np
from numba import njit
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from tests.benchmarks import ingest_traces

SPANS_PER_BATCH = 512
SPANS_PER_TRACE = 8
_NAMES = (
    "POST /v1/chat/completions",
    "auth",
    "route",
    "chat llama",
    "queue",
    "prefill",
    "decode",
    "detokenize",
)
HTTP_HEAD = (
    b"POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-protobuf\r\nContent-Length: %d\r\n\r\n"
)
_REFUSED_PAUSE_S = 0.05
_GRPC_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


def _attributes(trace: int, position: int) -> list[KeyValue]:
    values: dict[str, str | int | float | bool] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": f"llama-3-{(8, 70)[trace % 2]}b",
        "gen_ai.usage.input_tokens": 100 + trace * 13 % 4000,
        "gen_ai.usage.output_tokens": 20 + trace * 7 % 500,
        "gen_ai.request.temperature": 0.7,
        "gen_ai.latency.time_to_first_token": 0.05 + trace * 0.003721 + position * 0.000113,
        "gen_ai.request.id": f"chatcmpl-{trace:032x}",
        "http.response.status_code": 200,
        "server.address": f"gpu-{trace % 16:02d}.cluster.local",
        "tenant.id": f"team-{trace % 23}",
    }
    return [KeyValue(key=key, value=_any_value(value)) for key, value in values.items()]


def _any_value(value: str | int | float | bool) -> AnyValue:
    if isinstance(value, str):
        return AnyValue(string_value=value)
    return AnyValue(int_value=value) if isinstance(value, int) else AnyValue(double_value=value)


@dataclass(frozen=True)
class Template:
    """The bytes of a batch and where in them each span has its ids and times; `parents` is -1 for a root."""

    content: np.ndarray
    traces: np.ndarray
    spans: np.ndarray
    parents: np.ndarray
    starts: np.ndarray
    ends: np.ndarray


@cache
def template() -> Template:
    """A batch with marks in place of its ids and times, which are found again in its bytes."""
    request = ExportTraceServiceRequest()
    resource_spans = request.resource_spans.add()
    resource_spans.resource.attributes.append(KeyValue(key="service.name", value=AnyValue(string_value="gateway")))
    scope_spans = resource_spans.scope_spans.add()
    marks = np.random.default_rng(1).bytes(SPANS_PER_BATCH * 32)
    rows = range(SPANS_PER_BATCH)
    for row in rows:
        trace, position = divmod(row, SPANS_PER_TRACE)
        own = marks[row * 32 : row * 32 + 32]
        scope_spans.spans.add(
            trace_id=own[:16],
            span_id=own[16:24],
            parent_span_id=own[24:32] if position else b"",
            name=_NAMES[position],
            kind=2 if position == 0 else 1,
            start_time_unix_nano=row + (1 << 60),
            end_time_unix_nano=row + (1 << 61),
            attributes=_attributes(trace, position),
        )
    content = request.SerializeToString()
    return Template(
        content=np.frombuffer(content, np.uint8),
        traces=np.array([content.index(marks[row * 32 : row * 32 + 16]) for row in rows]),
        spans=np.array([content.index(marks[row * 32 + 16 : row * 32 + 24]) for row in rows]),
        parents=np.array([content.find(marks[row * 32 + 24 : row * 32 + 32]) for row in rows]),
        starts=np.array([content.index((row + (1 << 60)).to_bytes(8, "little")) for row in rows]),
        ends=np.array([content.index((row + (1 << 61)).to_bytes(8, "little")) for row in rows]),
    )


class Batches:
    """One batch after the other as the bytes of an export request; every span id and trace id is new."""

    def __init__(self, seed: int) -> None:
        self._template = template()
        self._content = self._template.content.copy()
        self._seed = seed
        self._number = 0

    def next(self, now_ns: int | None = None) -> bytes:
        """The next batch: 64 traces of the two seconds before now, with new ids and times."""
        self._number += 1
        first_ns = (now_ns or time.time_ns()) - 2 * 10**9
        parts = self._template
        places = (parts.traces, parts.spans, parts.parents, parts.starts, parts.ends)
        _renew(self._content, *places, np.uint64(hash((self._seed, self._number)) % 2**63), first_ns)
        return self._content.tobytes()

    def trace_id(self, payload: bytes) -> bytes:
        """The trace id of the first eight spans of a batch."""
        first = int(self._template.traces[0])
        return payload[first : first + 16]


class MixedBatches:
    """Batches of what three services with 42 attribute keys send of 64 requests of ten spans: see `ingest_traces`."""

    traces = 64
    spans = traces * ingest_traces.SPANS_PER_TRACE

    def __init__(self, seed: int) -> None:
        forms = ingest_traces.FORMS["protobuf"]
        self._random = np.random.default_rng(seed)
        self._blocks = {service: ingest_traces.Block(service, forms) for service in ingest_traces.SERVICES}

    def next(self, now_ns: int | None = None) -> bytes:
        """The next batch, of the seconds before now; ids and all values that vary are new."""
        first_ns = (now_ns or time.time_ns()) - 2 * 10**9
        first_trace = (first_ns - ingest_traces.START_NS) // ingest_traces.TRACE_APART_NS
        values = ingest_traces.draw(self._random, self.traces, first_trace=first_trace)
        return b"".join(
            block.forms.document(service, block.fill(values).tobytes()) for service, block in self._blocks.items()
        )


MIXES = {"one": (Batches, SPANS_PER_BATCH), "mixed": (MixedBatches, MixedBatches.spans)}
"""Loads by name: what makes batches from a seed, and the spans of a batch."""


@njit(nogil=True, cache=True)
def _renew(
    content: np.ndarray,
    traces: np.ndarray,
    spans: np.ndarray,
    parents: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    seed: int,
    first_ns: int,
) -> None:
    root = np.uint64(0)
    for row in range(traces.size):
        trace = _mixed(seed ^ np.uint64(row // SPANS_PER_TRACE))
        span = _mixed(trace ^ np.uint64(row + 1))
        start_ns = first_ns + np.int64(trace % np.uint64(10**9)) + row % SPANS_PER_TRACE * 1_000_000
        length_ns = 4_000_000 + np.int64(span % np.uint64(10**6))
        if row % SPANS_PER_TRACE == 0:
            root, length_ns = span, 50_000_000
        _put(content, traces[row], trace)
        _put(content, traces[row] + 8, _mixed(trace))
        _put(content, spans[row], span)
        if parents[row] >= 0:
            _put(content, parents[row], root)
        _put(content, starts[row], np.uint64(start_ns))
        _put(content, ends[row], np.uint64(start_ns + length_ns))


@njit(nogil=True, cache=True)
def _mixed(value: int) -> int:
    """A number of 64 bits, none of which tells the others (the finaliser of SplitMix64)."""
    value = np.uint64(value) + np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@njit(nogil=True, cache=True)
def _put(content: np.ndarray, place: int, value: int) -> None:
    for byte in range(8):
        content[place + byte] = np.uint8((value >> np.uint64(8 * byte)) & np.uint64(255))


@dataclass
class Sent:
    """What the senders saw: acknowledged and refused batches, and the seconds to each acknowledgement."""

    acknowledged: int = 0
    refused: int = 0
    latencies_s: list[float] = field(default_factory=list)

    def add(self, seconds: float, *, accepted: bool) -> None:
        """Count one answer that came after so long."""
        if accepted:
            self.acknowledged += 1
            self.latencies_s.append(seconds)
        else:
            self.refused += 1


Send = Callable[[bytes], bool]


def http_sender(port: int, *, success_body: bytes = b"") -> Send:
    """Sends over one kept HTTP connection; False for a refusal that may be tried again.

    `success_body` is what a success without rejections may have for a body.
    """
    connection = socket.create_connection(("127.0.0.1", port), timeout=60)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(payload: bytes) -> bool:
        connection.sendall(HTTP_HEAD % len(payload))
        connection.sendall(payload)
        status, body = _answer(connection)
        if status in (429, 503):
            return False
        if status != 200 or body not in (b"", success_body):
            raise RuntimeError(f"unexpected answer {status} {body[:200]!r}")
        return True

    return send


def _answer(connection: socket.socket) -> tuple[int, bytes]:
    received = b""
    while b"\r\n\r\n" not in received:
        received += _more(connection)
    head, body = received.split(b"\r\n\r\n", 1)
    declared = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
    while len(body) < int(declared or 0):
        body += _more(connection)
    return int(head.split(b" ", 2)[1]), body


def _more(connection: socket.socket) -> bytes:
    if piece := connection.recv(65536):
        return piece
    raise ConnectionError("the server closed the connection")


def grpc_sender(port: int, *, success_body: bytes = b"") -> Send:
    """Sends over one gRPC channel; the rest as `http_sender`."""
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])
    call = channel.unary_unary(_GRPC_METHOD)

    def send(payload: bytes) -> bool:
        try:
            if call(payload, timeout=60) not in (b"", success_body):
                raise RuntimeError("unexpected partial success")
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return False
            raise
        return True

    return send


def run_load(
    new_sender: Callable[[], Send], *, seconds: float, senders: int, spans_per_s: float | None = None, mix: str = "one"
) -> Sent:
    """Send from several threads for a while, as fast as possible or at a steady rate of all together."""
    sent, lock = Sent(), threading.Lock()
    until = time.perf_counter() + seconds
    new_batches, batch_spans = MIXES[mix]
    pause_s = senders * batch_spans / spans_per_s if spans_per_s else 0.0

    def work(number: int) -> None:
        batches, send = new_batches(seed=time.time_ns() + number), new_sender()
        due = time.perf_counter() + pause_s * number / senders
        while time.perf_counter() < until:
            time.sleep(max(0.0, due - time.perf_counter()))
            payload = batches.next()
            # At a steady rate a batch that leaves late, because the one before took long, has waited already.
            started = due if pause_s else time.perf_counter()
            due += pause_s
            accepted = send(payload)
            with lock:
                sent.add(time.perf_counter() - started, accepted=accepted)
            if not accepted:
                time.sleep(_REFUSED_PAUSE_S)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sent
