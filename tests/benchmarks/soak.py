"""A day in small: senders at a moderate rate, dashboards that ask again and again, and every hostile question in turn.

    python -m tests.benchmarks.soak [--seconds 600] [--rate 20000] [--senders 64]

Prints a line of JSON for each tenth of the time: acknowledgements and how fast, refusals, the server's memory, the size
of its files and how far the units were behind; at the end what the store holds against what was acknowledged.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import re
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from tests.benchmarks.overload import Ledger, compare, overload
from tests.benchmarks.receive_load import SPANS_PER_BATCH
from tests.conformance.hostile_questions import QUESTIONS, ask, resident_bytes
from tests.conformance.process import ServeProcess

_PERIODS = 10
_HOSTILE_LIMIT_S = 5.0
_DASHBOARD_PAUSE_S = 2.0
_DASHBOARD = (
    ("tail", {"arguments": ["e2e"]}),
    ("quality", {}),
    ("failures", {}),
    ("goodput", {"options": {"slo": "e2e=2s"}}),
)
_BEHIND = re.compile(r"^tracekit_units_behind\S* (\S+)$", re.MULTILINE)


class Askers:
    """A dashboard and somebody who asks what should not be asked, each in a thread until closed."""

    def __init__(self, server: ServeProcess) -> None:
        self._server = server
        self._over = threading.Event()
        self.answered: list[tuple[int, float]] = []
        """Status and seconds of each answer of the dashboard."""
        self._threads = [threading.Thread(target=each) for each in (self._look, self._attack)]
        for thread in self._threads:
            thread.start()

    def _look(self) -> None:
        for name, body in itertools.cycle(_DASHBOARD):
            if self._over.wait(_DASHBOARD_PAUSE_S):
                return
            payload = json.dumps(body).encode()
            path = f"/api/answers/{name}"
            began = time.monotonic()
            status, _ = self._server.post(payload, path, **{"Content-Type": "application/json"})
            self.answered.append((status, time.monotonic() - began))

    def _attack(self) -> None:
        for statement in itertools.cycle(QUESTIONS.values()):
            if self._over.is_set():
                return
            ask(self._server, statement, seconds=_HOSTILE_LIMIT_S)

    def close(self) -> None:
        """Let what was asked end."""
        self._over.set()
        for thread in self._threads:
            thread.join()


def period(server: ServeProcess, ledger: Ledger, askers: Askers) -> dict[str, float | int | None]:
    """How the period that just ended went; empties the latencies and the dashboard's statuses."""
    times_s, ledger.latencies_s = ledger.latencies_s, []
    looked, askers.answered = askers.answered, []
    p50, p99, most = np.quantile(times_s, [0.5, 0.99, 1]) if times_s else (0.0,) * 3
    behind = _BEHIND.search(server.ask("/metrics")[1])
    return {
        "acknowledged_spans": len(times_s) * SPANS_PER_BATCH,
        "ack_p50_ms": round(float(p50) * 1e3),
        "ack_p99_ms": round(float(p99) * 1e3),
        "ack_max_ms": round(float(most) * 1e3),
        "refusals": ledger.refusals,
        "dashboard_answers": len(looked),
        "dashboard_refusals": sum(status != 200 for status, _ in looked),
        "dashboard_max_s": round(max((seconds for _, seconds in looked), default=0.0), 1),
        "resident_mib": resident_bytes(server.process.pid) >> 20,
        "units_behind_ms": float(behind[1]) if behind else None,
    }


def file_bytes(path: Path) -> int:
    """The store with its log and what was spilled beside it."""
    return sum(each.stat().st_size for each in path.parent.rglob("*") if each.is_file())


async def soak(server: ServeProcess, path: Path, ledger: Ledger, options: argparse.Namespace) -> None:
    """Send and ask for the whole time, and print how each period went."""
    askers = Askers(server)
    sending = asyncio.create_task(
        overload(ledger, server.http_port, spans_per_s=options.rate, senders=options.senders, seconds=options.seconds)
    )
    for number in range(_PERIODS):
        await asyncio.sleep(options.seconds / _PERIODS)
        found = await asyncio.to_thread(period, server, ledger, askers)
        print(json.dumps({"period": number + 1, **found, "file_mib": file_bytes(path) >> 20}), flush=True)
    await sending
    await asyncio.to_thread(askers.close)


def main() -> None:
    """Soak a server with its app, and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--rate", type=float, default=20_000, help="spans a second of all senders together")
    parser.add_argument("--senders", type=int, default=64)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "soak.duckdb"
        server = ServeProcess(path, "--ui", "0")
        ledger = Ledger()
        asyncio.run(soak(server, path, ledger, options))
        began = time.monotonic()
        code = server.stop()
        stopped = {"exit_code": code, "stop_s": round(time.monotonic() - began, 1), "dropped": ledger.dropped}
        print(json.dumps({**stopped, "unanswered": ledger.unanswered, **compare(path, ledger)}))
        print("".join(server.errors))


if __name__ == "__main__":
    main()
