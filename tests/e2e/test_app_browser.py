"""What only a browser does: the installed command serves the app, a click on a bar proves a stage."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import tracekit as tk
from tests.e2e.chromium import CHROMIUM, browser, sync_api

__all__ = ["browser"]

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium found (set CHROMIUM to its path)"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where `tracekit app` serves a store of the sample traces."""
    path = tmp_path_factory.mktemp("store") / "samples.duckdb"
    with tk.open(path) as store:
        store.ingest(ROOT / "sample_traces")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tracekit", "app", "--db", str(path), "--ui", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}", server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(timeout=30)


def wait_until_it_answers(url: str, server: subprocess.Popen[bytes]) -> None:
    """Until the app's health check answers; fails when the command ends before that."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        assert server.poll() is None, f"the command ended with {server.returncode}"
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=5):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
    pytest.fail(f"nothing answers at {url}")


@pytest.fixture
def page(browser: sync_api.Browser) -> Iterator[sync_api.Page]:
    """A page that waits for what it is asked about."""
    page = browser.new_page(viewport={"width": 1400, "height": 2600})
    page.set_default_timeout(60_000)
    yield page
    page.close()


def test_a_click_on_a_bar_shows_its_proof_and_its_link(page: sync_api.Page, address: str) -> None:
    """From the chart to the traces that prove it, and into the address, in one click."""
    page.goto(f"{address}/tail?metric=ttft&quantile=0.9")
    page.locator("path[aria-roledescription='bar'][aria-label*='eng.queue']").first.click()
    page.get_by_text("The slow ones with the most time in eng.queue").wait_for()
    assert "stage=eng.queue" in page.url


def test_nothing_is_fetched_from_elsewhere(page: sync_api.Page, address: str) -> None:
    """The app works without a network and tells nobody what is looked at."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{address}/")
    page.get_by_text("What arrived").wait_for()
    hosts = {urlsplit(url).hostname for url in asked if not url.startswith(("data:", "blob:"))}
    assert hosts == {"127.0.0.1"}
