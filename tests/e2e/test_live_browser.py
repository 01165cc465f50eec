"""The app while spans arrive: an empty store tells how to send, what is new is counted, and stores can be changed."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracekit as tk
from tests.conformance import exports
from tests.conformance.process import ServeProcess
from tests.e2e.chromium import browser, needs_browser, sync_api
from tests.e2e.visits import PAGE_MS, Visit, context, visit

__all__ = ["browser", "context", "visit"]

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.e2e, needs_browser]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServeProcess]:
    """A server over an empty store of its own."""
    server = ServeProcess(tmp_path / "live.duckdb", "--ui", "0")
    yield server
    server.stop()


def test_a_store_that_fills_is_followed_without_losing_the_place(
    context: sync_api.BrowserContext, server: ServeProcess
) -> None:
    """The line that the empty page gives sends a span, which appears by itself; later ones are counted until asked
    for, and the question in the address stays."""
    page = context.new_page()
    page.set_default_timeout(PAGE_MS)
    looked = Visit(page, f"http://127.0.0.1:{server.app_port}").open("/tail?metric=e2e")
    assert f"http://127.0.0.1:{server.http_port}" in looked.text
    assert f"127.0.0.1:{server.grpc_port}" in looked.text
    (by_hand,) = (code for code in page.locator("pre").all_inner_texts() if "curl" in code)
    subprocess.run(["bash", "-ec", by_hand], check=True, capture_output=True)
    page.get_by_text("The only request takes 250 ms from end to end").wait_for()
    server.post(exports.traces(3))
    page.get_by_role("button", name="3 new spans · refresh").click()
    page.get_by_text("of 4 requests").or_(page.get_by_text("All 4 requests")).first.wait_for()
    page.get_by_text("Nothing new.").wait_for()
    assert "metric=e2e" in page.url
    assert not looked.errors
    page.close()


@pytest.fixture
def several(tmp_path: Path) -> Iterator[str]:
    """Where `tracekit app` serves two stores: one of the serving samples, one of the training samples."""
    paths = {"serving": "vllm_gateway", "training": "train_ddp_gloo"}
    for name, sample in paths.items():
        with tk.open(tmp_path / f"{name}.duckdb") as store:
            store.ingest(ROOT / "sample_traces" / sample)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tracekit", "app", "--ui", str(port), *(f"{name}.duckdb" for name in paths)]
    app = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}", app)
        yield f"http://127.0.0.1:{port}"
    finally:
        app.terminate()
        app.wait(timeout=30)


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


def test_one_of_several_stores_is_chosen_and_linked_to(context: sync_api.BrowserContext, several: str) -> None:
    """The choice is part of the address on every page, and a link to a store that is not open says so."""
    page = context.new_page()
    page.set_default_timeout(PAGE_MS)
    looked = Visit(page, several).open("/")
    assert "286" in looked.text
    page.locator("[data-testid=stSidebar]").get_by_role("combobox").click()
    page.get_by_role("option", name="training").click()
    page.wait_for_url("**store=training**")
    page.get_by_text("Slow training steps").wait_for()
    looked.turn_to("Ledger")
    page.wait_for_url("**store=training**")
    assert "Job 'job-a'" in looked.text
    looked.open("/tail?store=training&metric=step")
    assert "of 340 steps" in looked.text
    page.goto(f"{several}/?store=yesterday")
    page.get_by_text("the app was opened on serving, training").wait_for()
    page.close()
