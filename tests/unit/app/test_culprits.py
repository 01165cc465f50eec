"""Whom ranks waited for: in a line each on the overview, and as the row of a step's timeline that is chosen first."""

from __future__ import annotations

import polars as pl
from investigation.culprit_lines import culprit_lines
from investigation.marks import late_rank, late_row

_CULPRIT = {
    "job_id": "j", "attempt": 0, "place": "2", "rank": 2, "pipeline_stage": None, "stage": "step.compute",
    "operation": "forward", "first_step": 4, "last_step": 9, "lost_ns": 2 * 10**9, "share": 0.05,
}  # fmt: skip


def culprits(*rows: dict[str, object]) -> pl.DataFrame:
    """Rows of `StragglersAnswer.culprits`."""
    return pl.DataFrame([_CULPRIT | row for row in rows], schema_overrides={"pipeline_stage": pl.Int64})


def test_a_rank_has_a_line_of_its_own() -> None:
    assert culprit_lines(culprits({})) == ["Rank 2, forward, steps 4-9: 2 s of accelerator time lost (5.0%)"]


def test_many_ranks_of_a_host_are_the_host() -> None:
    """Three and more that are slow alike are one line, with the sum of what they lost."""
    alike = [{"rank": rank, "place": "node-1"} for rank in (8, 9, 10)]
    assert culprit_lines(culprits(*alike)) == [
        "Host node-1, all 3 of its slow ranks (8 to 10), forward, steps 4-9: 6 s of accelerator time lost (15.0%)"
    ]
    assert len(culprit_lines(culprits(*alike[:2]))) == 2


def test_the_costliest_line_comes_first_and_what_no_span_explains_is_said() -> None:
    """Ranks of a host together may cost more than the one rank that costs most."""
    alike = [
        {"rank": rank, "place": "node-1", "stage": "unattributed", "operation": "step", "lost_ns": 10**9}
        for rank in range(4)
    ]
    first, second = culprit_lines(culprits({}, *alike))
    assert first.startswith("Host node-1, all 4 of its slow ranks (0 to 3), in time that no span explains")
    assert second.startswith("Rank 2")


def waits(*rows: tuple[int, int | None, str | None, int]) -> pl.DataFrame:
    """Rows of `queries/explore/step_waits_of.sql`."""
    schema = {"rank": pl.Int64, "culprit_rank": pl.Int64, "culprit_stage": pl.String, "wait_ns": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row").with_columns(culprit_operation=pl.col("culprit_stage"))


def test_the_late_rank_is_the_one_waited_for_longest_in_all() -> None:
    """Whatever it was doing; of that, the most is told. Waiting for nobody in particular names nobody."""
    found = late_rank(waits((0, 2, "a", 5), (1, 2, "b", 6), (3, 1, "a", 10), (3, None, None, 100)))
    assert found == {"culprit_rank": 2, "culprit_stage": "b", "culprit_operation": "b", "wait_ns": 11}
    assert late_rank(waits((3, None, None, 100))) is None


def test_the_late_row_lies_in_the_lane_of_its_rank() -> None:
    """Rank 1 is not rank 10."""
    bars = pl.DataFrame(
        {
            "row": [0, 1, 2, 3],
            "depth": [0, 1, 0, 1],
            "last_row": [2, 2, 4, 4],
            "label": ["rank 10 · n", "x", "rank 1", "x"],
        }
    )
    owned = {"row": [1, 3], "stage": ["load", "load"], "start_ns": [0, 0], "end_ns": [90, 10]}
    assert late_row(bars, pl.DataFrame(owned), 1, "load") == 3
    assert late_row(bars, pl.DataFrame(owned), 1, "compute") == 2
    assert late_row(bars, pl.DataFrame(owned), 7, "load") is None
