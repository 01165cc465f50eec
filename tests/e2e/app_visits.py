"""Opening a page of the app without a browser, on a store made of the sample traces."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import tracekit as tk

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.name for path in (ROOT / "app" / "app_pages").glob("*.py"))
OVERLOAD = {"attribute": "scenario", "value": "overload", "against": "scenario = steady"}

Visit = Callable[..., AppTest]


@pytest.fixture(scope="module")
def sample_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of both sample captures."""
    path = tmp_path_factory.mktemp("store") / "samples.duckdb"
    with tk.open(path) as store:
        store.ingest(ROOT / "sample_traces")
    return path


@pytest.fixture(scope="module")
def slow_trace(sample_store: Path) -> str:
    """The slowest request of the samples."""
    with tk.open(sample_store, read_only=True) as store:
        return store.query("explore/slowest_units", kind="request", limit=1)["trace_id"].item()


@pytest.fixture
def visit(monkeypatch: pytest.MonkeyPatch, sample_store: Path) -> Iterator[Visit]:
    """Open a page of the app with parameters in its address, on the samples or another store."""
    monkeypatch.setattr(sys, "path", [str(ROOT / "app"), *sys.path])

    def visit_page(page: str, *, store: Path = sample_store, **parameters: str) -> AppTest:
        monkeypatch.setenv("TRACEKIT_DB", str(store))
        app = AppTest.from_file(str(ROOT / "app" / "main.py"), default_timeout=60)
        app.switch_page(f"app_pages/{page}")
        for name, value in parameters.items():
            app.query_params[name] = value
        return app.run()

    return visit_page


def said(app: AppTest) -> str:
    """All text of a page."""
    kinds = (app.title, app.subheader, app.markdown, app.caption, app.info, app.warning, app.error)
    return "\n".join(str(element.value) for elements in kinds for element in elements)
