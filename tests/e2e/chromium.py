"""A real browser for tests; whoever imports this is skipped where there is none to drive."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no Chromium found (install Debian's package `chromium`, or set CHROMIUM to its path)"
)


@pytest.fixture(scope="module")
def browser() -> Iterator[sync_api.Browser]:
    """A headless Chromium. One a module: while Playwright runs, nothing else in the thread can use asyncio."""
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()
