"""Compiled code that is kept on disk is used again, and only while it is current."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INNER = "from tracekit.kernels import kernel\n\n@kernel\ndef inner(value):\n    return value + {added}\n"
OUTER = (
    "from inner import inner\nfrom tracekit.kernels import kernel\n\n"
    "@kernel\ndef outer(value):\n    return inner(value)\n"
)
CALL = "from outer import outer\nprint(outer(1), sum(outer.stats.cache_hits.values()))\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files, of which one calls a kernel of the other, and a script that calls the caller."""
    (tmp_path / "inner.py").write_text(INNER.format(added=1))
    (tmp_path / "outer.py").write_text(OUTER)
    (tmp_path / "call.py").write_text(CALL)
    return tmp_path


def call(folder: Path) -> str:
    """Output of the script in a fresh process: the value and how often kept code was used."""
    environment = {"PYTHONPATH": str(ROOT), "HOME": str(folder)}
    command = [sys.executable, str(folder / "call.py")]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.strip()


def test_kept_code_is_used_by_the_next_process(folder: Path) -> None:
    """Otherwise every command would wait for the compiler."""
    assert call(folder) == "2 0"
    assert call(folder) == "2 1"


def test_a_change_in_a_neighbouring_file_is_noticed(folder: Path) -> None:
    """Otherwise an update of one file would leave its callers computing with the old one."""
    assert call(folder) == "2 0"
    (folder / "inner.py").write_text(INNER.format(added=5))
    assert call(folder) == "6 0"
