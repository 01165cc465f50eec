"""Questions that would stop a server, and how its senders fare while they run.

python -m tests.conformance.hostile_questions [--seconds 5]
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from tests.conformance import exports
from tests.conformance.process import ServeProcess

QUESTIONS = {
    "cross_join": "SELECT count(*) FROM range(10000000) a, range(10000000) b WHERE a.range + b.range < 0",
    "long_values": "SELECT repeat('x', 16000) || repeat('y', 16000) || repeat('z', 16000) FROM range(20000)",
    "many_terms": "SELECT max(length(" + "||".join(["v"] * 300) + ")) "
    "FROM (SELECT repeat('x', 16000) || range AS v FROM range(1000000))",
    "longer_values": "SELECT repeat('x', 1000000) || range FROM range(20000)",
    "sort": "SELECT count(*) FROM (SELECT hash(range) AS h FROM range(300000000) ORDER BY h LIMIT 200000000)",
    "groups": "SELECT count(*) FROM (SELECT hash(range), count(*) FROM range(300000000) GROUP BY 1)",
    "recursion": "WITH RECURSIVE t(x) AS (SELECT 1::HUGEINT UNION ALL SELECT x + 1 FROM t WHERE x < 1e12) "
    "SELECT count(*) FROM t",
    "growing_recursion": "WITH RECURSIVE t(x, y) AS (SELECT 1, repeat('a', 1000) UNION SELECT x + 1, y || x FROM t) "
    "SELECT count(*) FROM t",
    "list": "SELECT list(range) FROM range(1000000000)",
    "text": "SELECT string_agg(repeat('x', 1000)) FROM range(100000000)",
    "median": "SELECT median(range) FROM range(500000000)",
    "expression": "SELECT regexp_matches(repeat('a', 100000) || range, '(a|aa)+$') FROM range(1000000)",
    "series": "SELECT sum(generate_series) FROM generate_series(1, 1000000000000)",
    "join": "SELECT count(*) FROM range(100000000) a JOIN range(100000000) b ON hash(a.range) = hash(b.range)",
    "window": "SELECT max(s) FROM (SELECT sum(range) OVER (ORDER BY hash(range)) AS s FROM range(100000000))",
}
ASKERS = 4


def ask(server: ServeProcess, statement: str, *, seconds: float, path: str = "/api/sql") -> tuple[int, bytes]:
    """Ask with a time limit: status and body."""
    body = json.dumps({"sql": statement, "time_limit_s": seconds, "row_limit": 1_000_000})
    return server.post(body.encode(), path, **{"Content-Type": "application/json"})


def fare(server: ServeProcess, statement: str, *, seconds: float) -> dict[str, Any]:
    """Ask from several askers at once, again and again, and send meanwhile: how the senders fared."""
    over = threading.Event()

    def keep_asking() -> None:
        while not over.is_set():
            ask(server, statement, seconds=seconds)

    askers = [threading.Thread(target=keep_asking) for _ in range(ASKERS)]
    for asker in askers:
        asker.start()
    statuses: list[int] = []
    said: set[str] = set()
    times_s: list[float] = []
    sizes: list[int] = []
    until = time.monotonic() + seconds
    with closing(http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=60)) as connection:
        while time.monotonic() < until:
            payload = exports.traces(50)
            began = time.monotonic()
            connection.request("POST", "/v1/traces", payload, {"Content-Type": "application/x-protobuf"})
            response = connection.getresponse()
            body = response.read()
            if response.status != 200:
                said.add(f"{response.status} {body[:300]!r}")
            times_s.append(time.monotonic() - began)
            statuses.append(response.status)
            sizes.append(resident_bytes(server.process.pid))
    over.set()
    for asker in askers:
        asker.join()
    return {
        "sent": len(statuses),
        "refused": sum(status != 200 for status in statuses),
        "p50_ms": round(float(np.quantile(times_s, 0.5)) * 1e3),
        "p99_ms": round(float(np.quantile(times_s, 0.99)) * 1e3),
        "peak_mib": max(sizes) >> 20,
        "said": "; ".join(sorted(said)),
    }


def resident_bytes(pid: int) -> int:
    """Memory that a process has now."""
    pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * 4096


def main() -> None:
    """Ask every question and print one line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--only", action="append")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        server = ServeProcess(Path(folder) / "asked.duckdb", "--no-ui")
        for name in options.only or QUESTIONS:
            figures = fare(server, QUESTIONS[name], seconds=options.seconds)
            print(json.dumps({"question": name, **figures}), flush=True)
        server.stop()
        print("".join(server.errors))


if __name__ == "__main__":
    main()
