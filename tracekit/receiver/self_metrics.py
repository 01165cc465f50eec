"""The receiver's own counters, stored like everybody else's metrics."""

from __future__ import annotations

import threading
import time

from tracekit.receiver.committer import Committer
from tracekit.receiver.counters import Counters
from tracekit.receiver.export import Export
from tracekit.receiver.exposition import metrics_request


class SelfMetrics:
    """A thread that sends the counters through the receiver's own queue from time to time, and at the end."""

    def __init__(self, counters: Counters, committer: Committer, *, interval_s: float) -> None:
        self._counters = counters
        self._committer = committer
        self._interval_s = interval_s
        self._started_ns = time.time_ns()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tracekit-self-metrics", daemon=True)

    def start(self) -> None:
        """Start sending."""
        self._thread.start()

    def close(self) -> None:
        """Send once more and stop; the committer must still be running."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(self._interval_s):
            self._send()
        self._send()

    def _send(self) -> None:
        payload = metrics_request(self._counters, started_ns=self._started_ns)
        export = Export("metrics", "protobuf", payload, "self")
        self._committer.submit(export)
        export.answer.result()
