"""The accuracy suite: `python -m tests.accuracy` (`make accuracy`) scores every answer and writes docs/accuracy.md.

    python -m tests.accuracy [--half scored|tuning] [--processes N] [--rows FILE] [--keep FOLDER] [--no-page]

Every figure follows from the code and the seeds alone. `--half tuning` runs the seeds on which limits may be set and
prints the targets; the page always shows the other half. The whole takes an hour or more of two
processors; with `--keep` a run that was broken off goes on where it was (use a new folder after a change of the code).
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path

from tests.accuracy import figures, page
from tests.accuracy.grid import SCORED_SEEDS, TUNING_SEEDS
from tests.accuracy.jobs import jobs
from tests.accuracy.suite import run


def main() -> None:
    """Run the suite."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("scored", "tuning"), default="scored")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rows", type=Path, help="also write the rows behind the tables to this file")
    parser.add_argument(
        "--keep", type=Path, metavar="FOLDER", help="keep each piece's rows here, and run no piece twice"
    )
    parser.add_argument("--no-page", action="store_true", help="leave docs/accuracy.md as it is")
    asked = parser.parse_args()
    # One thread a process: the processes are the parallelism.
    os.environ |= {"POLARS_MAX_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    seeds = SCORED_SEEDS if asked.half == "scored" else TUNING_SEEDS
    if asked.keep:
        asked.keep.mkdir(parents=True, exist_ok=True)
    tables = run(jobs(seeds), processes=asked.processes, kept=asked.keep)
    if asked.rows:
        asked.rows.write_text(json.dumps(tables), encoding="utf-8")
    if asked.half == "scored" and not asked.no_page:
        page.PAGE.write_text(page.page(tables, seeds=seeds), encoding="utf-8")
    for target in figures.targets(tables):
        print(f"{target.name:48s} {target.wanted:16s} {target.got:10.4f}  {'met' if target.is_met else 'NOT MET'}")


if __name__ == "__main__":
    main()
