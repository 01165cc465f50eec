"""Speed of decoding: spans per second of one core, from bytes to Arrow tables with attributes as JSON text.

    python tests/benchmarks/decode.py [--spans N] [--document-spans N]

The spans are those of an inference server: 10 attributes each (5 strings, of which one is unique, 2
integers, 2 doubles, 1 boolean), documents of 512 spans as an exporter sends them. Times are those of the
thread's own processor time, the best of some runs, after one run that loads the compiled code.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import time
from collections.abc import Callable

from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData

from tracekit.otlp import Document, Encoding, Signal, decode

_RUNS = 5
_HEX_IDS = {"traceId", "spanId", "parentSpanId"}


def message(span_count: int, seed: int) -> TracesData:
    """A document of `span_count` spans of an inference server."""
    chance = random.Random(seed)
    data = TracesData()
    around = data.resource_spans.add()
    around.resource.attributes.add(key="service.name").value.string_value = "vllm-server"
    inside = around.scope_spans.add()
    inside.scope.name = "vllm.llm_engine"
    for _ in range(span_count):
        start_ns = 1_796_016_660_000_000_000 + chance.randrange(10**12)
        span = inside.spans.add(
            trace_id=chance.randbytes(16), span_id=chance.randbytes(8), parent_span_id=chance.randbytes(8),
            name="llm_request", kind=2, start_time_unix_nano=start_ns,
            end_time_unix_nano=start_ns + chance.randrange(10**10),
        )  # fmt: skip
        for key, value in _attributes(chance).items():
            member = {str: "string_value", bool: "bool_value", int: "int_value", float: "double_value"}[type(value)]
            setattr(span.attributes.add(key=key).value, member, value)
    return data


def _attributes(chance: random.Random) -> dict[str, str | bool | int | float]:
    return {
        "gen_ai.request.model": "llama-3-70b",
        "gen_ai.request.id": f"cmpl-{chance.getrandbits(128):032x}",
        "gen_ai.usage.prompt_tokens": chance.randrange(8000),
        "gen_ai.usage.completion_tokens": chance.randrange(800),
        "gen_ai.latency.time_to_first_token": chance.random(),
        "gen_ai.request.temperature": 0.7,
        "http.request.method": "POST",
        "http.route": "/v1/completions",
        "server.address": f"node-{chance.randrange(100)}",
        "stream": chance.random() < 0.5,
    }


def as_json(data: TracesData) -> bytes:
    """The document as OTLP/JSON."""

    def with_hex_ids(fields: dict[str, object]) -> dict[str, object]:
        return {key: base64.b64decode(str(value)).hex() if key in _HEX_IDS else value for key, value in fields.items()}

    text = json_format.MessageToJson(data, use_integers_for_enums=True)
    return json.dumps(json.loads(text, object_hook=with_hex_ids), separators=(",", ":")).encode()


def best_seconds(run: Callable[[], object]) -> float:
    """Processor time of the fastest of some runs; a first run is not counted."""
    run()
    times = []
    for _ in range(_RUNS):
        before = time.thread_time()
        run()
        times.append(time.thread_time() - before)
    return min(times)


def main() -> None:
    """Prints a line for each encoding."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--spans", type=int, default=102_400)
    arguments.add_argument("--document-spans", type=int, default=512)
    options = arguments.parse_args()
    data = message(options.document_spans, seed=1)
    count = options.spans // options.document_spans
    cases: list[tuple[str, Encoding, Signal | None, bytes]] = [
        ("protobuf", "protobuf", "traces", data.SerializeToString()),
        ("protobuf, signal by trial", "protobuf", None, data.SerializeToString()),
        ("JSON", "json", None, as_json(data)),
    ]
    for name, encoding, signal, payload in cases:
        documents = [Document(payload)] * count
        seconds = best_seconds(lambda: decode(documents, encoding=encoding, signal=signal))  # noqa: B023
        spans = count * options.document_spans
        megabytes, size_bytes = len(payload) * count / 1e6, len(payload) // options.document_spans
        speed = f"{spans / seconds:>10,.0f} spans/s  {megabytes / seconds:>6,.0f} MB/s"
        print(f"{name:26} {speed}  {size_bytes} bytes a span")


if __name__ == "__main__":
    main()
