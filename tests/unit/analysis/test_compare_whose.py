"""Whose a slower stage is, and which load is usual, in a comparison of two times."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from tests.unit.analysis.rows import MS, Request, Step, write_units
from tracekit.analysis import compare
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]
S = 1_000_000_000
CHANGE_NS = 600 * S
BEFORE, AFTER = f"start_ns < {CHANGE_NS}", f"start_ns >= {CHANGE_NS}"


def requests(count: int, *, first_ns: int, gap_ns: int = S, slow: str = "", more_ms: int = 0) -> list[Request]:
    """Requests of three tenants; the queue of one takes longer, or of all (`slow` empty)."""
    draw = random.Random(first_ns)
    found = []
    for number in range(count):
        tenant = draw.choice("abc")
        longer_ms = more_ms if slow in ("", tenant) else 0
        stages = [("ttft", "gw.auth", 5 * MS), ("ttft", "eng.queue", (20 + longer_ms) * MS + draw.randrange(8 * MS))]
        found.append(Request(stages, start_ns=first_ns + number * gap_ns, attributes={"tenant": tenant}))
    return found


def test_the_tenant_that_alone_is_slower_is_named_with_its_stage(store: Write) -> None:
    """In one store, by values of an attribute of the requests."""
    after = requests(200, first_ns=CHANGE_NS, slow="b", more_ms=30)
    answer = compare(store([*requests(600, first_ns=0), *after]), BEFORE, AFTER)
    row = answer.whose.row(0, named=True)
    assert (row["stage"], row["dimension"], row["value"]) == ("eng.queue", "tenant", "b")
    assert row["excess_ns"] == pytest.approx(30 * MS, rel=0.1)
    assert "eng.queue +" in answer.summary
    assert "of requests with tenant 'b')" in answer.summary
    assert answer.as_dict()["whose"][0]["value"] == "b"


def test_what_is_slower_for_all_is_nobodys(store: Write) -> None:
    """Every tenant alike."""
    after = requests(200, first_ns=CHANGE_NS, more_ms=30)
    answer = compare(store([*requests(600, first_ns=0), *after]), BEFORE, AFTER)
    assert answer.verdict == "regressed"
    assert "tenant" not in answer.summary


@pytest.mark.parametrize(("every", "verdict"), [(3, "regressed"), (60, "load_or_slowness")])
def test_a_burst_is_more_load_only_where_it_is_unusual(store: Write, every: int, verdict: str) -> None:
    """Three times as many requests in every third half minute, and after; or never before."""
    before = []
    for half in range(20):
        gap_ns = S // 3 if half % every == 1 else S
        before += requests(30 * S // gap_ns, first_ns=half * 30 * S, gap_ns=gap_ns)
    after = requests(90, first_ns=CHANGE_NS, gap_ns=S // 3, more_ms=30)
    answer = compare(store([*before, *after]), BEFORE, AFTER)
    assert answer.verdict == verdict
    assert answer.load["is_usual"].all() == (verdict == "regressed")


def test_of_two_stores_each_is_asked_for_its_own(store: Write) -> None:
    """The requests before lie in another store, under the same numbers."""
    after = store(requests(200, first_ns=CHANGE_NS, slow="c", more_ms=30))
    with Database.open(None) as other:
        answer = compare(after, None, None, other=write_units(other, requests(600, first_ns=0)))
    assert answer.whose.row(0, named=True)["value"] == "c"
    assert answer.whose.row(0, named=True)["baseline_mean_ns"] == pytest.approx(24 * MS, rel=0.05)
