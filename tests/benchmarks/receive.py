"""Sustained spans a second into a durable, queryable store, over HTTP and gRPC.

    python -m tests.benchmarks.receive [--seconds 20] [--transport http|grpc] [--senders 64] [--rate SPANS_PER_S]
        [--mix one|mixed]

The senders run on the same machine. Prints for each run what was acknowledged a second and how fast, the processor
time of server and senders for a span, the server's memory, the size of its log, and how far the units were behind
when the senders stopped.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import threading
import time
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from tests.benchmarks.receive_load import MIXES, Sent, grpc_sender, http_sender, run_load

_SAMPLE_S = 0.1


def serve(path: str, control: Connection) -> None:
    """A receiver in a process of its own, until told to stop."""
    from tracekit.receiver import Receiver, ReceiverSettings

    receiver = Receiver(path, ReceiverSettings(http_port=0, grpc_port=0))
    receiver.start()
    control.send((receiver.ports.http_port, receiver.ports.grpc_port))
    while control.recv() != "stop":
        commits = receiver.counters.commit_times()
        control.send((_cpu_s(), receiver.units.behind_s, commits.count, commits.sum_s))
    started = time.perf_counter()
    receiver.close()
    control.send((time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024))


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


@dataclass
class Server:
    """A receiver process on a fresh store."""

    path: Path
    log_bytes: int = 0
    """Largest size of the write-ahead log that was seen."""
    _stopping: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._control, remote = spawn.Pipe()
        self._process = spawn.Process(target=serve, args=(str(self.path), remote))
        self._process.start()
        self.http_port, self.grpc_port = self._control.recv()
        self._sampler = threading.Thread(target=self._sample)
        self._sampler.start()

    def state(self) -> tuple[float, float, int, float]:
        """Processor time so far, seconds that units are behind, commits so far and their seconds."""
        self._control.send("state")
        return self._control.recv()

    def stop(self) -> tuple[float, float]:
        """Drain and end the process: seconds that took, and the most memory that it had in MiB."""
        self._control.send("stop")
        ended = self._control.recv()
        self._process.join()
        self._stopping.set()
        self._sampler.join()
        return ended

    def _sample(self) -> None:
        log = self.path.with_name(self.path.name + ".wal")
        while not self._stopping.wait(_SAMPLE_S):
            self.log_bytes = max(self.log_bytes, log.stat().st_size if log.exists() else 0)


def measure(
    transport: str, *, seconds: float, senders: int, rate: float | None, folder: Path, mix: str = "one"
) -> dict[str, float | str | int]:
    """One run against a fresh store: the figures by name."""
    server = Server(folder / "receive.duckdb")
    port = server.http_port if transport == "http" else server.grpc_port
    new_sender = http_sender if transport == "http" else grpc_sender
    run_load(lambda: new_sender(port), seconds=1, senders=1, mix=mix)
    before, own_before = server.state(), _cpu_s()
    started = time.perf_counter()
    sent = run_load(lambda: new_sender(port), seconds=seconds, senders=senders, spans_per_s=rate, mix=mix)
    wall_s = time.perf_counter() - started
    after, own_after = server.state(), _cpu_s()
    spans = max(sent.acknowledged * MIXES[mix][1], 1)
    commits = max(after[2] - before[2], 1)
    close_s, peak_mib = server.stop()
    return {
        "transport": transport,
        "mix": mix,
        **_acknowledged(sent, sent.acknowledged * MIXES[mix][1], wall_s),
        "server_us_per_span": round((after[0] - before[0]) / spans * 1e6, 1),
        "senders_us_per_span": round((own_after - own_before) / spans * 1e6, 2),
        "server_cores": round((after[0] - before[0]) / wall_s, 2),
        "spans_per_commit": round(spans / commits),
        "commit_ms": round((after[3] - before[3]) / commits * 1e3),
        "server_peak_mib": round(peak_mib),
        "largest_log_mib": round(server.log_bytes / 2**20),
        "units_behind_s": round(after[1], 1),
        "close_s": round(close_s, 1),
        "bytes_per_span_on_disk": round(server.path.stat().st_size / spans, 1),
    }


def _acknowledged(sent: Sent, spans: int, wall_s: float) -> dict[str, float | int]:
    p50, p99 = np.quantile(sent.latencies_s, [0.5, 0.99]) if sent.latencies_s else (np.nan, np.nan)
    return {
        "spans": spans,
        "spans_per_s": round(spans / wall_s),
        "refused_batches": sent.refused,
        "ack_p50_ms": round(float(p50) * 1e3, 1),
        "ack_p99_ms": round(float(p99) * 1e3, 1),
    }


def main() -> None:
    """Measure and print one line of JSON a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--transport", choices=["http", "grpc"], action="append")
    parser.add_argument("--senders", type=int, default=64)
    parser.add_argument("--mix", choices=sorted(MIXES), default="one", help="one service, or three with 42 keys")
    parser.add_argument("--rate", type=float, help="spans a second of all senders together; default: all they can")
    options = parser.parse_args()
    for transport in options.transport or ["http", "grpc"]:
        with tempfile.TemporaryDirectory() as folder:
            figures = measure(
                transport,
                seconds=options.seconds,
                senders=options.senders,
                rate=options.rate,
                mix=options.mix,
                folder=Path(folder),
            )
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
