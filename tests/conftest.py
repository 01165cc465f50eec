"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", max_examples=2000, deadline=None, suppress_health_check=list(HealthCheck))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

ROOT = Path(__file__).resolve().parent.parent


MEASURED = ("conformance", "interop", "benchmarks")
"""Folders whose tests start servers, measure time or kill processes: never two of them at once."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Where several processes share the tests, those of one file stay in one, and all that measure do."""
    for item in items:
        folder, *_ = item.path.relative_to(ROOT / "tests").parts
        group = "measured" if folder in MEASURED else str(item.path.relative_to(ROOT))
        item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real traces with right answers that lies beside a development checkout."""
    folder = Path(os.environ.get("TRACEKIT_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"real traces with right answers are not at {folder} (set TRACEKIT_SHARED_DATA)")
    return folder
