"""What only a browser does: a click on a bar proves a stage."""

from __future__ import annotations

from collections.abc import Callable

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
