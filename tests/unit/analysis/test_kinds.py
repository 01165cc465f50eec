"""Other requests that only an attribute tells are mix, and not slowness; what a fault brings along is no kind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.analysis.requests_received import MS, SERVER, S, Seen, receive
from tracekit.analysis import compare, tail
from tracekit.store import Database

BEFORE, AFTER = 700, 200
SIDES = {
    "baseline": f"start_ns < {1_700_000_000 * S + BEFORE * S}",
    "where": f"start_ns >= {1_700_000_000 * S + BEFORE * S}",
}


def requests(key: str, *, usual: float, shares: tuple[float, float], fault: float = 1.0) -> Iterator[Seen]:
    """Requests whose page takes 60 ms, and `usual` times as long with the attribute; its share before and after."""
    draw = random.Random(11)
    for number in range(BEFORE + AFTER):
        is_late = number >= BEFORE
        has = draw.random() < shares[is_late]
        ms = 60 * (usual if has else 1.0) * draw.lognormvariate(0, 0.15) * (fault if is_late else 1.0)
        begin, end = number * S, number * S + 20 * MS + round(ms * MS)
        told = {key: "large" if has else "small"}
        yield Seen(1, begin, end + MS, "GET /page", trace=number + 1, kind=SERVER, service="web", attributes=told)
        yield Seen(2, begin + 20 * MS, end, "render", parent=1, trace=number + 1, service="web")


def test_more_requests_of_a_plan_are_mix(database: Database, tmp_path: Path) -> None:
    receive(database, tmp_path, requests("app.plan", usual=3.0, shares=(0.2, 0.5)))
    answer = tail(database, "e2e", quantile=0.0, **SIDES)
    assert (answer.verdict, answer.kind_attribute) == ("mix_not_slowness", "app.plan")
    assert answer.stages["excess_ns"].sum() == answer.excess_ns
    assert answer.stages["mix_ns"].sum() > 0.8 * answer.excess_ns > 0
    compared = compare(database, SIDES["baseline"], SIDES["where"])
    assert (compared.verdict, compared.kind_attribute) == ("no_change", "app.plan")


def test_a_fault_beside_another_mix_is_found_with_its_own_part(database: Database, tmp_path: Path) -> None:
    """Half as much longer for all is slowness, however many large ones come."""
    receive(database, tmp_path, requests("app.plan", usual=1.35, shares=(0.2, 0.5), fault=1.5))
    answer = tail(database, "e2e", quantile=0.0, **SIDES)
    assert (answer.verdict, answer.kind_attribute) == ("excess_explained", "app.plan")
    first = answer.stages.row(0, named=True)
    assert (first["stage"], first["significant"]) == ("web:render", True)
    assert 0 < first["mix_ns"] < first["excess_ns"]


@pytest.mark.parametrize(
    ("key", "usual", "shares", "fault"),
    [("app.plan", 1.0, (0.2, 0.5), 1.5), ("app.plan", 3.0, (0.2, 0.2), 1.5), ("cache.hit", 3.0, (0.2, 0.5), 1.0),
     ("app.release", 3.0, (0.0, 0.6), 1.0)],
    ids=["takes no longer", "as many as before", "says how it went", "unknown before"],
)  # fmt: skip
def test_what_explains_nothing_is_no_kind(
    database: Database, tmp_path: Path, key: str, usual: float, shares: tuple[float, float], fault: float
) -> None:
    receive(database, tmp_path, requests(key, usual=usual, shares=shares, fault=fault))
    answer = tail(database, "e2e", quantile=0.0, **SIDES)
    assert (answer.verdict, answer.kind_attribute) == ("excess_explained", None)
    assert answer.stages["stage"][0] == "web:render"
