"""The real OpenTelemetry Collector in front of the receiver, and the files that it writes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.interop.relaying import free_port, send_through, wait_for_port
from tests.interop.sent import assert_all_stored
from tracekit.ingest import ingest
from tracekit.receiver import Receiver
from tracekit.store import Database

CONFIGURATION = """
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 127.0.0.1:{port}
processors:
  batch:
    timeout: 100ms
exporters:
  otlp:
    endpoint: 127.0.0.1:{grpc_port}
    tls:
      insecure: true
    retry_on_failure:
      initial_interval: 200ms
  otlphttp:
    endpoint: http://127.0.0.1:{http_port}
    compression: {compression}
  file:
    path: {folder}/plain.jsonl
  file/zstd:
    path: {folder}/zstd.json
    compression: zstd
  file/proto:
    path: {folder}/proto.pb
    format: proto
service:
  telemetry:
    metrics:
      level: none
  pipelines:
    traces:
      receivers: [otlp]
      processors: [batch]
      exporters: [{exporters}]
"""
FILE_EXPORTERS = "file, file/zstd, file/proto"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@contextmanager
def collector(program: Path, folder: Path, **values: object) -> Iterator[int]:
    """A running Collector; its OTLP/gRPC port. It flushes when the block ends."""
    port = free_port()
    values = {"grpc_port": 1, "http_port": 1, "compression": "gzip"} | values
    configuration = folder / "collector.yaml"
    configuration.write_text(CONFIGURATION.format(port=port, folder=folder, **values))
    process = subprocess.Popen([program, "--config", configuration], stderr=subprocess.PIPE, text=True)
    try:
        wait_for_port(port)
        yield port
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors


@pytest.mark.parametrize(
    ("exporters", "compression"),
    [("otlp", "gzip"), ("otlphttp", "gzip"), ("otlphttp", "zstd"), ("otlphttp", "none")],
)
def test_what_the_collector_forwards_is_stored(
    receiver: Receiver, collector_program: Path, tmp_path: Path, exporters: str, compression: str
) -> None:
    """Its OTLP and OTLP/HTTP exporters are satisfied, with each compression that both know."""
    ports = {"grpc_port": receiver.ports.grpc_port, "http_port": receiver.ports.http_port}
    with collector(collector_program, tmp_path, exporters=exporters, compression=compression, **ports) as port:
        keeping = send_through(port)
    assert_all_stored(receiver.store.database, keeping.spans)


def test_the_collector_comes_again_when_it_is_told_to(
    receiver: Receiver, collector_program: Path, tmp_path: Path
) -> None:
    """While the store cannot be written the Collector keeps the batch; it arrives once the store is back."""
    ports = {"grpc_port": receiver.ports.grpc_port, "http_port": receiver.ports.http_port}
    with collector(collector_program, tmp_path, exporters="otlp, otlphttp", **ports) as port:
        receiver.store.fail("taken out by the test")
        keeping = send_through(port)
        time.sleep(6)
    assert_all_stored(receiver.store.database, keeping.spans)


@pytest.mark.parametrize("name", ["plain.jsonl", "zstd.json", "proto.pb"])
def test_the_files_of_the_collector_are_read(collector_program: Path, tmp_path: Path, name: str) -> None:
    """Its file exporter's plain JSON lines, zstd frames in an envelope, and length-prefixed protobuf."""
    with collector(collector_program, tmp_path, exporters=FILE_EXPORTERS) as port:
        keeping = send_through(port)
    with Database.open(tmp_path / "ingested.duckdb") as database:
        report = ingest(database, [tmp_path / name])
        assert report.is_complete
        assert_all_stored(database, keeping.spans)
