"""The benchmark of the partition in short form: it runs, and memory, which does not depend on load, is bounded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def figures() -> dict[str, float]:
    """Figures of a million spans, in a process of its own so that its peak memory is its own."""
    command = [sys.executable, "-m", "tests.benchmarks.partition", "1000000", "--json"]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)


@pytest.mark.parametrize("part", ["critical", "active_last", "priority"])
def test_every_rule_is_measured(figures: dict[str, float], part: str) -> None:
    """Speed is read, not asserted: it depends on what else the machine does."""
    assert figures[part] > 0


def test_memory_is_bounded(figures: dict[str, float]) -> None:
    """The given columns, a forest, its partition and what is read from it: under 300 bytes a span."""
    assert figures["bytes_per_span"] < 300
