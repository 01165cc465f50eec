"""Runs the jobs of the suite on some processes and collects their rows by table."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed

from tests.accuracy.jobs import Job, Rows


def run(jobs: Iterable[Job], *, processes: int) -> dict[str, Rows]:
    """The rows of all jobs by table, in the order of the jobs whatever order they end in.

    An exception in a job ends the run.
    """
    listed = list(jobs)
    begin = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        pending = {pool.submit(job): number for number, job in enumerate(listed)}
        done = {}
        for future in as_completed(pending):
            done[pending[future]] = future.result()
            elapsed_s = time.perf_counter() - begin
            print(f"\r{len(done)} of {len(listed)} pieces, {elapsed_s:.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    tables: dict[str, Rows] = defaultdict(list)
    for number in range(len(listed)):
        table, rows = done[number]
        tables[table] += rows
    return dict(tables)
