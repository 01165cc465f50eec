"""Whose the excess of a stage is: rows in, the value in whose units it lies out."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

import pytest

from tests.unit.analysis.rows import MS, Request, Step
from tracekit.analysis import TailAnswer, clear_whose, tail
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]

S = 1_000_000_000
CHANGE_NS = 1000 * S
TENANTS = ("acme", "birch", "cobalt")


def requests(slow_ms: dict[str, int], *, start_ns: int, weights: tuple[int, int, int] = (1, 1, 1)) -> list[Request]:
    """Six hundred requests of three tenants; the prefill of some takes longer."""
    draw = random.Random(start_ns)
    chosen = draw.choices(TENANTS, weights, k=600)
    return [
        Request(
            [
                ("ttft", "gw.auth", 5 * MS + draw.randrange(MS)),
                ("ttft", "eng.prefill", (40 + slow_ms.get(tenant, 0)) * MS + draw.randrange(20 * MS)),
            ],
            start_ns=start_ns + number * S,
            attributes={"tenant": tenant, "region": draw.choice("ns")},
        )
        for number, tenant in enumerate(chosen)
    ]


def asked(store: Write, before: list[Request], after: list[Request]) -> TailAnswer:
    """All requests after against all before."""
    when = f"start_ns {{}} {CHANGE_NS}"
    return tail(store(before + after), "ttft", quantile=0, where=when.format(">="), baseline=when.format("<"))


def test_a_tenant_that_alone_is_slower_is_named_with_its_stage(store: Write) -> None:
    """All of the excess lies in a third of the requests."""
    answer = asked(store, requests({}, start_ns=0), requests({"birch": 30}, start_ns=CHANGE_NS))
    row = answer.whose.row(0, named=True)
    assert (row["stage"], row["dimension"], row["value"]) == ("eng.prefill", "tenant", "birch")
    assert row["carried_share"] == pytest.approx(1, abs=0.06)
    assert row["unit_share"] == pytest.approx(1 / 3, abs=0.06)
    assert row["excess_ns"] == pytest.approx(30 * MS, rel=0.1)
    first_sentence = answer.summary.split(". ")[0]
    assert "eng.prefill" in first_sentence
    assert "with tenant 'birch'" in first_sentence


def test_what_is_slower_for_few_is_told_where_all_together_could_be_chance(store: Write) -> None:
    """One tenant in twenty waits: the mean hardly moves, and that tenant's time does."""
    rare = (1, 10, 10)
    before = requests({}, start_ns=0, weights=rare)
    answer = asked(store, before, requests({"acme": 12}, start_ns=CHANGE_NS, weights=rare))
    assert not answer.stages.filter(stage="eng.prefill")["significant"].item()
    assert answer.verdict == "stage_slower"
    assert answer.stages["stage"][0] == "eng.prefill"
    assert re.match(
        r"eng.prefill takes 6\S+ ms where it took 5\S+ ms in the \d% of requests with tenant 'acme'", answer.summary
    )


def test_what_is_slower_for_all_is_nobodys(store: Write) -> None:
    """Every tenant alike: nobody is named, though more requests of one of them arrive."""
    everybody = dict.fromkeys(TENANTS, 30)
    answer = asked(store, requests({}, start_ns=0), requests(everybody, start_ns=CHANGE_NS, weights=(5, 1, 1)))
    assert clear_whose(answer.whose).is_empty()
    assert "tenant" not in answer.summary.split(". ")[0]


def test_a_slow_tenant_that_was_slow_before_is_no_finding(store: Write) -> None:
    """Whoever takes longer on both sides is compared with itself."""
    answer = asked(store, requests({"acme": 90}, start_ns=0), requests({"acme": 90}, start_ns=CHANGE_NS))
    assert answer.whose.is_empty()


def swinging(tenants: tuple[str, ...], *, start_ns: int, count: int, busy: dict[int, str]) -> list[Request]:
    """Requests whose wait is long for a minute together where their tenant is busy: minute by minute, by `busy`."""
    draw = random.Random(start_ns)
    found = []
    for number in range(count):
        tenant = draw.choice(tenants)
        wait_ms = 300 if busy.get(number // 60) == tenant else 5
        stages = [("ttft", "eng.queue", wait_ms * MS + draw.randrange(5 * MS)), ("ttft", "eng.prefill", 40 * MS)]
        found.append(Request(stages, start_ns=start_ns + number * S, attributes={"tenant": tenant}))
    return found


def test_a_queue_that_swings_by_itself_is_nobodys_fault(store: Write) -> None:
    """One minute in four some tenant waits, as it did before: a minute that is one tenant's is no finding."""
    before = swinging(TENANTS, start_ns=0, count=900, busy={1: "acme", 4: "birch", 9: "cobalt", 13: "acme"})
    after = swinging(TENANTS, start_ns=CHANGE_NS, count=60, busy={0: "acme"})
    answer = asked(store, before, after)
    assert clear_whose(answer.whose).is_empty()
    assert "acme" not in answer.summary.split(". ")[0]


def test_a_queue_that_never_swung_is_somebodys(store: Write) -> None:
    """The same minute after fifteen in which nobody waited."""
    before = swinging(TENANTS, start_ns=0, count=900, busy={})
    after = swinging(TENANTS, start_ns=CHANGE_NS, count=60, busy={0: "acme"})
    assert "with tenant 'acme'" in asked(store, before, after).summary.split(". ")[0]
