"""Looking at a page as a person does: open it, wait until it stands, see what the browser complained about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.e2e.chromium import sync_api
from tests.e2e.conftest import ServedStores

PAGE_MS = 60_000
VIEWPORT = {"width": 1280, "height": 1400}
_SAME = 5
_STANDS = '[data-testid="stApp"][data-test-script-state="notRunning"]'
# Streamlit's own search for the path that it is mounted under: it asks below the page's name first.
_STREAMLITS_SEARCH = ("/_stcore/health", "/_stcore/host-config")


@dataclass
class Visit:
    """A page in a browser context of its own, and what went wrong in it so far."""

    page: sync_api.Page
    address: str
    errors: list[str] = field(default_factory=list)
    """What was logged as an error or thrown, without Streamlit's own search for its path."""
    hosts: set[str | None] = field(default_factory=set)
    """Whom the browser asked for anything."""

    def __post_init__(self) -> None:
        self.page.on("request", self._note_host)
        self.page.on("pageerror", lambda error: self.errors.append(f"thrown: {error}"))
        self.page.on("console", self._note_console)

    def _note_host(self, request: sync_api.Request) -> None:
        if not request.url.startswith(("data:", "blob:")):
            self.hosts.add(urlsplit(request.url).hostname)

    def _note_console(self, message: sync_api.ConsoleMessage) -> None:
        where = str(message.location.get("url", ""))
        if message.type == "error" and not where.endswith(_STREAMLITS_SEARCH):
            self.errors.append(f"{message.text} ({where})")

    def open(self, path: str) -> Visit:
        """Go to a path of the app and wait until it stands."""
        self.page.goto(f"{self.address}{path}")
        return self.stands()

    def turn_to(self, title: str) -> Visit:
        """Choose another page in the navigation, as it is spelt there."""
        self.page.get_by_role("link", name=title, exact=True).first.click()
        self.page.get_by_role("heading", level=1, name=title, exact=True).wait_for()
        return self.stands()

    def stands(self) -> Visit:
        """Wait until the page has run to its end and every chart in it is drawn."""
        self.page.wait_for_selector(f"{_STANDS} [data-testid='stMainBlockContainer'] h1", state="attached")
        # A run that a click starts is seen a moment after the click.
        self.page.wait_for_timeout(150)
        self.page.wait_for_selector(_STANDS)
        self.page.wait_for_function(
            "[...document.querySelectorAll('[data-testid=stVegaLiteChart]')].every(chart => chart.querySelector('svg'))"
        )
        return self

    @property
    def text(self) -> str:
        """All that the page says, once it says the same for a while; tables draw on a canvas and are not in it."""
        said: list[str] = []
        while len(said) < _SAME or len(set(said[-_SAME:])) > 1:
            self.page.wait_for_timeout(250)
            said.append(self.page.inner_text('[data-testid="stMain"]'))
            assert len(said) < PAGE_MS / 250, "the page does not come to rest"
        return said[-1]

    @property
    def exceptions(self) -> list[str]:
        """Tracebacks that the page shows."""
        return self.page.locator('[data-testid="stException"]').all_inner_texts()


@pytest.fixture(scope="module")
def context(browser: sync_api.Browser) -> Iterator[sync_api.BrowserContext]:
    """The context of pages that ask for none of their own: what one page fetched, the next has."""
    context = browser.new_context(viewport=VIEWPORT)
    yield context
    context.close()


@pytest.fixture
def visit(
    browser: sync_api.Browser, context: sync_api.BrowserContext, served: ServedStores
) -> Iterator[Callable[..., Visit]]:
    """`visit(store, path, **options)`: a page of a served store; options are those of a context of its own."""
    own: list[sync_api.BrowserContext] = []
    pages: list[sync_api.Page] = []

    def open_page(store: str, path: str, **options: Any) -> Visit:
        if options:
            own.append(browser.new_context(**{"viewport": VIEWPORT} | options))
        pages.append((own[-1] if options else context).new_page())
        pages[-1].set_default_timeout(PAGE_MS)
        return Visit(pages[-1], served.address(store)).open(path)

    yield open_page
    for opened in (*pages, *own):
        opened.close()
