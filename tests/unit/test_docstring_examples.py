"""The examples in public docstrings do what they show."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracekit

ROOT = Path(__file__).resolve().parents[2]

PUBLIC = [
    tracekit.open,
    tracekit.TailAnswer.chart,
    *(method for name, method in inspect.getmembers(tracekit.Store, callable) if not name.startswith("_")),
]


@pytest.fixture(scope="module")
def store() -> Iterator[tracekit.Store]:
    """A store with both sample captures, which examples call `store`."""
    with tracekit.open(None) as opened:
        opened.ingest(ROOT / "sample_traces")
        yield opened


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.__qualname__)
def test_examples_run(public: object, store: tracekit.Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every public function shows its use, and the result is the one it shows."""
    (tmp_path / "sample_traces").symlink_to(ROOT / "sample_traces")
    monkeypatch.chdir(tmp_path)
    known = {"store": store, "Store": tracekit.Store}
    (example,) = doctest.DocTestFinder(recurse=False).find(public, "example", globs=known)
    assert example.examples
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL)
    told: list[str] = []
    runner.run(example, out=told.append)
    assert not runner.failures, "".join(told)
