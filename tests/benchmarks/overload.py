"""Twice what the receiver can take: nothing acknowledged is lost, memory stays bounded, and it recovers at once.

    python -m tests.benchmarks.overload [--seconds 600] [--times 2] [--senders 2000]

First it measures what the receiver takes from 64 senders. Then it offers a multiple of that at a steady rate, from
senders that do as exporters do: one request at a time, told to come again they wait as long as they were told, and
after ten seconds they drop the batch. At the end the store is compared with what was acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl

from tests.benchmarks.receive import Server
from tests.benchmarks.receive_load import HTTP_HEAD, SPANS_PER_BATCH, SPANS_PER_TRACE, Batches, http_sender, run_load

_CAPACITY_S = 10
_EXPORT_BUDGET_S = 10.0
_RECOVERY_LIMIT_S = 120.0
_TRACES = "SELECT trace_id, count(*) AS spans, count(DISTINCT span_id) AS ids FROM base.spans GROUP BY trace_id"


@dataclass
class Ledger:
    """What the senders know; of each acknowledged batch the first trace id."""

    offered: int = 0
    acknowledged: list[bytes] = field(default_factory=list)
    latencies_s: list[float] = field(default_factory=list)
    refusals: int = 0
    dropped: int = 0
    unanswered: int = 0


async def send_steadily(ledger: Ledger, port: int, *, number: int, pause_s: float, until: float) -> None:
    """One sender: a batch every `pause_s`, later where the one before took longer."""
    batches = Batches(seed=time.time_ns() + number)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    due = time.monotonic() + pause_s * np.random.default_rng(number).random()
    try:
        while due < until:
            await asyncio.sleep(due - time.monotonic())
            due = max(due + pause_s, time.monotonic())
            ledger.offered += 1
            await deliver(ledger, reader, writer, batches)
    except (ConnectionError, asyncio.IncompleteReadError):
        ledger.unanswered += 1
    finally:
        writer.close()


async def deliver(ledger: Ledger, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, batches: Batches) -> None:
    """Send one batch until it is acknowledged or its time is over."""
    payload = batches.next()
    started = time.monotonic()
    while True:
        writer.writelines([HTTP_HEAD % len(payload), payload])
        await writer.drain()
        status, retry_after_s = await answered(reader)
        waited_s = time.monotonic() - started
        if status == 200:
            ledger.acknowledged.append(batches.trace_id(payload))
            ledger.latencies_s.append(waited_s)
            return
        if status not in (429, 503):
            raise RuntimeError(f"unexpected answer {status}")
        ledger.refusals += 1
        if waited_s + retry_after_s > _EXPORT_BUDGET_S:
            ledger.dropped += 1
            return
        await asyncio.sleep(retry_after_s)


async def answered(reader: asyncio.StreamReader) -> tuple[int, float]:
    """Status and `Retry-After` of one answer."""
    lines = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
    headers = dict(line.split(b": ", 1) for line in lines[1:] if line)
    await reader.readexactly(int(headers.get(b"content-length", 0)))
    return int(lines[0].split(b" ")[1]), float(headers.get(b"retry-after", 0))


async def overload(ledger: Ledger, port: int, *, spans_per_s: float, senders: int, seconds: float) -> None:
    """All senders at once for a while."""
    until = time.monotonic() + seconds
    pause_s = senders * SPANS_PER_BATCH / spans_per_s
    await asyncio.gather(
        *(send_steadily(ledger, port, number=number, pause_s=pause_s, until=until) for number in range(senders))
    )


def taken_spans_per_s(server: Server) -> float:
    """What the receiver takes from senders that wait for each answer, once everything is compiled."""
    run_load(lambda: http_sender(server.http_port), seconds=1, senders=1)
    while server.state()[1] > 0:
        time.sleep(0.1)
    started = time.monotonic()
    sent = run_load(lambda: http_sender(server.http_port), seconds=_CAPACITY_S, senders=64)
    return sent.acknowledged * SPANS_PER_BATCH / (time.monotonic() - started)


def recovery(server: Server) -> tuple[float, float]:
    """Seconds until a request is acknowledged, and until the units have all that was acknowledged."""
    started = time.monotonic()
    send, batches = http_sender(server.http_port), Batches(seed=time.time_ns())
    while not send(batches.next()):
        time.sleep(0.1)
    acknowledged_s = time.monotonic() - started
    while server.state()[1] > 0 and time.monotonic() - started < _RECOVERY_LIMIT_S:
        time.sleep(0.1)
    return acknowledged_s, time.monotonic() - started


def compare(path: Path, ledger: Ledger) -> dict[str, int]:
    """What the store holds against what was acknowledged."""
    from tracekit.store import Database

    with Database.open(path) as database:
        found = database.sql(_TRACES)
    sent = pl.DataFrame({"trace_id": [str(uuid.UUID(bytes=each)) for each in ledger.acknowledged]})
    whole = sent.join(found.with_columns(pl.col("trace_id").cast(pl.String)), on="trace_id", how="left")
    is_whole = (whole["spans"] == SPANS_PER_TRACE).fill_null(value=False)
    return {
        "acknowledged_batches_lost": int((~is_whole).sum()),
        "spans_stored_twice": int((found["spans"] - found["ids"]).sum()),
        "spans_stored": int(found["spans"].sum()),
    }


def measure(folder: Path, *, seconds: float, times: float, senders: int) -> dict[str, float | int]:
    """One run against a fresh store: the figures by name."""
    server = Server(folder / "overload.duckdb")
    capacity = taken_spans_per_s(server)
    ledger = Ledger()
    started = time.monotonic()
    load = overload(ledger, server.http_port, spans_per_s=times * capacity, senders=senders, seconds=seconds)
    asyncio.run(load)
    wall_s = time.monotonic() - started
    acknowledged_s, units_s = recovery(server)
    close_s, peak_mib = server.stop()
    quantiles = np.quantile(ledger.latencies_s, [0.5, 0.99]) if ledger.latencies_s else (np.nan, np.nan)
    return {
        "capacity_spans_per_s": round(capacity),
        "offered_spans_per_s": round(ledger.offered * SPANS_PER_BATCH / wall_s),
        "acknowledged_spans_per_s": round(len(ledger.acknowledged) * SPANS_PER_BATCH / wall_s),
        "acknowledged_batches": len(ledger.acknowledged),
        "refusals": ledger.refusals,
        "dropped_by_senders": ledger.dropped,
        "unanswered": ledger.unanswered,
        "ack_p50_s": round(float(quantiles[0]), 2),
        "ack_p99_s": round(float(quantiles[1]), 2),
        "server_peak_mib": round(peak_mib),
        "largest_log_mib": round(server.log_bytes / 2**20),
        "acknowledges_again_after_s": round(acknowledged_s, 2),
        "units_complete_after_s": round(units_s, 1),
        "close_s": round(close_s, 1),
        **compare(server.path, ledger),
    }


def main() -> None:
    """Measure and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--times", type=float, default=2, help="how often what the receiver can take")
    parser.add_argument("--senders", type=int, default=2000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), seconds=options.seconds, times=options.times, senders=options.senders)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
