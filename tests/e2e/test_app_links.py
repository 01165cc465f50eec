"""Links into the app: what they name is shown, and what they name wrongly is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracekit as tk
from tests.e2e.app_visits import Visit, said, sample_store, slow_trace, visit

__all__ = ["sample_store", "slow_trace", "visit"]


@pytest.mark.parametrize(
    ("parameters", "answer"),
    [
        ({"trace": "zz"}, "is no trace id"),
        ({"trace": "0" * 31 + "1"}, "There is no trace"),
        ({"job": "job-a", "step": "9999"}, "has no step 9999"),
    ],
)
def test_what_is_not_there_is_said(visit: Visit, parameters: dict[str, str], answer: str) -> None:
    """A stale or mistyped link is answered in words."""
    app = visit("trace.py", **parameters)
    assert not app.exception
    assert answer in said(app)


@pytest.mark.parametrize(
    ("page", "parameters", "told"),
    [
        ("tail.py", {"metric": "bogus"}, "the metrics are ttft, tpot, e2e, step"),
        ("tail.py", {"metric": "step", "job": "nojob"}, "no units with this job"),
        ("tail.py", {"service": "nobody"}, "no units with this service"),
        ("tail.py", {"attribute": "tenant", "value": "tenant-0100"}, "no units with this attribute"),
        ("tail.py", {"attribute": "scenario", "value": "tenant-0100"}, "no units with this value"),
        ("tail.py", {"value": "overload"}, "no attribute is chosen"),
        ("tail.py", {"quantile": "0.42"}, "the quantiles are"),
        ("tail.py", {"against": "scenario = calm"}, "no such units to compare with"),
        ("tail.py", {"since": "yesterday"}, "that is no time"),
        ("tail.py", {"tenant": "tenant-0100"}, "no units with this tenant"),
        ("tail.py", {"span": "1"}, "this page has no such choice"),
        ("ledger.py", {"job": "nojob"}, "no units with this job"),
        ("failures.py", {"slo": "ttft=2s"}, "this page has no such choice"),
        ("compare.py", {"a": "version:1"}, "this page has no such choice"),
        ("trace.py", {"of_job": "nojob", "step": "3"}, "no steps of this job"),
        ("trace.py", {"job": "job-a", "step": "minus one"}, "no whole number"),
        ("trace.py", {"job": "job-a", "attempt": "-1", "step": "3"}, "no whole number"),
    ],
)
def test_a_link_that_names_what_is_not_here_says_so(
    visit: Visit, page: str, parameters: dict[str, str], told: str
) -> None:
    """Not the answer to some other question; and one click asks the rest."""
    app = visit(page, **parameters)
    assert not app.exception
    assert told in app.error[0].value
    assert all(value in app.error[0].value for value in list(parameters.values())[-1:] if "step" not in parameters)
    assert not app.get("vega_lite_chart")
    for name in parameters:
        app.query_params.pop(name, None)
    app = app.button(key="without").click().run()
    assert not app.exception
    assert not app.error


def test_what_of_the_scope_a_page_cannot_follow_is_said(visit: Visit) -> None:
    """The scope goes from page to page, and not every page has a place for all of it."""
    app = visit("tail.py", metric="ttft", job="job-a")
    assert not app.error
    assert "scope's job is not used here: a request has no job" in said(app)
    assert "a job is judged whole" in said(visit("stragglers.py", model="./tiny"))


def test_a_value_that_is_not_among_the_most_frequent_can_be_linked_to(visit: Visit, tmp_path: Path) -> None:
    """The list of values is short; the question is not."""
    spans = [
        {"traceId": f"{number + 1:032x}", "spanId": f"{number + 1:016x}", "name": "chat", "kind": 2,
         "startTimeUnixNano": str(10**18 + number * 10**9), "endTimeUnixNano": str(10**18 + number * 10**9 + 10**8),
         "attributes": [{"key": "tenant", "value": {"stringValue": f"tenant-{min(number // 2, 99):04}"}}]}
        for number in range(300)
    ]  # fmt: skip
    path = tmp_path / "tenants.duckdb"
    (tmp_path / "a.jsonl").write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}))
    with tk.open(path) as store:
        store.ingest(tmp_path / "a.jsonl")
    link = {"metric": "e2e", "attribute": "tenant", "value": "tenant-0080", "against": "tenant = tenant-0099"}
    app = visit("tail.py", store=path, **link)
    assert not app.exception
    assert not app.error
    assert app.selectbox(key="value").value == "tenant-0080"
    assert "tenant-0080" in said(app)
    assert "tenant-0099" in said(app)


def test_a_trace_leads_back_to_the_question_that_was_asked(visit: Visit, slow_trace: str) -> None:
    app = visit("tail.py", metric="e2e", quantile="0.9")
    app.switch_page("app_pages/trace.py")
    app.query_params.clear()
    app.query_params["trace"] = slow_trace
    app = app.run()
    back = [element.proto for element in app.get("page_link") if element.proto.label == "Back to the question"]
    assert len(back) == 1
    assert {"metric=e2e", "quantile=0.9"} <= set(back[0].query_string.split("&"))
