"""Runs the jobs of the suite on some processes and collects their rows by table."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from tests.accuracy.jobs import Job, Rows


def run(jobs: Iterable[Job], *, processes: int, kept: Path | None = None) -> dict[str, Rows]:
    """The rows of all jobs by table, in the order of the jobs whatever order they end in.

    `kept`: a folder where each job's rows are written when it ends; what is there already is not run again.
    An exception in a job ends the run.
    """
    listed = list(jobs)
    begin = time.perf_counter()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        pending = {pool.submit(_rows, job, kept): number for number, job in enumerate(listed)}
        done = {}
        for future in as_completed(pending):
            done[pending[future]] = future.result()
            elapsed_s = time.perf_counter() - begin
            print(f"\r{len(done)} of {len(listed)} pieces, {elapsed_s:.0f} s", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    tables: dict[str, Rows] = defaultdict(list)
    for number, job in enumerate(listed):
        tables[job.table] += done[number]
    return dict(tables)


def _rows(job: Job, kept: Path | None) -> Rows:
    if kept is None:
        return job()
    file = kept / f"{job.table}-{hashlib.sha256(repr(job).encode()).hexdigest()[:16]}.json"
    if not file.exists():
        # Written beside and moved: a run that is broken off leaves no half of a piece.
        beside = file.with_suffix(".part")
        beside.write_text(json.dumps(job()), encoding="utf-8")
        beside.replace(file)
    return json.loads(file.read_text(encoding="utf-8"))
