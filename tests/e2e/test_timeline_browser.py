"""The timeline in a real browser: mouse and keys reach every row, and what is chosen comes back to the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tracekit as tk
from tests.conformance.process import ServeProcess
from tests.e2e.chromium import browser, needs_browser, sync_api
from tests.e2e.visits import context

__all__ = ["browser", "context"]

ROOT = Path(__file__).resolve().parents[2]
IMAGE = "<img src=x onerror=\"document.title='acted'\">"
TRACE = "5b8efff798038103d269b633813fc60c"
OTHER = "5b8efff798038103d269b633813fc60d"
T0_NS = 1_760_000_000_000_000_000

pytestmark = [pytest.mark.e2e, needs_browser]


def span(number: int, name: str, start_ms: int, end_ms: int, *, parent: int | None = None, **more: object) -> dict:
    """A span of the trace in OTLP/JSON."""
    above = {} if parent is None else {"parentSpanId": f"{parent:016x}"}
    times = {"startTimeUnixNano": T0_NS + start_ms * 1_000_000, "endTimeUnixNano": T0_NS + end_ms * 1_000_000}
    return {"traceId": TRACE, "spanId": f"{number:016x}", "name": name, **above, **times, **more}


def written(path: Path) -> Path:
    """A small trace with a failure, an event, a link, a log record and a name that would like to act."""
    failed = {
        "status": {"code": 2, "message": "out of memory"},
        "events": [{"name": "exception", "timeUnixNano": T0_NS + 60_000_000}],
        "links": [{"traceId": TRACE, "spanId": f"{3:016x}"}],
    }
    spans = [
        span(1, "agent run", 0, 100),
        span(2, IMAGE, 10, 90, parent=1),
        span(3, "retrieve", 20, 40, parent=2),
        span(4, "generate", 50, 80, parent=2, **failed),
        span(5, "agent run", 1000, 1040) | {"traceId": OTHER},
    ]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "agent"}}]}
    log = {"timeUnixNano": T0_NS + 61_000_000, "body": {"stringValue": "gave up"}, "severityText": "ERROR"}
    logs = [log | {"traceId": TRACE, "spanId": f"{4:016x}"}]
    lines = [
        {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": spans}]}]},
        {"resourceLogs": [{"resource": resource, "scopeLogs": [{"logRecords": logs}]}]},
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the app over a store with the small trace and the sample job is served."""
    folder = tmp_path_factory.mktemp("store")
    with tk.open(folder / "store.duckdb") as store:
        store.ingest(written(folder / "small.jsonl"), ROOT / "sample_traces" / "train_ddp_gloo")
    server = ServeProcess(folder / "store.duckdb", "--ui", "0")
    yield f"http://127.0.0.1:{server.app_port}"
    server.stop()


@pytest.fixture
def page(context: sync_api.BrowserContext) -> Iterator[sync_api.Page]:
    """A page of a laptop; what one fetched of the app itself, the next has."""
    page = context.new_page()
    page.set_viewport_size({"width": 1280, "height": 1000})
    page.set_default_timeout(60_000)
    yield page
    page.close()


def opened(page: sync_api.Page, address: str, question: str = f"trace={TRACE}") -> sync_api.Locator:
    """The timeline of a trace, drawn."""
    page.goto(f"{address}/trace?{question}")
    page.locator(".timeline canvas[data-drawn]").first.wait_for()
    return page.locator(".scroller").first


def test_keys_reach_every_row_and_enter_shows_what_it_carries(page: sync_api.Page, address: str) -> None:
    """Each row is told as it is reached; attributes, events, links and logs of the last one stand beside."""
    opened(page, address).focus()
    told = []
    for _ in range(4):
        page.keyboard.press("ArrowDown")
        told.append(page.locator(".spoken").inner_text())
    assert [re.match(r"Row (\d) of 4, level (\d)", text).groups() for text in told] == [
        ("1", "1"), ("2", "2"), ("3", "3"), ("4", "3"),
    ]  # fmt: skip
    assert "failed" in told[3]
    page.keyboard.press("Enter")
    page.get_by_text("status ERROR: out of memory").wait_for()
    for alt in ("Events of the span", "Links of the span", "Log records of the span"):
        page.get_by_label(alt).or_(page.get_by_alt_text(alt)).first.wait_for(state="attached")


def test_a_click_on_a_row_shows_what_its_span_carries(page: sync_api.Page, address: str) -> None:
    """And a name that would be markup anywhere else is text, in the row and beside it."""
    timeline = opened(page, address)
    box = timeline.bounding_box()
    page.mouse.move(box["x"] + 150, box["y"] + 40 + 30)
    assert IMAGE in page.locator(".hint").inner_text()
    page.mouse.click(box["x"] + 150, box["y"] + 40 + 30)
    page.get_by_text("status UNSET").wait_for()
    assert page.get_by_text("<img src=x").first.is_visible()
    assert page.title() != "acted"


def test_a_range_that_is_dragged_is_summed_by_stage(page: sync_api.Page, address: str) -> None:
    """The sum of the stages is the length of the range, to the nanosecond: all of it lies in the request."""
    box = opened(page, address).bounding_box()
    page.mouse.move(box["x"] + 450, box["y"] + 90)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"] + 90, steps=4)
    page.mouse.up()
    total = page.get_by_text("Sum: ").inner_text()
    length = page.get_by_text(re.compile(r"ns\), from ")).inner_text()
    exact = r"\(([\d,]+) ns\)"
    assert re.search(exact, total)[1] == re.search(exact, length)[1]


def test_rows_are_found_by_name_and_closed_by_key(page: sync_api.Page, address: str) -> None:
    """Finding opens what hides a row."""
    timeline = opened(page, address)
    page.get_by_role("button", name="Collapse all").click()
    page.locator(".find").fill("RETRIEVE")
    assert page.locator(".found").inner_text() == "1 found"
    page.locator(".find").press("Enter")
    assert "Row 3 of 4" in page.locator(".spoken").inner_text()
    timeline.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "Row 2 of 2, level 2, closed" in page.locator(".spoken").inner_text()


def seen(page: sync_api.Page) -> tuple[float, float]:
    """The time that is seen, in nanoseconds since the start."""
    page.wait_for_timeout(200)
    first, last = page.locator(".timeline canvas").get_attribute("data-seen").split()
    return float(first), float(last)


def test_the_view_zooms_moves_and_fits(page: sync_api.Page, address: str) -> None:
    """By wheel over the axis, by key and by button."""
    timeline = opened(page, address)
    whole = (0, 100_000_000)
    assert seen(page) == whole
    timeline.focus()
    page.keyboard.press("+")
    assert seen(page) == (25_000_000, 75_000_000)
    page.keyboard.press("d")
    assert seen(page) == (35_000_000, 85_000_000)
    page.keyboard.press("0")
    assert seen(page) == whole
    box = timeline.bounding_box()
    page.mouse.move(box["x"] + 500, box["y"] + 30)
    page.mouse.wheel(0, -300)
    first, last = seen(page)
    assert 0 < first < last < 100_000_000
    page.get_by_role("button", name="Fit").click()
    assert seen(page) == whole


def test_ranks_are_lanes_that_open(page: sync_api.Page, address: str) -> None:
    """Each rank of a step is one row until it is opened; the rows are also a table."""
    opened(page, address, "job=job-a&attempt=0&step=25").focus()
    page.keyboard.press("Home")
    # The lane of the late rank is open.
    assert re.search(r"Row 1 of 1\d, level 1, closed: rank 0", page.locator(".spoken").inner_text())
    page.keyboard.press("ArrowRight")
    assert re.search(r"Row 1 of 2\d, level 1, open", page.locator(".spoken").inner_text())
    page.get_by_text(re.compile(r"The same \d+ rows as a table")).click()
    page.locator("[data-testid='stDataFrame']").first.wait_for()


def test_two_traces_stand_side_by_side(page: sync_api.Page, address: str) -> None:
    """With the difference by stage above them; the address says so."""
    opened(page, address, f"trace={TRACE}&with={OTHER}")
    page.get_by_text("60 ms more").wait_for()
    assert page.locator(".timeline canvas").count() == 2


def test_a_cell_of_the_heat_map_filters_the_list(page: sync_api.Page, address: str) -> None:
    """What the cell counts is what the list finds."""
    page.goto(f"{address}/trace?kind=request")
    page.get_by_text("2 requests").wait_for()
    page.locator("[data-testid='stVegaLiteChart'] path[aria-label*='duration']").first.click(force=True)
    page.get_by_text("1 request. Choose").wait_for()
    assert "since=" in page.url
    page.get_by_role("button", name="All times").click()
    page.get_by_text("2 requests").wait_for()


def test_the_list_leads_to_the_statement_behind_it(page: sync_api.Page, address: str) -> None:
    """It runs as it stands there."""
    page.goto(f"{address}/trace?kind=request&text=agent")
    page.get_by_role("link", name="The SQL behind it").first.click()
    page.get_by_text(re.compile(r"2 rows, \d+ columns")).wait_for()


def test_the_chosen_span_is_part_of_the_link(page: sync_api.Page, address: str) -> None:
    """Choosing keeps the place of the view; the link opens with the same span chosen."""
    opened(page, address).focus()
    for key in ("+", "ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.wait_for_url(re.compile(f"span={3:016x}"))
    page.get_by_text("retrieve", exact=True).wait_for()
    assert seen(page) == (25_000_000, 75_000_000)
    page.reload()
    page.get_by_text("status UNSET").wait_for()
    assert page.get_by_text("retrieve", exact=True).is_visible()


def test_what_is_seen_and_summed_is_part_of_the_link(page: sync_api.Page, address: str) -> None:
    """Zoom and range come to the address by themselves, and a link opens with both."""
    opened(page, address).focus()
    for key in ("ArrowDown", "ArrowDown", "r", "f"):
        page.keyboard.press(key)
    for part in ("range_from=10000000", "range_to=90000000", "&from=5999999", "&to=94000001"):
        page.wait_for_url(re.compile(part))
    page.reload()
    page.get_by_text("Sum: 80 ms").wait_for()
    assert seen(page) == (5_999_999, 94_000_001)


def test_what_is_shown_is_downloaded_for_perfetto(page: sync_api.Page, address: str) -> None:
    """The file has the spans of the trace, and no others."""
    opened(page, address)
    with page.expect_download() as started:
        page.get_by_role("button", name="Download for Perfetto").click()
    file = json.loads(Path(started.value.path()).read_text(encoding="utf-8"))
    spans = {event["args"]["span_id"] for event in file["traceEvents"] if event["ph"] == "X"}
    assert spans == {f"{number:016x}" for number in (1, 2, 3, 4)}
