"""A foreign agent written in Rust, which reads OTLP and writes it anew."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.interop.relaying import free_port, send_through, wait_for_port, wait_for_spans
from tests.interop.sent import assert_all_stored
from tracekit.receiver import Receiver


@contextmanager
def agent(*options: str) -> Iterator[int]:
    """A running agent; its OTLP/gRPC port."""
    found = importlib.util.find_spec("rotel")
    if found is None or found.origin is None:
        pytest.skip("the package rotel is not installed (it has wheels for few platforms)")
    port = free_port()
    addresses = [
        "--otlp-grpc-endpoint",
        f"127.0.0.1:{port}",
        "--otlp-http-endpoint",
        f"127.0.0.1:{free_port()}",
    ]
    program = Path(found.origin).with_name("rotel-agent")
    command = [program, "start", *addresses, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    try:
        wait_for_port(port)
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.mark.parametrize(("protocol", "compression"), [("grpc", "gzip"), ("http", "gzip"), ("http", "none")])
def test_what_the_agent_forwards_is_stored(receiver: Receiver, protocol: str, compression: str) -> None:
    """Another implementation of OTLP is satisfied too, field by field."""
    is_grpc = protocol == "grpc"
    port = receiver.ports.grpc_port if is_grpc else receiver.ports.http_port
    options = ["--otlp-exporter-endpoint", f"http://127.0.0.1:{port}", "--otlp-exporter-protocol", protocol]
    with agent(*options, "--otlp-exporter-compression", compression, "--batch-timeout", "200ms") as agent_port:
        keeping = send_through(agent_port)
        wait_for_spans(receiver.store.database, len(keeping.spans))
    assert_all_stored(receiver.store.database, keeping.spans)
