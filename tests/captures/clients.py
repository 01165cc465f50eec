"""Captures spans of real client libraries against a local fake model: what is injected is in `CASES` of each library.

    capture/bin/python tests/captures/clients.py LIBRARY OUT.jsonl

in an environment that has the library, its instrumentation and opentelemetry-exporter-otlp-proto-http (the versions
that made the files here stand in README.md).

LIBRARY is one of `LIBRARIES`. The fake model answers after 25 ms (streams: 12 tokens 4 ms apart); a prompt that holds a
word of `BEHAVIOURS` gets what that word says. The file is OTLP/JSON lines, without stack traces.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

FIRST_TOKEN_S, TOKEN_S, TOKENS = 0.025, 0.004, 12
BEHAVIOURS = ("slow", "limited", "broken", "flaky", "hang")
"""A second more; 429; 500; 503 once, then good; never the first token."""

_seen: set[str] = set()
_answers = itertools.count(1)


class Model(BaseHTTPRequestHandler):
    """OpenAI's chat and embeddings and Anthropic's messages, as far as their clients need it."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        """Nothing."""

    def do_POST(self) -> None:
        """Answer as the prompt says."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = json.dumps(asked)
        if "slow" in text:
            time.sleep(1)
        if "hang" in text:
            time.sleep(3)
        status = 429 if "limited" in text else 500 if "broken" in text else 200
        if "flaky" in text and text not in _seen:
            _seen.add(text)
            status = 503
        time.sleep(FIRST_TOKEN_S)
        if status != 200:
            self._send(json.dumps({"error": {"message": "injected", "type": "x", "code": str(status)}}), status)
        elif asked.get("stream"):
            self._stream(asked)
        else:
            self._send(json.dumps(self._answer(asked)))

    def _send(self, body: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        if "embeddings" in self.path:
            data = [{"object": "embedding", "index": 0, "embedding": [0.1, 0.2]}]
            usage = {"prompt_tokens": 3, "total_tokens": 3}
            return {"object": "list", "model": "tiny", "data": data, "usage": usage}
        time.sleep(TOKEN_S * TOKENS)
        if "messages" in self.path:
            return {
                "id": f"msg_{next(_answers)}", "type": "message", "role": "assistant", "model": "tiny",
                "stop_reason": "end_turn", "stop_sequence": None, "content": [{"type": "text", "text": "a " * TOKENS}],
                "usage": {"input_tokens": 20, "output_tokens": TOKENS},
            }  # fmt: skip
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "a " * TOKENS}}
        usage = {"prompt_tokens": 20, "completion_tokens": TOKENS, "total_tokens": 20 + TOKENS}
        head = {"id": f"chatcmpl-{next(_answers)}", "object": "chat.completion", "created": 1, "model": "tiny"}
        return head | {"choices": [choice], "usage": usage}

    def _stream(self, asked: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for event in _events(self.path, asked):
                self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
                self.wfile.flush()
                time.sleep(TOKEN_S)
            self.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.close_connection = True


def _events(path: str, asked: dict[str, Any]) -> list[bytes]:
    if "messages" in path:
        message = {
            "id": f"msg_{next(_answers)}", "type": "message", "role": "assistant", "model": "tiny", "content": [],
            "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 20, "output_tokens": 1},
        }  # fmt: skip
        told = [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a "}},) * TOKENS,
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
             "usage": {"output_tokens": TOKENS}},
            {"type": "message_stop"},
        ]  # fmt: skip
        return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in told]
    head = {"id": f"chatcmpl-{next(_answers)}", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
    chunks = [head | {"choices": [{"index": 0, "delta": {"content": "a "}, "finish_reason": None}]}] * TOKENS
    chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    if (asked.get("stream_options") or {}).get("include_usage"):
        usage = {"prompt_tokens": 20, "completion_tokens": TOKENS, "total_tokens": 20 + TOKENS}
        chunks.append(head | {"choices": [], "usage": usage})
    return [f"data: {json.dumps(one)}\n\n".encode() for one in chunks] + [b"data: [DONE]\n\n"]


class Lines(SpanExporter):
    """One OTLP/JSON document a span, into a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("w", encoding="utf-8")
        self._lock = threading.Lock()

    def export(self, spans: Any) -> SpanExportResult:
        """Write the spans."""
        document = MessageToDict(encode_spans(spans), preserving_proto_field_name=False)
        for resource in document["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    _as_otlp_json(span)
        with self._lock:
            self._file.write(json.dumps(document) + "\n")
            self._file.flush()
        return SpanExportResult.SUCCESS


def _as_otlp_json(span: dict[str, Any]) -> None:
    """Ids are hexadecimal and enumerations numbers in OTLP/JSON, unlike in protobuf's own mapping."""
    import base64

    for holder in (span, *span.get("links", [])):
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in holder:
                holder[key] = base64.b64decode(holder[key]).hex()
    for event in span.get("events", []):
        told = event.get("attributes", [])
        event["attributes"] = [one for one in told if one["key"] != "exception.stacktrace"]
    kinds = ["UNSPECIFIED", "INTERNAL", "SERVER", "CLIENT", "PRODUCER", "CONSUMER"]
    if "kind" in span:
        span["kind"] = kinds.index(span["kind"].removeprefix("SPAN_KIND_"))
    if "code" in span.get("status", {}):
        span["status"]["code"] = ["UNSET", "OK", "ERROR"].index(span["status"]["code"].removeprefix("STATUS_CODE_"))


def _attempt(work: Callable[[], Any]) -> None:
    """Do it; what is injected raises."""
    try:
        work()
    except Exception as error:
        print(type(error).__name__, str(error)[:100], file=sys.stderr)


MIX = ("",) * 12 + ("slow",) * 4 + ("limited",) * 3 + ("broken",) * 3 + ("flaky",) * 2
"""Prompts of every library: 12 fast, 4 slow, 3 × 429, 3 × 500, 2 that answer 503 once."""


def openai_openinference(url: str) -> None:
    """OpenAI's client under OpenInference: chat, streams, embeddings, streams that are left."""
    from openai import OpenAI
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument()
    client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=2)
    for number, word in enumerate(MIX):
        prompt = [{"role": "user", "content": f"{word} {number}"}]
        _attempt(lambda prompt=prompt: client.chat.completions.create(model="tiny", messages=prompt))
        if word in ("", "slow"):
            _attempt(
                lambda prompt=prompt: list(
                    client.chat.completions.create(
                        model="tiny", messages=prompt, stream=True, stream_options={"include_usage": True}
                    )
                )
            )
    for number in range(3):
        stream = client.chat.completions.create(
            model="tiny", messages=[{"role": "user", "content": f"left {number}"}], stream=True
        )
        next(iter(stream))
        stream.close()
        client.embeddings.create(model="tiny", input="x")


def anthropic_openllmetry(url: str) -> None:
    """Anthropic's client under OpenLLMetry."""
    from opentelemetry.instrumentation.anthropic import AnthropicInstrumentor

    AnthropicInstrumentor().instrument()
    _anthropic(url)


def anthropic_openinference(url: str) -> None:
    """Anthropic's client under OpenInference."""
    from openinference.instrumentation.anthropic import AnthropicInstrumentor

    AnthropicInstrumentor().instrument()
    _anthropic(url)


def _anthropic(url: str) -> None:
    from anthropic import Anthropic

    client = Anthropic(base_url=url, api_key="none", max_retries=2)
    for number, word in enumerate(MIX):
        asked = {"model": "tiny", "max_tokens": 64, "messages": [{"role": "user", "content": f"{word} {number}"}]}
        _attempt(lambda asked=asked: client.messages.create(**asked))
        if word in ("", "slow"):
            _attempt(lambda asked=asked: list(client.messages.create(**asked, stream=True)))


def openai_agents(url: str) -> None:
    """The agents SDK under OpenInference: runs with one model call each."""
    from agents import Agent, OpenAIChatCompletionsModel, Runner
    from openai import AsyncOpenAI
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument()
    model = OpenAIChatCompletionsModel(model="tiny", openai_client=AsyncOpenAI(base_url=f"{url}/v1", api_key="none"))
    agent = Agent(name="helper", instructions="be short", model=model)
    for number, word in enumerate(MIX):
        _attempt(lambda text=f"{word} {number}": Runner.run_sync(agent, text))


def flask_requests(url: str) -> None:
    """A Flask service that asks the model with requests; clients call it with requests, too."""
    import requests
    from flask import Flask, request
    from opentelemetry.instrumentation.flask import FlaskInstrumentor
    from opentelemetry.instrumentation.requests import RequestsInstrumentor
    from werkzeug.serving import make_server

    RequestsInstrumentor().instrument()
    app = Flask("shop")
    FlaskInstrumentor().instrument_app(app)

    @app.post("/ask")
    def ask() -> tuple[str, int]:
        body = {"model": "tiny", "messages": [{"role": "user", "content": request.get_data(as_text=True)}]}
        answered = requests.post(f"{url}/v1/chat/completions", json=body, timeout=10)
        if answered.status_code == 503:
            answered = requests.post(f"{url}/v1/chat/completions", json=body, timeout=10)
        answered.raise_for_status()
        return answered.text, 200

    @app.errorhandler(requests.HTTPError)
    def failed(error: requests.HTTPError) -> tuple[str, int]:
        return "upstream", error.response.status_code

    server = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for number, word in enumerate(MIX):
        requests.post(f"http://127.0.0.1:{server.port}/ask", data=f"{word} {number}", timeout=10)


LIBRARIES: dict[str, Callable[[str], None]] = {
    one.__name__: one
    for one in (
        openai_openinference, anthropic_openllmetry, anthropic_openinference, openai_agents, flask_requests,
    )
}  # fmt: skip


def main() -> None:
    """Run one library into one file."""
    library, path = sys.argv[1], Path(sys.argv[2])
    provider = TracerProvider(resource=Resource({"service.name": library.split("_")[0]}))
    provider.add_span_processor(SimpleSpanProcessor(Lines(path)))
    trace.set_tracer_provider(provider)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    LIBRARIES[library](f"http://127.0.0.1:{server.server_port}")
    provider.shutdown()


if __name__ == "__main__":
    main()
