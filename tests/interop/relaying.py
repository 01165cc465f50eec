"""Programs that stand between the SDK and the receiver."""

from __future__ import annotations

import socket
import time

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

from tests.interop.sent import RESOURCE, Keeping, record
from tracekit.store import Database

START_S = 60


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def wait_for_port(port: int) -> None:
    """Return when somebody listens on the port."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert time.monotonic() < deadline, "the program did not start"
            time.sleep(0.1)
        else:
            return


def send_through(port: int) -> Keeping:
    """Record spans and send them over gRPC to a port; what was sent."""
    keeping = Keeping()
    provider = TracerProvider(resource=RESOURCE)
    provider.add_span_processor(SimpleSpanProcessor(keeping))
    exporter = OTLPSpanExporter(endpoint=f"http://127.0.0.1:{port}", insecure=True)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    record(provider)
    provider.shutdown()
    return keeping


def wait_for_spans(database: Database, count: int) -> None:
    """Return when so many spans are stored."""
    deadline = time.monotonic() + START_S
    while database.sql("SELECT count(*) AS count FROM spans")["count"][0] < count:
        assert time.monotonic() < deadline, "the spans did not arrive"
        time.sleep(0.05)
