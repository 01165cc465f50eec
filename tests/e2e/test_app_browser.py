"""What only a browser does: a click on a bar proves a stage, a drag asks about a part, Stop ends what is asked."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import quote

import pytest

from tests.e2e.chromium import browser, needs_browser, sync_api
from tests.e2e.visits import Visit, context, visit

__all__ = ["browser", "context", "visit"]

pytestmark = [pytest.mark.e2e, needs_browser]

ATTEMPTS = 6
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
    page.get_by_role("textbox", name="Statement").fill("SELECT 42 AS answer")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("1 row, 1 column").wait_for()
    assert not looked.exceptions


def drag_over(page: sync_api.Page, chart: str, leads_to: str) -> None:
    """Drag over the middle of a chart, found by its alternative text, until the address follows.

    A chart that was drawn anew a moment ago takes the place of the one that was dragged over.
    """
    drawn = page.locator(f'[role="graphics-document"][aria-label^="{chart}"] svg.marks')
    for _ in range(ATTEMPTS):
        drawn.scroll_into_view_if_needed()
        box = drawn.bounding_box() or {"x": 0, "y": 0, "width": 0, "height": 0}
        page.mouse.move(box["x"] + 0.4 * box["width"], box["y"] + 0.2 * box["height"])
        page.mouse.down()
        page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 0.4 * box["height"], steps=4)
        page.mouse.up()
        with suppress(sync_api.TimeoutError):
            page.wait_for_url(re.compile(leads_to), timeout=10_000)
            return
    pytest.fail(f"the address does not follow a drag over {chart}")


def test_the_page_follows_what_is_dragged_over_time_and_over_the_distribution(visit: Open) -> None:
    """A time becomes the scope of all pages, a part of the metric a condition; both are in the link and are said."""
    looked = visit("samples", "/tail?metric=ttft&quantile=all&against=typical+ones+%28p40+to+p60%29", viewport=TALL)
    drag_over(looked.page, "Mean time by stage over time", r"since=.*until=")
    looked.page.get_by_text(re.compile(r"Units: start_ns >= \d+ AND start_ns < \d+")).wait_for()
    looked.stands()
    drag_over(looked.page, "Histogram of time to first token", r"where=.*ttft_ns")
    looked.page.get_by_text(re.compile(r"AND \(ttft_ns >= \d+ AND ttft_ns < \d+")).first.wait_for()
    assert not looked.exceptions


def test_the_list_follows_what_is_dragged_over_the_heat_map(visit: Open) -> None:
    """Time and duration, both in the link."""
    looked = visit("samples", "/trace?kind=request", viewport=TALL)
    drag_over(looked.page, "Durations over time", r"since=.*below_ms=")
    looked.page.get_by_text(re.compile(r"^\d+ requests?\b")).first.wait_for()
    assert not looked.exceptions


def test_words_are_offered_while_a_statement_is_written(visit: Open) -> None:
    """Columns of the view that is read, functions; taken by key, and run as they were taken."""
    page = visit("samples", "/sql?sql=SELECT+42").page
    field = page.get_by_role("textbox", name="Statement")
    field.fill("")
    field.press_sequentially("FROM units AS u SELECT u.serv")
    page.get_by_role("option", name="service_name").wait_for()
    field.press("Enter")
    field.press_sequentially(", quantile_c")
    page.get_by_role("option", name="quantile_cont").wait_for()
    field.press("Tab")
    field.press_sequentially("(e2e_ns, 0.9) GROUP BY ALL")
    field.press("Control+Enter")
    page.get_by_text("2 columns").wait_for()
    assert field.input_value() == "FROM units AS u SELECT u.service_name, quantile_cont(e2e_ns, 0.9) GROUP BY ALL"
