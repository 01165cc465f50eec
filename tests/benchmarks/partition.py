"""Speed and memory of the partition on synthetic traces.

Run `python -m tests.benchmarks.partition [SPANS] [--json]` (default 2,000,000). Traces have 21 spans: a
root of 100 ms and descendants at random places, a third of which overlap siblings or leave their parent.
One thread; the compiled code is loaded before the clock starts. Memory is the growth of the peak resident
size, the given columns and all results included.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable

import numpy as np

from tracekit.partition import Forest, owned_segments, partition, priority_sweep

SPANS_PER_TRACE = 21


def columns(traces: int, *, seed: int = 1) -> dict[str, np.ndarray]:
    """Columns of a forest of `traces` random traces."""
    random = np.random.default_rng(seed)
    spans = traces * SPANS_PER_TRACE
    position = np.tile(np.arange(SPANS_PER_TRACE), traces)
    first = np.repeat(np.arange(traces) * SPANS_PER_TRACE, SPANS_PER_TRACE)
    above = first + (random.random(spans) * position * 0.6).astype(np.int64)
    start_ns = first * 50_000 + (random.random(spans) * 8e7).astype(np.int64) * (position > 0)
    duration_ns = 1 + (random.random(spans) ** 3 * 4e7).astype(np.int64)
    return {
        "key": first // SPANS_PER_TRACE,
        "parent": np.where(position == 0, -1, above),
        "start_ns": start_ns,
        "end_ns": start_ns + np.where(position == 0, 100_000_000, duration_ns),
        "tiebreak": random.integers(0, 2**63, spans, dtype=np.uint64),
    }


def peak_bytes() -> int:
    """Largest resident size of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def seconds(work: Callable[[], object]) -> float:
    """Processor time of one run, which other work on the machine disturbs less than wall time."""
    begin = time.thread_time()
    work()
    return time.thread_time() - begin


def measure(spans: int) -> dict[str, float]:
    """Million spans a second of each part, and bytes a span."""
    measured(columns(100))
    before = peak_bytes()
    given = columns(spans // SPANS_PER_TRACE)
    rates = measured(given)
    return rates | {"spans": len(given["key"]), "bytes_per_span": (peak_bytes() - before) / len(given["key"])}


def measured(given: dict[str, np.ndarray]) -> dict[str, float]:
    """Million spans a second of each part on the given columns."""
    forest = Forest.from_columns(**given)
    rates = {rule: seconds(lambda rule=rule: partition(forest, rule=rule)) for rule in ("critical", "active_last")}
    result = partition(forest)
    windows = (result.root_start_ns, result.root_end_ns)
    priority = given["tiebreak"].astype(np.int64) % 5
    operations = (given["key"], given["start_ns"], given["end_ns"], priority)
    rates |= {
        "owned_segments": seconds(lambda: owned_segments(result)),
        "priority": seconds(lambda: priority_sweep(*operations, *windows)),
    }
    return {name: forest.row_count / taken / 1e6 for name, taken in rates.items()}


if __name__ == "__main__":
    count = int(next((argument for argument in sys.argv[1:] if argument.isdigit()), 2_000_000))
    figures = measure(count)
    if "--json" in sys.argv:
        print(json.dumps(figures))
    else:
        for name, figure in figures.items():
            print(f"{name:16s} {figure:14,.2f}")
