"""All benchmarks one after the other: `python -m tests.benchmarks [--short]` (`make bench`).

Each prints what it measured and on what; the modules say how. `--short` takes a tenth of the size and shows only that
they run.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

SIZES = {
    "commands": ("--spans", 300_000),
    "decode": ("--spans", 200_000),
    "ingest --format protobuf": ("--spans", 1_000_000),
    "ingest --format json": ("--spans", 1_000_000),
    "partition": ("", 2_000_000),
    "units --mix genai": ("--traces", 100_000),
    "units --mix generic": ("--traces", 100_000),
    "tail": ("--requests", 1_000_000),
    "outcomes": ("--requests", 1_000_000),
}


def main() -> None:
    """Run every benchmark in a process of its own, so that none finds memory or code of another."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a tenth of the size")
    divisor = 10 if parser.parse_args().short else 1
    for name, (option, size) in SIZES.items():
        module, *options = name.split()
        sized = [option, str(size // divisor)] if option else [str(size // divisor)]
        print(f"== {name} {' '.join(sized)}", flush=True)
        subprocess.run([sys.executable, "-m", f"tests.benchmarks.{module}", *options, *sized], check=True)


if __name__ == "__main__":
    main()
