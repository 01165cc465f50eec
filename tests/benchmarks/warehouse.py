"""What a warehouse costs beside a store of one file, on files of synthetic request traces (`ingest_traces`).

    python -m tests.benchmarks.warehouse [--spans 300000] [--files 6] [--folder DIR]

Prints processor time of `tracekit ingest` and of `tracekit build` with one process for the same files, bytes a span of
both, and the time to open the warehouse and to ask `tail`, in a fresh process each.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.ingest_traces import write_files

ASKED = """
import sys, time
import tracekit
begun = time.perf_counter(), time.process_time()
store = tracekit.open(sys.argv[1], read_only=True)
opened = time.perf_counter(), time.process_time()
store.tail("e2e")
asked = time.perf_counter(), time.process_time()
store.tail("e2e")
again = time.perf_counter(), time.process_time()
steps = {"open": (begun, opened), "first tail": (opened, asked), "second tail": (asked, again)}
for name, (one, other) in steps.items():
    print(f"{name}: {other[0] - one[0]:.2f} s, {other[1] - one[1]:.2f} s of processor time")
"""
BUILT = """
import sys
from tracekit.warehouse import LocalEngine, build
print(build(sys.argv[1], sys.argv[2:], engine=LocalEngine(1)).report.spans)
"""


def made(folder: Path, *, spans: int, files: int) -> list[Path]:
    """Files of length-prefixed protobuf, each with its share of the spans."""
    paths = []
    for number in range(files):
        path = folder / f"{number:03d}.pb"
        if not path.exists():
            write_files(folder, spans=spans // files // 10 * 10, encoding="protobuf", seed=number + 1).rename(path)
        paths.append(path)
    return paths


def processor_s(command: list[str | Path]) -> tuple[float, float]:
    """Processor time of a command, and the most memory of it in MiB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, after.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--spans", type=int, default=300_000)
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    folder = chosen.folder or Path(tempfile.mkdtemp())
    sources = folder / "sources"
    sources.mkdir(parents=True, exist_ok=True)
    paths = made(sources, spans=chosen.spans, files=chosen.files)
    file, warehouse = folder / "store.duckdb", folder / "warehouse"
    build_s, memory = processor_s([sys.executable, "-c", BUILT, warehouse, *paths])
    local_s, _ = processor_s([sys.executable, "-m", "tracekit", "ingest", *map(str, paths), "--db", file])
    per = 1e6 / chosen.spans
    print(f"processor time a span: store {local_s * per:.1f} µs, warehouse {build_s * per:.1f} µs")
    print(f"the warehouse took {build_s / local_s:.2f} times the store")
    print(f"most memory of the build: {memory:.0f} MiB")
    manifest = json.loads((warehouse / "manifest.json").read_text())
    stored = sum(each["size_bytes"] for part in manifest["parts"] for each in part["files"])
    print(f"bytes a span: store {file.stat().st_size / chosen.spans:.1f}, warehouse {stored / chosen.spans:.1f}")
    for path in (file, warehouse):
        print(path.name)
        subprocess.run([sys.executable, "-c", ASKED, path], check=True, env=os.environ)


if __name__ == "__main__":
    main()
