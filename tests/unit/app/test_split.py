"""Who gets the accent."""

from __future__ import annotations

import polars as pl
import pytest
from investigation.split import work_text

from tracekit.charts import culprit


def stages(*rows: tuple[str, int, bool | None], rate_ns: int | None = None) -> pl.DataFrame:
    """Stages with their excess and whether it is significant; all of it slowness, or `rate_ns`."""
    schema = {"stage": pl.String, "excess_ns": pl.Int64, "significant": pl.Boolean}
    rate = pl.col("excess_ns") if rate_ns is None else pl.lit(rate_ns)
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(rate.alias("rate_ns"))


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
    assert culprit(stages(*rows), verdict="excess_explained") == expected


@pytest.mark.parametrize("verdict", ["mix_not_slowness", "improved", "no_excess"])
def test_nobody_is_blamed_for_larger_requests(verdict: str) -> None:
    """Where nothing is slower, no stage has the accent."""
    assert culprit(stages(("eng.prefill", 9, True)), verdict=verdict) is None


def test_nobody_is_blamed_where_most_of_the_excess_is_larger_work() -> None:
    """Long prompts take long to prefill; that is their size, not the engine."""
    assert culprit(stages(("eng.prefill", 100, True), rate_ns=10), verdict="too_few_blocks") is None
    assert culprit(stages(("eng.prefill", 100, True), rate_ns=60), verdict="too_few_blocks") == "eng.prefill"


def test_mix_and_rate_are_said_with_their_signs() -> None:
    """Larger requests that are cheaper per token read as such; the two sum to the excess."""
    split = pl.DataFrame({"mix_ns": [900_000_000, 1_000_000], "rate_ns": [-400_000_000, 0]})
    assert work_text(split) == "Of the excess: +901 ms other work, -400 ms slower at the same work."
