"""Who gets the accent."""

from __future__ import annotations

import polars as pl
import pytest
from investigation.split import culprit


def stages(*rows: tuple[str, int, bool | None]) -> pl.DataFrame:
    """Stages with their excess and whether it is significant."""
    return pl.DataFrame(
        rows, schema={"stage": pl.String, "excess_ns": pl.Int64, "significant": pl.Boolean}, orient="row"
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([("eng.queue", 5, True), ("eng.prefill", 9, True)], "eng.prefill"),
        ([("eng.queue", 5, None)], "eng.queue"),
        ([("eng.queue", 5, False)], None),
        ([("eng.queue", 5, True), ("unattributed", 9, True)], None),
        ([("step.straggler_wait", 9, True), ("step.compute", 1, True)], None),
        ([("eng.queue", -5, True)], None),
        ([], None),
    ],
)
def test_the_culprit_is_the_largest_part_if_it_names_somebody(
    rows: list[tuple[str, int, bool | None]], expected: str | None
) -> None:
    """Nobody is blamed for chance, for what no span explains, for waiting, or for being faster."""
    assert culprit(stages(*rows)) == expected
