"""Speed of ingest, file to durable store, and the size of what is stored.

Run `python -m tests.benchmarks.ingest [--spans N] [--format protobuf|json] [--folder F] [--json]`.
The mix of spans is described in `ingest_traces`. A small file is ingested into another store first, so that
compiled code is loaded before the clock starts. The clock stops when `ingest` returns, all of it durable, and
includes closing the store, which folds the log into the file. `cpu_us_per_span` is processor time of all
threads, which other work on the machine disturbs less than wall time. `again_spans_per_s` is the same file
once more: nothing but duplicates.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.benchmarks.ingest_traces import write_files
from tracekit.ingest import ingest
from tracekit.store import Database

WARM_UP_SPANS = 2_000


@dataclass(frozen=True)
class Measured:
    """One run."""

    encoding: str
    spans: int
    file_bytes_per_span: float
    spans_per_s: float
    cpu_us_per_span: float
    stored_bytes_per_span: float
    again_spans_per_s: float
    peak_memory_bytes: int


def measure(folder: Path, *, spans: int, encoding: str) -> Measured:
    """Write the file, ingest it twice, and say how it went."""
    warm_up = write_files(folder, spans=WARM_UP_SPANS, encoding=encoding)
    file = write_files(folder, spans=spans, encoding=encoding, seed=2)
    timed(folder / "warm_up.duckdb", warm_up, spans=WARM_UP_SPANS)
    seconds, cpu_seconds = timed(folder / "store.duckdb", file, spans=spans)
    stored_bytes = (folder / "store.duckdb").stat().st_size
    again_seconds, _ = timed(folder / "store.duckdb", file, spans=0)
    return Measured(
        encoding=encoding,
        spans=spans,
        file_bytes_per_span=round(file.stat().st_size / spans, 1),
        spans_per_s=round(spans / seconds),
        cpu_us_per_span=round(cpu_seconds / spans * 1e6, 2),
        stored_bytes_per_span=round(stored_bytes / spans, 1),
        again_spans_per_s=round(spans / again_seconds),
        peak_memory_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def timed(store: Path, file: Path, *, spans: int) -> tuple[float, float]:
    """Wall and processor seconds to ingest a file, which must add `spans` spans to the store."""
    with Database.open(store) as database:
        begin, cpu_begin = time.perf_counter(), time.process_time()
        report = ingest(database, [file])
    seconds, cpu_seconds = time.perf_counter() - begin, time.process_time() - cpu_begin
    if report.spans != spans or not report.is_complete:
        raise AssertionError(f"expected {spans} new spans: {report.as_dict()}")
    return seconds, cpu_seconds


def main() -> None:
    """Measure what the command line asks for and print it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--spans", type=int, default=1_000_000, help="spans in the file, a multiple of 10")
    parser.add_argument("--format", choices=("protobuf", "json"), default="protobuf")
    parser.add_argument("--folder", type=Path, help="where to put files and store (default: a temporary one)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        measured = asdict(measure(Path(folder), spans=chosen.spans, encoding=chosen.format))
    if chosen.json:
        print(json.dumps(measured))
    else:
        for name, value in measured.items():
            print(f"{name:22} {value if isinstance(value, str) else format(value, ','):>16}")


if __name__ == "__main__":
    main()
