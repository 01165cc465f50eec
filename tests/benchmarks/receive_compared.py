"""The receiver beside the OpenTelemetry Collector with its file exporter, under the same senders, one after the other.

    python -m tests.benchmarks.receive_compared [--seconds 20] [--senders 64] [--collector PROGRAM]

The Collector is what one would put there instead to have the data on the disk. It writes a file that has to be read
before it can be asked, and acknowledges before the data is on the disk; the receiver's data is durable, without
repeats, indexed by stages and open to SQL. Without `--collector` it is built from `tests/interop/collector` with Go.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from tests.benchmarks.receive import measure
from tests.benchmarks.receive_load import SPANS_PER_BATCH, Send, grpc_sender, http_sender, run_load
from tests.interop.relaying import free_port, wait_for_port

_SOURCE = Path(__file__).parents[1] / "interop" / "collector"
_CONFIGURATION = """
receivers:
  otlp:
    protocols:
      grpc:
        endpoint: 127.0.0.1:{grpc_port}
      http:
        endpoint: 127.0.0.1:{http_port}
exporters:
  file:
    path: {path}
    format: {format}
service:
  telemetry:
    metrics:
      level: none
    logs:
      level: error
  pipelines:
    traces:
      receivers: [otlp]
      exporters: [file]
"""
# The Collector sets the field although nothing was rejected.
_EMPTY_PARTIAL_SUCCESS = b"\n\0"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@contextmanager
def collector(program: Path, folder: Path, **values: object) -> Iterator[subprocess.Popen[bytes]]:
    """The Collector with the configuration above."""
    configuration = folder / "collector.yaml"
    configuration.write_text(_CONFIGURATION.format(**values), encoding="utf-8")
    process = subprocess.Popen([program, "--config", configuration])
    try:
        wait_for_port(int(str(values["http_port"])))
        wait_for_port(int(str(values["grpc_port"])))
        yield process
    finally:
        process.terminate()
        process.wait(timeout=60)


def cpu_s(process: subprocess.Popen[bytes]) -> float:
    """Processor time of a running process."""
    fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_S


def peak_mib(process: subprocess.Popen[bytes]) -> int:
    """The most memory that a running process has had."""
    lines = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024


def measure_collector(
    program: Path, transport: str, format: str, *, seconds: float, senders: int, folder: Path
) -> dict[str, float | str | int]:
    """One run: the figures by name."""
    ports = {"grpc_port": free_port(), "http_port": free_port()}
    path = folder / f"traces.{format}"
    make = http_sender if transport == "http" else grpc_sender

    def new_sender() -> Send:
        return make(ports[f"{transport}_port"], success_body=_EMPTY_PARTIAL_SUCCESS)

    with collector(program, folder, path=path, format=format, **ports) as process:
        run_load(new_sender, seconds=1, senders=1)
        before, started = cpu_s(process), time.perf_counter()
        sent = run_load(new_sender, seconds=seconds, senders=senders)
        wall_s, used_s = time.perf_counter() - started, cpu_s(process) - before
        peak = peak_mib(process)
    spans = max(sent.acknowledged * SPANS_PER_BATCH, 1)
    return {
        "what": f"Collector, file exporter, {format}",
        "transport": transport,
        "spans_per_s": round(spans / wall_s),
        "server_us_per_span": round(used_s / spans * 1e6, 1),
        "ack_p99_ms": round(float(np.quantile(sent.latencies_s, 0.99)) * 1e3, 1),
        "server_peak_mib": peak,
        "bytes_per_span_on_disk": round(path.stat().st_size / spans, 1),
    }


def built(folder: Path) -> Path:
    """The Collector, built from its modules."""
    program = folder / "otelcol"
    subprocess.run(["go", "build", "-o", str(program), "."], cwd=_SOURCE, check=True)
    return program


def main() -> None:
    """Measure and print a line of JSON a run, then the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--senders", type=int, default=64)
    parser.add_argument("--collector", type=Path, help="a Collector that is built already")
    options = parser.parse_args()
    load = {"seconds": options.seconds, "senders": options.senders}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program = options.collector or built(folder)
        for transport in ("http", "grpc"):
            found = [
                measure_collector(program, transport, format, folder=folder, **load) for format in ("json", "proto")
            ]
            found.append({"what": "tracekit"} | measure(transport, rate=None, folder=folder, **load))
            (folder / "receive.duckdb").unlink()
            for each in found:
                print(json.dumps(each))
            ours = found[-1]
            for each in found[:-1]:
                rate, cost = (float(ours[name]) / float(each[name]) for name in ("spans_per_s", "server_us_per_span"))
                print(f"{transport}: tracekit to {each['what']}: {rate:.2f} of the rate, {cost:.1f} times the work")


if __name__ == "__main__":
    main()
