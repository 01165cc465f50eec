"""Fixtures that every test may use."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where several processes share the tests, those of one file stay in one, and all that measure do."""
    for item in items:
        group = "measured" if _folder(item) in MEASURED else _together(item)
        item.add_marker(pytest.mark.xdist_group(group))
    if hasattr(config, "workerinput"):
        tests_of = Counter(item.path for item in items)
        items.sort(key=lambda item: (_turn(item), -tests_of[item.path], item.path))


def _together(item: pytest.Item) -> str:
    """Tests in a browser share its servers, all others those of their file."""
    return "browser" if item.path.stem.endswith("_browser") else str(item.path.relative_to(ROOT))


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
