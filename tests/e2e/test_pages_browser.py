"""Every page of the served app in a real browser: it stands, tells nobody, reads in dark and for everybody."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.e2e.chromium import browser, needs_browser
from tests.e2e.hostile_spans import IMAGE
from tests.e2e.visits import Visit, context, visit

Axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-playwright-python").Axe
SERIOUS = {"resultTypes": ["violations"]}
RULES = {"light": SERIOUS, "dark": SERIOUS | {"runOnly": ["color-contrast", "link-in-text-block"]}}
"""In the dark all is the same but the colours."""

__all__ = ["browser", "context", "visit"]

ROOT = Path(__file__).resolve().parents[2]
TITLES = re.findall(r'\btitle="([^"]+)"', (ROOT / "app" / "main.py").read_text(encoding="utf-8"))
Open = Callable[..., Visit]

pytestmark = [pytest.mark.e2e, needs_browser]

NOT_OURS = [
    '[data-testid="stMultiSelect"] span[title]',
    '[data-testid="stSidebarNavItems"]',
    'g[class*="_brush"]',
]
"""What no page can change. Streamlit: chosen values of a multiple choice are white on the app's colour, in the dark as
well; a navigation in groups is a list whose items are no list items. Vega: the rectangle that is dragged over a chart
is an image without a name, also before there is one."""


@pytest.mark.parametrize("store", ["empty", "hostile"])
def test_every_page_stands_and_tells_nobody(visit: Open, store: str) -> None:
    """No traceback, nothing in the console, no request to another host: without data, and with hostile names.

    With data it is looked at where each page is read for everybody.
    """
    looked = visit(store, "/")
    for title in TITLES:
        looked.turn_to(title)
        assert not looked.exceptions, title
        assert not looked.errors, title
    assert looked.hosts == {"127.0.0.1"}


@pytest.mark.parametrize("path", ["/", "/ledger", "/failures", f"/tail?where={quote(f'model = {IMAGE!r}')}"])
def test_hostile_names_stay_text(visit: Open, path: str) -> None:
    """A Markdown image is no image, HTML no element, a mark that turns text round is written out."""
    looked = visit("hostile", path)
    assert looked.page.locator("[data-testid=stMain] :is(img, b, a[href*=evil])").count() == 0
    assert "evil.example" in looked.text
    assert "\u202e" not in looked.text
    assert looked.hosts == {"127.0.0.1"}


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/tail?metric=ttft&quantile=0.9&stage=eng.queue", "The slow ones with the most time in eng.queue"),
        ("/failures", "uncorrectable ECC error"),
        ("/ledger?job=job-a&price=2.5", "accelerator-seconds trained"),
        ("/trace?job=job-a&attempt=0&step=25", "4 ranks"),
        ("/sql?sql=SELECT+42+AS+answer", "1 row, 1 column"),
        ("/tail?metric=bogus", "the metrics are ttft, tpot, e2e, step"),
        ("/tail?tenant=t", "no units with this tenant"),
        ("/trace?trace=zz", "is no trace id"),
        ("/sql?sql=DROP+VIEW+units", "cannot be asked"),
    ],
)
def test_a_link_shows_what_it_names_or_says_that_it_is_not_here(visit: Open, path: str, told: str) -> None:
    looked = visit("samples", path)
    looked.page.get_by_text(told).first.wait_for()
    assert not looked.exceptions


def test_back_goes_one_question_back(visit: Open) -> None:
    """What was asked before, as it was asked, and not another page."""
    looked = visit("samples", "/tail?metric=ttft")
    looked.page.get_by_text("e2e", exact=True).first.click()
    looked.page.wait_for_url("**metric=e2e**")
    looked.stands()
    looked.page.get_by_text("from end to end").first.wait_for()
    looked.page.go_back()
    looked.page.wait_for_url("**metric=ttft**")
    looked.page.get_by_text("to the first token").first.wait_for()
    assert "/tail" in looked.page.url


@pytest.mark.parametrize("path", ["/", "/tail?metric=ttft"])
def test_times_are_utc_wherever_the_browser_is(visit: Open, path: str) -> None:
    """Sentences, axes and inputs alike."""
    here, there = (visit("samples", path, timezone_id=zone).text for zone in ("UTC", "Asia/Kolkata"))
    assert here == there
    assert "05:3" in here


def test_dark_is_dark(visit: Open) -> None:
    """The page follows the browser, and the charts the page."""
    looked = visit("samples", "/tail?metric=ttft", color_scheme="dark")
    ground = looked.page.evaluate("getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor")
    assert ground == "rgb(20, 24, 31)"
    assert not looked.errors


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_can_be_read_and_used_by_everybody(visit: Open, scheme: str) -> None:
    """No serious violation of accessibility in anything that a page says or draws, and none of what never may be."""
    looked = visit("samples", "/", color_scheme=scheme)
    found: dict[str, list[tuple[str, list[str]]]] = {}
    for title in TITLES:
        looked.turn_to(title)
        assert not looked.exceptions, title
        assert not looked.errors, title
        violations = Axe().run(looked.page, context={"exclude": NOT_OURS}, options=RULES[scheme]).response["violations"]
        found[title] = [
            (rule["id"], [node["html"][:200] for node in rule["nodes"]])
            for rule in violations
            if rule["impact"] in ("serious", "critical")
        ]
    assert not any(found.values()), found
    assert looked.hosts == {"127.0.0.1"}
