"""The report as a page: a browser without a network opens the file, and what it says is what the text report says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import tracekit as tk
from tests.e2e.chromium import browser, needs_browser, sync_api
from tests.e2e.conftest import STORES
from tests.e2e.hostile_spans import IMAGE

__all__ = ["browser"]

pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
pytestmark = [pytest.mark.e2e, needs_browser]


def written(name: str, folder: Path) -> tuple[Path, str]:
    """The page that the command writes of a store of `STORES`, and the text report of the same store."""
    path = folder / f"{name}.duckdb"
    with tk.open(path) as store:
        STORES[name](store, folder)
        text = str(store.report().text)
    command = [sys.executable, "-m", "tracekit", "report", "--db", str(path), "--html", str(folder / "report.html")]
    subprocess.run(command, check=True, capture_output=True)
    return folder / "report.html", text


def opened(browser: sync_api.Browser, file: Path, scheme: str) -> tuple[sync_api.Page, list[str]]:
    """The file in a browser that has no network, and what it complained about or asked for."""
    context = browser.new_context(offline=True, color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page, noted = context.new_page(), []
    page.on("console", lambda message: noted.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: noted.append(str(error)))
    page.on("request", lambda request: noted.append(request.url) if request.url.startswith("http") else None)
    page.goto(file.as_uri())
    page.wait_for_function("[...document.querySelectorAll('.chart')].every(chart => chart.querySelector('svg'))")
    return page, noted


def words(text: str) -> list[str]:
    """The words and figures of a text, without frames of tables, marks of headings and separators of thousands."""
    return re.findall(r"[^\s│┌┐└┘├┤┬┴┼─═╪╞╡┆#]+", re.sub(r"(?<=\d),(?=\d{3})", "", text))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_opens_offline_with_its_charts(browser: sync_api.Browser, tmp_path: Path, scheme: str) -> None:
    """Every sentence and every figure of the text report is in it, in the same order; charts are drawn, readably."""
    file, text = written("samples", tmp_path)
    page, noted = opened(browser, file, scheme)
    assert noted == []
    assert page.locator("figure svg").count() >= 4
    # The contents lead to every section, in their order.
    led_to = page.evaluate("[...document.querySelectorAll('nav a')].map(e => document.querySelector(e.hash).innerText)")
    assert len(led_to) == page.locator("section").count() > 4
    said = page.evaluate(
        "document.querySelectorAll('figure, h1, nav').forEach(e => e.remove()) || document.body.innerText"
    )
    assert words(said) == words(text)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 24, 31)"}[scheme]
    page.context.close()


def test_hostile_names_stay_text_in_the_page(browser: sync_api.Browser, tmp_path: Path) -> None:
    """No image, no element, no end of a script, no request."""
    file, _ = written("hostile", tmp_path)
    page, noted = opened(browser, file, "light")
    assert noted == []
    assert page.locator("main :is(img, b, a[href*=evil])").count() == 0
    assert IMAGE in page.inner_text("main")
    page.context.close()
