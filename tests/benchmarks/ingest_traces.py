"""Files of synthetic request traces, written fast enough for ten million spans.

The mix: an LLM request is a trace of 10 spans from three services (a gateway, the application behind it, an
inference engine) with 10 attributes on every span. Each trace has its own random trace id, span ids and
times, one request id and one of 3 models (on all its spans), a user of 100,000 and a tenant of 200 (Zipf) on
eight of them, 8 gateway hosts and 16 engines, token and byte counts (log-normal), and 7 latencies as
floating-point seconds the way real exporters compute them: the engine's as differences of a monotonic clock
near 40,000 s, the rest as differences of `time.time()`. 1 % of the requests have HTTP status 503. Nothing
else varies. The services have 19, 17 and 14 different attribute keys, all together 42. A document holds the
spans of one service, 512 at most, as an exporter's batch does, so that the spans of a trace lie in three
documents.

Protobuf files are length-prefixed messages, JSON files one document a line.

All values that vary have a fixed width, so a trace's spans are a template with holes: the places of the holes
are found by building the template twice with different values, and numpy fills them for many traces at once.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ScopeSpans, Span

Values = Mapping[str, Any]

SPANS_PER_TRACE = 10
SPANS_PER_DOCUMENT = 512
START_NS = 1_790_000_000_000_000_000
TRACE_APART_NS = 5_000_000
DOUBLE_TEXT_WIDTH = 24


@dataclass(frozen=True)
class Slot:
    """A value that differs from trace to trace: its name in `draw`, its kind and its width in characters."""

    name: str
    kind: str
    width: int = 0


REQUEST_ID = Slot("request_id", "text", 25)
USER = Slot("user", "text", 11)
TENANT = Slot("tenant", "text", 11)
MODEL = Slot("model", "text", 13)
GATEWAY = Slot("gateway", "text", 5)
ENGINE = Slot("engine", "text", 9)
STATUS = Slot("status", "integer", 3)
INPUT_TOKENS = Slot("input_tokens", "integer", 4)
OUTPUT_TOKENS = Slot("output_tokens", "integer", 3)
BODY_BYTES = Slot("body_bytes", "integer", 4)
LATENCIES = [
    Slot(name, "double", DOUBLE_TEXT_WIDTH)
    for name in ("queue_s", "prefill_s", "decode_s", "inference_s", "ttft_s", "e2e_s", "tool_s")
]
QUEUE, PREFILL, DECODE, INFERENCE, TTFT, E2E, TOOL = LATENCIES

# What a service puts on every span of a request, as its instrumentation's request context does.
_REQUEST = {"gen_ai.request.id": REQUEST_ID, "gen_ai.request.model": MODEL}
_GATEWAY = {
    **_REQUEST, "tenant.id": TENANT, "enduser.id": USER, "server.address": GATEWAY,
    "http.route": "/v1/chat/completions", "deployment.environment.name": "production",
}  # fmt: skip
_APPLICATION = {
    **_REQUEST, "tenant.id": TENANT, "enduser.id": USER, "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "vllm", "deployment.environment.name": "production",
}  # fmt: skip

# Service, name, OTLP kind, position of the parent, attributes.
SPANS: list[tuple[str, str, int, int | None, dict[str, Any]]] = [
    ("gateway", "POST /v1/chat/completions", 2, None, {
        **_GATEWAY, "http.request.method": "POST", "http.response.status_code": STATUS,
        "http.request.body.size": BODY_BYTES}),
    ("gateway", "auth", 1, 0, {
        **_GATEWAY, "auth.method": "api_key", "auth.cache_hit": True, "auth.scope": "inference"}),
    ("gateway", "ratelimit", 1, 0, {
        **_GATEWAY, "ratelimit.limit": 600, "ratelimit.remaining": BODY_BYTES, "ratelimit.window": "1m"}),
    ("gateway", "route", 1, 0, {
        **_GATEWAY, "route.policy": "least_loaded", "route.endpoint": ENGINE, "route.candidates": 16}),
    ("application", "chat", 3, 3, {
        **_APPLICATION, "gen_ai.usage.input_tokens": INPUT_TOKENS,
        "gen_ai.usage.output_tokens": OUTPUT_TOKENS, "gen_ai.response.time_to_first_token": TTFT}),
    ("application", "guardrail", 1, 4, {
        **_APPLICATION, "guardrail.name": "pii", "guardrail.verdict": "pass",
        "gen_ai.usage.input_tokens": INPUT_TOKENS}),
    ("application", "execute_tool", 1, 4, {
        **_APPLICATION, "gen_ai.tool.name": "search", "tool.result.size": BODY_BYTES, "tool.duration": TOOL}),
    ("application", "stream", 1, 4, {
        **_APPLICATION, "gen_ai.usage.output_tokens": OUTPUT_TOKENS, "gen_ai.response.finish_reason": "stop",
        "stream.duration": E2E}),
    ("engine", "llm_request", 2, 4, {
        **_REQUEST, "gen_ai.usage.prompt_tokens": INPUT_TOKENS,
        "gen_ai.usage.completion_tokens": OUTPUT_TOKENS,
        "gen_ai.latency.time_in_queue": QUEUE, "gen_ai.latency.time_in_model_prefill": PREFILL,
        "gen_ai.latency.time_in_model_decode": DECODE, "gen_ai.latency.time_in_model_inference": INFERENCE,
        "gen_ai.request.temperature": 0.7, "gen_ai.request.n": 1}),
    ("engine", "detokenize", 1, 8, {
        **_REQUEST, "gen_ai.usage.prompt_tokens": INPUT_TOKENS,
        "gen_ai.usage.completion_tokens": OUTPUT_TOKENS,
        "gen_ai.request.temperature": 0.7, "gen_ai.request.n": 1, "server.address": ENGINE,
        "detokenize.fast": True, "detokenize.workers": 4, "detokenize.skip_special": True}),
]  # fmt: skip
SERVICES = ("gateway", "application", "engine")

TRACE_ID = Slot("trace_id", "id", 16)
_PER_SPAN = [
    slot
    for position in range(SPANS_PER_TRACE)
    for slot in (
        Slot(f"span_id_{position}", "id", 8),
        Slot(f"start_{position}", "time"),
        Slot(f"end_{position}", "time"),
    )
]
_VARYING = [value for span in SPANS for value in span[4].values() if isinstance(value, Slot)]
SLOTS = {slot.name: slot for slot in [TRACE_ID, *_PER_SPAN, *_VARYING]}


def draw(random: np.random.Generator, traces: int, *, first_trace: int) -> dict[str, np.ndarray]:
    """The values of all slots for many traces; ids are bytes, everything else numbers or text."""
    values: dict[str, np.ndarray] = {
        "trace_id": random.integers(0, 256, (traces, 16), dtype=np.uint8),
        "request_id": _hex_text("chatcmpl-", random.integers(0, 256, (traces, 8), dtype=np.uint8)),
        "user": _numbered("user-{:06}", random.integers(0, 100_000, traces)),
        "tenant": _numbered("tenant-{:04}", np.minimum(random.zipf(1.5, traces), 200)),
        "model": np.array(["llama-3.1-70b", "mistral-large", "deepseek-v3.2"])[random.integers(0, 3, traces)],
        "gateway": _numbered("gw-{:02}", random.integers(0, 8, traces)),
        "engine": _numbered("engine-{:02}", random.integers(0, 16, traces)),
        "status": np.where(random.random(traces) < 0.01, 503, 200),
        "input_tokens": np.clip(random.lognormal(7.5, 0.6, traces), 1000, 9999).astype(np.int64),
        "output_tokens": np.clip(random.lognormal(5.5, 0.6, traces), 128, 999).astype(np.int64),
        "body_bytes": np.clip(random.lognormal(8, 0.6, traces), 1000, 9999).astype(np.int64),
    }
    values |= _latencies(random, traces)
    return values | _times(random, traces, first_trace=first_trace)


def _latencies(random: np.random.Generator, traces: int) -> dict[str, np.ndarray]:
    """Seconds as exporters get them: the difference of two clock readings that are doubles."""
    found = {}
    for slot in LATENCIES:
        clock_s = 40_000.0 if slot in (QUEUE, PREFILL, DECODE, INFERENCE) else START_NS / 1e9
        begin = clock_s + random.random(traces)
        found[slot.name] = (begin + random.lognormal(-2.0, 0.8, traces)) - begin
    return found


def _times(random: np.random.Generator, traces: int, *, first_trace: int) -> dict[str, np.ndarray]:
    """Span ids and times: 200 requests a second, each span inside its parent with nanosecond noise."""
    arrival = START_NS + np.arange(first_trace, first_trace + traces) * TRACE_APART_NS
    found: dict[str, np.ndarray] = {}
    for position in range(SPANS_PER_TRACE):
        start = arrival + position * 200_000 + random.integers(0, 150_000, traces)
        found[f"span_id_{position}"] = random.integers(1, 256, (traces, 8), dtype=np.uint8)
        found[f"start_{position}"] = start
        found[f"end_{position}"] = start + (SPANS_PER_TRACE - position) * random.integers(10**7, 10**8, traces)
    return found


def write_files(folder: Path, *, spans: int, encoding: str, seed: int = 1) -> Path:
    """Write `spans` spans (a multiple of 10) as one file of the encoding, `protobuf` or `json`; its path."""
    path = folder / f"requests_{spans}.{'pb' if encoding == 'protobuf' else 'jsonl'}"
    forms = FORMS[encoding]
    blocks = {service: Block(service, forms) for service in SERVICES}
    random = np.random.default_rng(seed)
    with path.open("wb") as file:
        for first in range(0, spans // SPANS_PER_TRACE, 6400):
            traces = min(6400, spans // SPANS_PER_TRACE - first)
            values = draw(random, traces, first_trace=first)
            for document in _documents(blocks, values, traces):
                file.write(forms.frame(document))
    return path


def _documents(blocks: dict[str, Block], values: Values, traces: int) -> Iterator[bytes]:
    """Documents of each service in turn, about as many spans of each trace as have been written before."""
    filled = {service: block.fill(values) for service, block in blocks.items()}
    for first in range(0, traces, 128):
        for service, block in blocks.items():
            yield block.forms.document(service, filled[service][first : first + 128].tobytes())


class Block:
    """The spans of one service in one trace, as bytes with holes."""

    def __init__(self, service: str, forms: Forms) -> None:
        self.forms = forms
        positions = [position for position, span in enumerate(SPANS) if span[0] == service]
        low = {name: _sentinel(slot, "2") for name, slot in SLOTS.items()}
        self._template = np.frombuffer(forms.spans(positions, low), np.uint8)
        self._holes: dict[str, np.ndarray] = {}
        for name, slot in SLOTS.items():
            other = np.frombuffer(forms.spans(positions, low | {name: _sentinel(slot, "3")}), np.uint8)
            width = forms.width(slot)
            self._holes[name] = np.flatnonzero(other != self._template).reshape(-1, width)

    def fill(self, values: Values) -> np.ndarray:
        """The bytes for many traces, one row each."""
        rows = np.repeat(self._template[None, :], len(values["trace_id"]), axis=0)
        for name, holes in self._holes.items():
            if holes.size:
                encoded = self.forms.encode(SLOTS[name], values[name])
                for hole in holes:
                    rows[:, hole] = encoded
        return rows


def _sentinel(slot: Slot, digit: str) -> Any:
    """A value of the slot that differs in every byte from that of another digit, in both encodings."""
    if slot.kind == "id":
        return bytes.fromhex(digit * 2 * slot.width)
    if slot.kind == "text":
        return digit * slot.width
    if slot.kind == "double":
        return struct.unpack("<d", bytes.fromhex(digit * 16))[0]
    return (
        {"2": 1_111_111_111_111_111_111, "3": 2_222_222_222_222_222_222}[digit]
        if slot.kind == "time"
        else int(digit * slot.width)
    )


@dataclass(frozen=True)
class Forms:
    """How an encoding writes spans, values, documents and the frame around a document."""

    spans: Callable[[list[int], Values], bytes]
    width: Callable[[Slot], int]
    encode: Callable[[Slot, np.ndarray], np.ndarray]
    document: Callable[[str, bytes], bytes]
    frame: Callable[[bytes], bytes]


def _resolved(value: Any, values: Values) -> Any:
    return values[value.name] if isinstance(value, Slot) else value


def _protobuf_spans(positions: list[int], values: Values) -> bytes:
    return ScopeSpans(spans=[_protobuf_span(position, values) for position in positions]).SerializeToString()


def _protobuf_span(position: int, values: Values) -> Span:
    _, name, kind, parent, attributes = SPANS[position]
    return Span(
        trace_id=values["trace_id"],
        span_id=values[f"span_id_{position}"],
        parent_span_id=b"" if parent is None else values[f"span_id_{parent}"],
        name=name,
        kind=kind,
        flags=256,
        start_time_unix_nano=values[f"start_{position}"],
        end_time_unix_nano=values[f"end_{position}"],
        attributes=[
            KeyValue(key=key, value=_protobuf_value(_resolved(value, values))) for key, value in attributes.items()
        ],
    )


def _protobuf_value(value: Any) -> AnyValue:
    names = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}
    return AnyValue(**{names[type(value)]: value})


def _protobuf_encode(slot: Slot, values: np.ndarray) -> np.ndarray:
    if slot.kind == "id":
        return values
    if slot.kind == "text":
        return _characters(values)
    if slot.kind == "integer":
        return np.stack([values & 127 | 128, values >> 7], axis=1).astype(np.uint8)
    fixed = values.astype("<f8" if slot.kind == "double" else "<i8")
    return fixed.view(np.uint8).reshape(-1, 8)


def _protobuf_document(service: str, spans: bytes) -> bytes:
    resource = Resource(attributes=[KeyValue(key="service.name", value=_protobuf_value(service))])
    scope = InstrumentationScope(name="requests", version="1.0")
    inside = _field(1, scope.SerializeToString()) + spans
    return _field(1, _field(1, resource.SerializeToString()) + _field(2, inside))


def _field(number: int, content: bytes) -> bytes:
    size, rest = b"", len(content)
    while rest > 127:
        size, rest = size + bytes([rest & 127 | 128]), rest >> 7
    return bytes([number << 3 | 2]) + size + bytes([rest]) + content


def _json_spans(positions: list[int], values: Values) -> bytes:
    text = "".join(json.dumps(_json_span(position, values), separators=(",", ":")) + "," for position in positions)
    for slot in LATENCIES:
        # The sentinel's own digit, as wide as any double is written.
        digit = "2" if values[slot.name] == _sentinel(slot, "2") else "3"
        text = text.replace(f'"@{slot.name}@"', digit * DOUBLE_TEXT_WIDTH)
    return text.encode()


def _json_span(position: int, values: Values) -> dict[str, Any]:
    _, name, kind, parent, attributes = SPANS[position]
    span = {
        "traceId": values["trace_id"].hex(),
        "spanId": values[f"span_id_{position}"].hex(),
        "name": name,
        "kind": kind,
        "startTimeUnixNano": str(values[f"start_{position}"]),
        "endTimeUnixNano": str(values[f"end_{position}"]),
        "attributes": [{"key": key, "value": _json_value(value, values)} for key, value in attributes.items()],
        "status": {},
        "flags": 256,
    }
    return span if parent is None else span | {"parentSpanId": values[f"span_id_{parent}"].hex()}


def _json_value(value: Any, values: Values) -> dict[str, Any]:
    if isinstance(value, Slot) and value.kind == "double":
        return {"doubleValue": f"@{value.name}@"}
    value = _resolved(value, values)
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": value}


def _json_encode(slot: Slot, values: np.ndarray) -> np.ndarray:
    if slot.kind == "id":
        digits = np.frombuffer(b"0123456789abcdef", np.uint8)
        return np.stack([digits[values >> 4], digits[values & 15]], axis=2).reshape(len(values), -1)
    if slot.kind == "double":
        texts = [repr(value).ljust(DOUBLE_TEXT_WIDTH) for value in values.tolist()]
        return _characters(np.array(texts))
    return _characters(values.astype(f"S{_json_width(slot)}"))


def _json_document(service: str, spans: bytes) -> bytes:
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    scope = {"name": "requests", "version": "1.0"}
    head = (
        f'{{"resourceSpans":[{{"resource":{json.dumps(resource)},"scopeSpans":[{{"scope":{json.dumps(scope)},"spans":['
    )
    return head.encode() + spans[:-1] + b"]}]}]}"


def _json_width(slot: Slot) -> int:
    return {"id": 2 * slot.width, "time": 19}.get(slot.kind, slot.width)


def _protobuf_width(slot: Slot) -> int:
    return {"time": 8, "double": 8, "integer": 2}.get(slot.kind, slot.width)


def _characters(texts: np.ndarray) -> np.ndarray:
    """ASCII texts of one width as bytes, one row each."""
    return texts.astype(np.bytes_).view(np.uint8).reshape(len(texts), -1)


def _numbered(pattern: str, numbers: np.ndarray) -> np.ndarray:
    names = np.array([pattern.format(number) for number in range(int(numbers.max()) + 1)])
    return names[numbers]


def _hex_text(head: str, raw: np.ndarray) -> np.ndarray:
    digits = _json_encode(Slot("", "id", raw.shape[1]), raw)
    return np.char.add(head, digits.view(f"S{digits.shape[1]}").reshape(-1).astype(np.str_))


FORMS = {
    "protobuf": Forms(
        spans=_protobuf_spans,
        width=_protobuf_width,
        encode=_protobuf_encode,
        document=_protobuf_document,
        frame=lambda document: struct.pack(">I", len(document)) + document,
    ),
    "json": Forms(
        spans=_json_spans,
        width=_json_width,
        encode=_json_encode,
        document=_json_document,
        frame=lambda document: document + b"\n",
    ),
}
