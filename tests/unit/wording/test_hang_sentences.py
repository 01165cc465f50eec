"""Why a rank hung its job, in sentences: one a reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.analysis.hung_jobs import Call, hung_job
from tracekit.analysis import explain_hang
from tracekit.wording.hangs import reason_text

IN_GROUP = {"rank": 2, "operation": "all_reduce", "group": "w", "sequence": 5}
OTHERS = [
    {"operation": "all_reduce", "elements": "64", "types": "Half"},
    {"operation": "all_gather", "elements": None, "types": None},
]


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"reason": "never_entered"}, "has nothing pending and never entered all_reduce 5 of group w"),
        ({"reason": "no_dump"}, "left no dump, and only it can be missing from all_reduce 5 of group w"),
        (
            {"reason": "pending", "completed": 1},
            "has all_reduce 5 of group w pending, which the other member completed",
        ),
        (
            {"reason": "pending", "completed": 3, "operation": "recv", "sequence": None},
            "has recv of group w pending, which 3 other members completed",
        ),
        (
            {"reason": "called_differently", "elements": "65", "types": "Half", "other_calls": OTHERS},
            "called all_reduce of 65 elements Half as collective 5 of group w, "
            "others all_gather or all_reduce of 64 elements Half",
        ),
        ({"reason": "circle", "circle": [1, 2, 3]}, "waits in a circle with ranks 1, 3"),
        ({"reason": "circle", "circle": [*range(8)]}, "waits in a circle with ranks 0, 1, 3, 4 and 3 more"),
    ],
)
def test_a_reason_is_told_with_its_collective(facts: dict[str, Any], text: str) -> None:
    assert reason_text(IN_GROUP | facts) == text


def test_a_link_is_told_and_no_rank() -> None:
    programs = {rank: [Call("w", (0, 1))] * 3 for rank in (0, 1)}
    dumps = hung_job(programs, broken=["w"])
    hang = explain_hang(dumps.groups, dumps.entries, dumped=dumps.dumped)
    assert hang.culprits.is_empty()
    assert hang.summary == (
        "No rank is to blame: all members entered and none completed the collectives of group w (ranks 0, 1), "
        "which points to a link between them; 2 of 2 ranks are blocked."
    )
