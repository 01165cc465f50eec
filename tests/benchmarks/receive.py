"""Sustained spans a second into a durable, queryable store, over HTTP and gRPC; the senders run on the
same machine.

    python -m tests.benchmarks.receive [--seconds 20] [--transport http|grpc] [--senders 8] [--rate
    SPANS_PER_S]

Prints spans a second acknowledged, the time to acknowledgement, and the processor time of server and senders.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from tests.benchmarks.receive_load import SPANS_PER_BATCH, Sent, grpc_sender, http_sender, run_load


def serve(path: str, control: Connection) -> None:
    """A receiver in a process of its own, until told to stop."""
    from tracekit.receiver import Receiver, ReceiverSettings

    receiver = Receiver(path, ReceiverSettings(http_port=0, grpc_port=0))
    receiver.start()
    control.send((receiver.ports.http_port, receiver.ports.grpc_port))
    while control.recv() != "stop":
        control.send(_cpu_s())
    started = time.perf_counter()
    receiver.close()
    usage = resource.getrusage(resource.RUSAGE_SELF)
    control.send((time.perf_counter() - started, usage.ru_maxrss / 1024))


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def measure(
    transport: str, *, seconds: float, senders: int, rate: float | None, folder: Path
) -> dict[str, float | str | int]:
    """One run against a fresh store: the figures by name."""
    path = folder / "receive.duckdb"
    control, remote = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(str(path), remote))
    server.start()
    http_port, grpc_port = control.recv()
    new_sender = (lambda: http_sender(http_port)) if transport == "http" else (lambda: grpc_sender(grpc_port))
    run_load(new_sender, seconds=1, senders=1)
    cpu_before = _asked(control), _cpu_s()
    started = time.perf_counter()
    sent = run_load(new_sender, seconds=seconds, senders=senders, spans_per_s=rate)
    wall_s = time.perf_counter() - started
    cpu_after = _asked(control), _cpu_s()
    control.send("stop")
    close_s, peak_mib = control.recv()
    server.join()
    return _figures(
        transport,
        sent,
        wall_s=wall_s,
        server_cpu_s=cpu_after[0] - cpu_before[0],
        senders_cpu_s=cpu_after[1] - cpu_before[1],
        close_s=close_s,
        peak_mib=peak_mib,
        path=path,
    )


def _asked(control: Connection) -> float:
    control.send("cpu")
    return float(control.recv())


def _figures(
    transport: str,
    sent: Sent,
    *,
    wall_s: float,
    server_cpu_s: float,
    senders_cpu_s: float,
    close_s: float,
    peak_mib: float,
    path: Path,
) -> dict[str, float | str | int]:
    spans = sent.acknowledged * SPANS_PER_BATCH
    return {
        "transport": transport,
        "spans": spans,
        "spans_per_s": round(spans / wall_s),
        "refused_batches": sent.refused,
        "ack_p50_ms": round(float(np.quantile(sent.latencies_s, 0.5)) * 1e3, 1),
        "ack_p99_ms": round(float(np.quantile(sent.latencies_s, 0.99)) * 1e3, 1),
        "server_cores": round(server_cpu_s / wall_s, 2),
        "senders_cores": round(senders_cpu_s / wall_s, 2),
        "server_peak_mib": round(peak_mib),
        "close_s": round(close_s, 1),
        "bytes_per_span_on_disk": round(path.stat().st_size / max(spans, 1), 1),
    }


def main() -> None:
    """Measure and print one line of JSON a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--transport", choices=["http", "grpc"], action="append")
    parser.add_argument("--senders", type=int, default=8)
    parser.add_argument(
        "--rate", type=float, help="spans a second of all senders together; default: all they can"
    )
    options = parser.parse_args()
    for transport in options.transport or ["http", "grpc"]:
        with tempfile.TemporaryDirectory() as folder:
            figures = measure(
                transport,
                seconds=options.seconds,
                senders=options.senders,
                rate=options.rate,
                folder=Path(folder),
            )
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
