"""How long questions about outcomes take over many requests and their spans: goodput, failures, compare, quality.

    python -m tests.benchmarks.outcomes [--requests N]

The requests and their stages are those of `tests.benchmarks.tail`; each has ten spans, and one in fifty failed in the
engine.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

from tests.benchmarks.tail import filled
from tracekit.analysis import compare, quality, request_failures, request_goodput
from tracekit.store import Database

_RESOURCES = """
INSERT INTO base.resources (resource_id, identity_hash, service_name, host_name, dropped_attributes_count)
SELECT range, range, CASE WHEN range = 0 THEN 'gateway' ELSE 'vllm' END, 'host-' || range, 0 FROM range(5)
"""
_SPANS = """
INSERT INTO base.spans
SELECT trace_id, CASE WHEN part = 0 THEN root_span_id ELSE unit_id * 10 + part + 1000000000 END,
    CASE part WHEN 0 THEN NULL WHEN 1 THEN root_span_id ELSE unit_id * 10 + 1000000001 END,
    start_ns + part, end_ns - part, CASE part WHEN 0 THEN 'POST /v1/completions' WHEN 1 THEN 'chat' ELSE 'part' END,
    CASE part WHEN 0 THEN 2 WHEN 1 THEN 3 ELSE 1 END,
    CASE WHEN outcome = 'failed' AND part < 3 THEN 2 ELSE 0 END, NULL,
    CASE WHEN part < 2 THEN 0 ELSE 1 + unit_id % 4 END, 0,
    CASE WHEN outcome = 'failed' AND part = 2 THEN {'error.type': '500'}::VARIANT
        WHEN part = 0 THEN attributes END, NULL, 0, 0, 0, 0, 1
FROM base.units, range(10) AS parts (part)
ORDER BY start_ns
"""


def with_spans(requests: int) -> Database:
    """A store in memory with that many requests and ten times as many spans."""
    database = filled(requests)
    with database.transaction() as cursor:
        cursor.execute(_RESOURCES)
        cursor.execute(_SPANS)
    return database


def timed(label: str, question: Callable[[], Any]) -> None:
    """Ask a question twice and print the times on the clock and of processors."""
    figures = []
    for _ in range(2):
        begin, begin_processor = time.perf_counter(), time.process_time()
        answer = question()
        seconds, processor = time.perf_counter() - begin, time.process_time() - begin_processor
        figures.append(f"{seconds:5.2f} s ({processor:5.2f} s of processors)")
    print(f"{label:10s} {', again '.join(figures)}, {answer.verdict}", flush=True)


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000_000)
    requests = parser.parse_args().requests
    half = requests * 10_000_000 // 2
    with with_spans(requests) as database:
        print(f"{requests:,} requests, {10 * requests:,} spans, {10 * requests:,} stage rows")
        timed("goodput", lambda: request_goodput(database, "ttft=200ms,tpot=13ms,e2e=5s"))
        timed("failures", lambda: request_failures(database))
        timed("compare", lambda: compare(database, f"start_ns < {half}", f"start_ns >= {half}"))
        timed("quality", lambda: quality(database))
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
