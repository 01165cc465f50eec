"""Load for a receiver: batches of 512 spans, 10 attributes each, fresh ids every time, over HTTP or gRPC.

The mix: traces of eight spans (a gateway's SERVER span over authentication, routing, a chat call and its
parts), with
model, token counts, a latency, a request id and other attributes of GenAI senders. A batch is built once
with the
official classes; before each sending only ids and times are written anew into its bytes, so that the
senders cost little.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import grpc
import numpy as np
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

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


class Batches:
    """One batch after the other as the bytes of an export request; every span id and trace id is new."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)
        request = ExportTraceServiceRequest()
        resource_spans = request.resource_spans.add()
        resource_spans.resource.attributes.append(
            KeyValue(key="service.name", value=AnyValue(string_value="gateway"))
        )
        scope_spans = resource_spans.scope_spans.add()
        ids = self._random.bytes(SPANS_PER_BATCH * 32)
        for row in range(SPANS_PER_BATCH):
            trace, position = divmod(row, SPANS_PER_TRACE)
            own = ids[row * 32 : row * 32 + 32]
            span = scope_spans.spans.add(
                trace_id=own[:16],
                span_id=own[16:24],
                name=_NAMES[position],
                kind=2 if position == 0 else 1,
                start_time_unix_nano=row + (1 << 60),
                end_time_unix_nano=row + (1 << 61),
                attributes=_attributes(trace, position),
            )
            if position:
                span.parent_span_id = own[24:32]
        template = request.SerializeToString()
        self._bytes = np.frombuffer(template, np.uint8).copy()
        rows = range(SPANS_PER_BATCH)
        self._traces = np.array([template.index(ids[row * 32 : row * 32 + 16]) for row in rows])
        self._spans = np.array([template.index(ids[row * 32 + 16 : row * 32 + 24]) for row in rows])
        children = [row for row in rows if row % SPANS_PER_TRACE]
        self._children = np.array(children)
        self._parents = np.array([template.index(ids[row * 32 + 24 : row * 32 + 32]) for row in children])
        self._starts = np.array([template.index((row + (1 << 60)).to_bytes(8, "little")) for row in rows])
        self._ends = np.array([template.index((row + (1 << 61)).to_bytes(8, "little")) for row in rows])

    def next(self, now_ns: int | None = None) -> bytes:
        """The next batch: 64 traces of the two seconds before now, with new ids and times."""
        traces = self._random.integers(1, 256, (SPANS_PER_BATCH // SPANS_PER_TRACE, 16), np.uint8)
        spans = self._random.integers(1, 256, (SPANS_PER_BATCH, 8), np.uint8)
        rows = np.arange(SPANS_PER_BATCH)
        self._write(self._traces, traces[rows // SPANS_PER_TRACE])
        self._write(self._spans, spans)
        self._write(self._parents, spans[self._children // SPANS_PER_TRACE * SPANS_PER_TRACE])
        offsets = self._random.integers(0, 10**9, SPANS_PER_BATCH // SPANS_PER_TRACE)[rows // SPANS_PER_TRACE]
        starts = (now_ns or time.time_ns()) - 2 * 10**9 + offsets + rows % SPANS_PER_TRACE * 1_000_000
        lengths = np.where(
            rows % SPANS_PER_TRACE == 0, 50_000_000, 4_000_000 + self._random.integers(0, 10**6, rows.size)
        )
        self._write(self._starts, starts.astype("<i8").view(np.uint8).reshape(-1, 8))
        self._write(self._ends, (starts + lengths).astype("<i8").view(np.uint8).reshape(-1, 8))
        return self._bytes.tobytes()

    def _write(self, places: np.ndarray, values: np.ndarray) -> None:
        self._bytes[places[:, None] + np.arange(values.shape[1])] = values


@dataclass
class Sent:
    """What the senders saw: acknowledged and refused batches, and the seconds to each acknowledgement."""

    acknowledged: int = 0
    refused: int = 0
    failed: int = 0
    latencies_s: list[float] = field(default_factory=list)


Send = Callable[[bytes], bool]


def http_sender(port: int) -> Send:
    """Sends over one kept HTTP connection; False for a refusal that may be tried again."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def send(payload: bytes) -> bool:
        connection.request("POST", "/v1/traces", payload, {"Content-Type": "application/x-protobuf"})
        response = connection.getresponse()
        body = response.read()
        if response.status in (429, 503):
            return False
        if response.status != 200 or body:
            raise RuntimeError(f"unexpected answer {response.status} {body[:200]!r}")
        return True

    return send


def grpc_sender(port: int) -> Send:
    """Sends over one gRPC channel; False for a refusal that may be tried again."""
    channel = grpc.insecure_channel(f"127.0.0.1:{port}", options=[("grpc.use_local_subchannel_pool", 1)])
    call = channel.unary_unary(_GRPC_METHOD)

    def send(payload: bytes) -> bool:
        try:
            if call(payload, timeout=60):
                raise RuntimeError("unexpected partial success")
        except grpc.RpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                return False
            raise
        return True

    return send


def run_load(
    new_sender: Callable[[], Send], *, seconds: float, senders: int, spans_per_s: float | None = None
) -> Sent:
    """Send from several threads for a while, as fast as possible or at a steady rate of all together."""
    sent, lock = Sent(), threading.Lock()
    until = time.perf_counter() + seconds
    pause_s = senders * SPANS_PER_BATCH / spans_per_s if spans_per_s else 0.0

    def work(number: int) -> None:
        batches, send = Batches(seed=time.time_ns() + number), new_sender()
        due = time.perf_counter() + pause_s * number / senders
        while time.perf_counter() < until:
            time.sleep(max(0.0, due - time.perf_counter()))
            due += pause_s
            payload = batches.next()
            started = time.perf_counter()
            accepted = send(payload)
            with lock:
                sent.acknowledged += accepted
                sent.refused += not accepted
                sent.latencies_s.append(time.perf_counter() - started)
            if not accepted:
                time.sleep(0.05)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(senders)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sent
