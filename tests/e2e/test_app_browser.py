"""What only a browser does: a click on a bar proves a stage, a drag asks about a part, Stop ends what is asked."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.e2e.chromium import browser, needs_browser
from tests.e2e.visits import Visit, context, visit

__all__ = ["browser", "context", "visit"]

pytestmark = [pytest.mark.e2e, needs_browser]

TALL = {"width": 1400, "height": 2600}
Open = Callable[..., Visit]


def test_a_click_on_a_bar_shows_its_proof_and_its_link(visit: Open) -> None:
    """From the chart to the traces that prove it, and into the address, in one click."""
    page = visit("samples", "/tail?metric=ttft&quantile=0.9", viewport=TALL).page
    page.locator("path[aria-roledescription='bar'][aria-label*='eng.queue']").first.click(force=True)
    page.get_by_text("The slow ones with the most time in eng.queue").wait_for()
    assert "stage=eng.queue" in page.url


ENDLESS = quote("SELECT sum(hash(a.range + b.range)) FROM range(10_000_000) AS a, range(10_000_000) AS b")


def test_what_is_asked_can_be_stopped_and_asked_again(visit: Open) -> None:
    """A statement that would run for hours; the page says what was stopped, and whoever goes on is answered."""
    looked = visit("samples", "/sql?sql=SELECT+42+AS+answer")
    page = looked.page
    assert not page.get_by_role("button", name="Stop").is_visible()
    page.goto(f"{looked.address}/sql?sql={ENDLESS}")
    for again in (False, True):
        if again:
            page.get_by_role("button", name="Ask again").click()
        page.get_by_text("Running the statement").wait_for()
        page.get_by_role("button", name="Stop").click()
        page.get_by_text("Stopped: running the statement").wait_for()
    page.get_by_label("Statement").fill("SELECT 42 AS answer")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("1 row, 1 column").wait_for()
    assert not looked.exceptions
