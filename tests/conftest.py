"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

ROOT = Path(__file__).resolve().parent.parent


MEASURED = ("conformance", "interop", "benchmarks")
"""Folders whose tests start servers, measure time or kill processes: never two of them at once."""
LONG = (*MEASURED, "e2e", "accuracy")
"""Folders of few tests that take long. They come first: one that began last would run alone at the end."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Where several processes share the tests, those of one group stay in one: see `_group`.

    A scheduler of our own: pytest 9.2 keeps pytest-xdist 3.8 from writing its `xdist_group` into the names of tests.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Grouped(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return _group(Path(nodeid.partition("::")[0]))

    return Grouped(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Long tests first where several processes share them, and the files of many tests before those of few."""
    if hasattr(config, "workerinput"):
        tests_of = Counter(item.path for item in items)
        items.sort(key=lambda item: (_turn(item), -tests_of[item.path], item.path))


def _group(path: Path) -> str:
    """What measures is one group, tests in a browser share its servers, all others are grouped by file."""
    if path.parts[1] in MEASURED:
        return "measured"
    return "browser" if path.stem.endswith("_browser") else str(path)


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(ROOT / "tests").parts[0]


def _turn(item: pytest.Item) -> int:
    folder = _folder(item)
    return LONG.index(folder) if folder in LONG else len(LONG)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real traces with right answers that lies beside a development checkout."""
    folder = Path(os.environ.get("TRACEKIT_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real traces with right answers are not at {folder} (set TRACEKIT_SHARED_DATA)")
    return folder
