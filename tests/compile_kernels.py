"""Run what tests run first, once: numba keeps the compiled kernels beside their sources for all processes after.

python -m tests.compile_kernels
"""

from __future__ import annotations

from pathlib import Path

import tracekit

SAMPLES = Path(__file__).resolve().parents[1] / "sample_traces"


def main() -> None:
    """Ingest the sample traces and ask every question about them."""
    with tracekit.open(None) as store:
        store.ingest(SAMPLES)
        store.report()


if __name__ == "__main__":
    main()
