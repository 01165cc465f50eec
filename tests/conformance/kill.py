"""kill -9 at random moments under load: what was acknowledged must be in the store, once.

    python -m tests.conformance.kill [--rounds 30] [--spans 50]

Every round starts a server on the same file, sends from several threads, kills the server, and keeps what was not
acknowledged to be sent again in the next round, as exporters do; some of what was acknowledged is sent again too, as if
the answer had been lost. At the end the store is compared with the list of what was acknowledged. Batches of 50 spans
go through the log; of 4,000 spans, a commit is more than a row group and goes straight to its place in the file.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.conformance import exports
from tests.conformance.process import ServeProcess
from tracekit.store import Database

SENDERS = 6


@dataclass
class Ledger:
    """What the senders know."""

    spans_per_batch: int
    acknowledged: list[bytes] = field(default_factory=list)
    unanswered: list[bytes] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def next_payload(self) -> bytes:
        """A batch to send: one without an answer, one that was acknowledged before, or most often a new one."""
        with self.lock:
            if self.unanswered:
                return self.unanswered.pop()
            if self.acknowledged and random.random() < 0.1:
                return random.choice(self.acknowledged)
        return exports.traces(self.spans_per_batch)


def send_until_dead(server: ServeProcess, ledger: Ledger) -> None:
    """Send batch after batch; the one in flight when the server dies is left to the next round."""
    while True:
        payload = ledger.next_payload()
        try:
            status, _ = server.post(payload)
        except (OSError, http.client.HTTPException):
            with ledger.lock:
                ledger.unanswered.append(payload)
            return
        assert status == 200, status
        with ledger.lock:
            ledger.acknowledged.append(payload)


def run_round(database: Path, ledger: Ledger) -> None:
    """Start, load, kill."""
    server = ServeProcess(database, "--no-ui")
    senders = [threading.Thread(target=send_until_dead, args=(server, ledger)) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    time.sleep(random.uniform(0.05, 2.5))
    server.kill()
    for sender in senders:
        sender.join()


def ids_of(payload: bytes) -> set[tuple[str, str]]:
    """Trace and span ids of a batch in hex."""
    message = ExportTraceServiceRequest.FromString(payload)
    spans = message.resource_spans[0].scope_spans[0].spans
    return {(span.trace_id.hex(), span.span_id.hex()) for span in spans}


def compare(database: Path, ledger: Ledger) -> dict[str, int]:
    """What the store holds against what was acknowledged."""
    with Database.open(database) as store:
        rows = store.sql("SELECT trace_id, span_id, count(*) AS copies FROM spans GROUP BY ALL")
    stored = set(zip(rows["trace_id"], rows["span_id"], strict=True))
    acknowledged = set().union(*map(ids_of, ledger.acknowledged))
    return {
        "acknowledged": len(acknowledged),
        "stored": len(stored),
        "lost": len(acknowledged - stored),
        "stored_twice": rows.filter(rows["copies"] > 1).height,
    }


def kill_rounds(folder: Path, rounds: int, *, spans_per_batch: int) -> dict[str, int]:
    """Several rounds on one file, then the comparison."""
    ledger = Ledger(spans_per_batch)
    for _ in range(rounds):
        run_round(folder / "killed.duckdb", ledger)
    return {"rounds": rounds, **compare(folder / "killed.duckdb", ledger)}


def main() -> None:
    """Run the rounds and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--spans", type=int, default=50, help="spans in a batch")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(kill_rounds(Path(folder), options.rounds, spans_per_batch=options.spans)))


if __name__ == "__main__":
    main()
