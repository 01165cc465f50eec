"""Processor time of whole commands, as users pay it: start, one file, many small files, the first after installation.

    python -m tests.benchmarks.commands [--spans N] [--files N] [--runs N] [--beside CHECKOUT] [--cold]

Each command runs as a process of its own; what counts is its user and system time together with that of its children,
which other work on the machine disturbs less than time on the clock. With `--beside` the commands of another checkout
run in turn with these. `--cold` compiles all kernels anew, in an empty cache. Figures are minimum and median.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.ingest_traces import write_files

_ROOT = Path(__file__).resolve().parents[2]
_START_SPANS = 1000
_LENGTH_BYTES = 4


@dataclass(frozen=True)
class Spent:
    """What a process took: processor seconds, and bytes of the store that it left."""

    cpu_s: float
    stored_bytes: int


def spent(checkout: Path, source: Path, folder: Path, *, cache: Path | None = None) -> Spent:
    """Run `tracekit ingest` of a checkout on a fresh store."""
    store = folder / "store.duckdb"
    store.unlink(missing_ok=True)
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    command = [sys.executable, "-m", "tracekit", "ingest", str(source), "--db", str(store), "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder, env=environment
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return Spent(usage.ru_utime + usage.ru_stime, store.stat().st_size)


def split(source: Path, folder: Path, count: int) -> Path:
    """The messages of a file in `count` files of about as many each."""
    content, messages, at = source.read_bytes(), [], 0
    while at < len(content):
        end = at + _LENGTH_BYTES + int.from_bytes(content[at : at + _LENGTH_BYTES], "big")
        messages.append(content[at:end])
        at = end
    folder.mkdir()
    for number in range(count):
        part = messages[number * len(messages) // count : (number + 1) * len(messages) // count]
        (folder / f"capture-{number:04}.pb").write_bytes(b"".join(part))
    return folder


def told(name: str, checkout: Path, runs: list[Spent], spans: int) -> None:
    """Print a line of JSON."""
    seconds = [run.cpu_s for run in runs]
    print(
        json.dumps({
            "command": name, "checkout": checkout.name, "runs": len(runs), "cpu_s_min": round(min(seconds), 2),
            "cpu_s_median": round(statistics.median(seconds), 2), "us_per_span": round(min(seconds) / spans * 1e6, 1),
            "bytes_per_span": round(runs[0].stored_bytes / spans, 1),
        }),
        flush=True,
    )  # fmt: skip


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=300_000, help="spans in the file, a multiple of 10")
    parser.add_argument("--files", type=int, default=705)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--beside", type=Path, help="another checkout to measure in turn")
    parser.add_argument("--cold", action="store_true")
    chosen = parser.parse_args()
    checkouts = [_ROOT, *([chosen.beside.resolve()] if chosen.beside else [])]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small = write_files(folder, spans=_START_SPANS, encoding="protobuf")
        if chosen.cold:
            for number, checkout in enumerate(checkouts):
                told("first", checkout, [spent(checkout, small, folder, cache=folder / f"cache{number}")], _START_SPANS)
            return
        whole = write_files(folder, spans=chosen.spans, encoding="protobuf", seed=2)
        many = split(whole, folder / "many", chosen.files)
        for checkout in checkouts:
            spent(checkout, small, folder)
        sizes = {"start": (small, _START_SPANS), "one file": (whole, chosen.spans), "many files": (many, chosen.spans)}
        for label, (source, spans) in sizes.items():
            taken = [[spent(checkout, source, folder) for checkout in checkouts] for _ in range(chosen.runs)]
            for place, checkout in enumerate(checkouts):
                told(label, checkout, [runs[place] for runs in taken], spans)


if __name__ == "__main__":
    main()
