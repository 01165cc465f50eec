"""The server with its app in a real browser: the token, and stopping while somebody looks."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance import exports
from tests.conformance.process import ServeProcess
from tests.e2e.chromium import browser, needs_browser, sync_api
from tracekit.store import Database

__all__ = ["browser"]

SECRET = "a-token-nobody-guesses"
STOP_S = 20

pytestmark = [pytest.mark.e2e, needs_browser]


class ServedApp:
    """A server with a token, its app, and one batch of spans."""

    def __init__(self, database: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.database = database
        self.address = f"http://127.0.0.1:{port}"
        self.server = ServeProcess(database, "--ui", str(port), "--token", SECRET)
        status, _ = self.server.post(exports.traces(20), Authorization=f"Bearer {SECRET}")
        assert status == 200


@pytest.fixture
def app(tmp_path: Path) -> Iterator[ServedApp]:
    served = ServedApp(tmp_path / "store.duckdb")
    yield served
    if served.server.process.poll() is None:
        served.server.kill()


@pytest.fixture
def page(browser: sync_api.Browser) -> Iterator[sync_api.Page]:
    """A page with cookies of its own."""
    context = browser.new_context()
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def test_the_app_opens_with_the_token_only_and_stops_under_an_open_tab(page: sync_api.Page, app: ServedApp) -> None:
    """Without it not even the frame; with it once, a cookie carries it; SIGTERM ends a server that is looked at."""
    refused = page.goto(app.address)
    assert refused is not None
    assert refused.status == 401
    wrong = page.goto(f"{app.address}/?token=wrong")
    assert wrong is not None
    assert wrong.status == 401
    page.goto(f"{app.address}/?token={SECRET}")
    page.get_by_text("What arrived").wait_for()
    assert SECRET not in page.url
    page.goto(f"{app.address}/tail")
    page.get_by_text("What arrived").wait_for(state="detached")
    (cookie,) = (each for each in page.context.cookies() if each["value"] == SECRET)
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    started = time.monotonic()
    assert app.server.stop() == 0
    assert time.monotonic() - started < STOP_S
    with Database.open(app.database) as store:
        assert store.sql("SELECT count(*) AS count FROM units")["count"][0] == 20
