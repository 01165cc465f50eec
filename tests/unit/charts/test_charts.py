"""Charts show every row that they are given, exactly."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit import charts
from tracekit.charts import ACCENT
from tracekit.errors import UsageError
from tracekit.schema import UNATTRIBUTED

STAGES = pl.DataFrame(
    {
        "stage": ["gw.auth", "eng.queue", "unattributed"],
        "owner": ["platform", "platform", "nobody"],
        "excess_ns": [-1_000_001, 412_000_123, 300_000_000],
        "share": [-0.0014, 0.5795, 0.4219],
        "low_ns": [None, 300_000_000, 150_000_000],
        "high_ns": [None, 520_000_000, 450_000_000],
        "significant": [None, True, False],
    }
)


def rows_of(chart: Any, column: str) -> list[dict[str, Any]]:
    """The rows of the chart's dataset that has a column."""
    return next(rows for rows in chart.to_dict()["datasets"].values() if rows and column in rows[0])


def marks(chart: Any) -> list[str]:
    """The marks of a layered chart."""
    return [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]


def test_the_excess_chart_draws_every_stage_the_largest_first() -> None:
    """Negative parts and what nobody explains are drawn like all others, in one unit."""
    rows = rows_of(charts.excess_by_stage(STAGES), "excess")
    assert [(row["stage"], row["excess"], row["excess_exact"]) for row in rows] == [
        ("eng.queue", 412.000123, "412,000,123 ns"),
        ("unattributed", 300.0, "300,000,000 ns"),
        ("gw.auth", -1.000001, "-1,000,001 ns"),
    ]


def test_the_excess_chart_says_what_is_certain() -> None:
    """No interval and no test is neither significant nor not significant."""
    rows = rows_of(charts.excess_by_stage(STAGES), "excess")
    assert [(row["certainty"], row["interval"]) for row in rows] == [
        ("yes", "300 ms to 520 ms"),
        ("no", "150 ms to 450 ms"),
        ("cannot be told", "cannot be told"),
    ]


def test_the_culprit_has_the_accent_and_no_other() -> None:
    """One accent a chart."""
    chart = charts.excess_by_stage(STAGES, culprit="eng.queue")
    assert [row["stage"] for row in rows_of(chart, "excess") if row["is_culprit"]] == ["eng.queue"]
    assert ACCENT in str(chart.to_dict())
    assert not any(row["is_culprit"] for row in rows_of(charts.excess_by_stage(STAGES), "excess"))


def test_the_other_rule_is_drawn_where_it_differs() -> None:
    """Ambiguity is a mark of its own beside the interval, and no ambiguity is none."""
    same = STAGES.with_columns(pl.col("excess_ns").alias("alternative_excess_ns"))
    both = STAGES.with_columns((pl.col("excess_ns") // 2).alias("alternative_excess_ns"))
    assert "point" not in marks(charts.excess_by_stage(STAGES))
    assert "point" not in marks(charts.excess_by_stage(same))
    assert "point" in marks(charts.excess_by_stage(both))
    assert rows_of(charts.excess_by_stage(both), "alternative")[0]["alternative_exact"] == "206,000,061 ns"


def test_the_largest_cause_that_has_a_name_is_the_culprit() -> None:
    """Waiting that nobody can be charged with is drawn, but it is nobody's fault."""
    causes = pl.DataFrame(
        {
            "culprit_rank": [None, 2, 2],
            "culprit_stage": ["unattributed", "step.data_load", "step.compute"],
            "culprit_operation": ["", "data_load", "forward"],
            "excess_ns": [90_000_000, 60_000_000, -10_000_000],
        }
    )
    rows = rows_of(charts.excess_by_cause(causes), "excess")
    assert [(row["bar"], row["stage"], row["excess"], row["is_culprit"]) for row in rows] == [
        ("nobody · ", "unattributed", 90.0, False),
        ("rank 2 · data_load", "step.data_load", 60.0, True),
        ("rank 2 · forward", "step.compute", -10.0, False),
    ]


def test_small_causes_are_one_bar_that_says_how_many() -> None:
    """The bars still sum to the whole."""
    causes = pl.DataFrame(
        {
            "culprit_rank": [0, 1, 2, 3],
            "culprit_stage": ["step.compute"] * 4,
            "culprit_operation": ["forward"] * 4,
            "excess_ns": [1_000_000, 3_000, -1_000, 2_000],
        }
    )
    rows = rows_of(charts.excess_by_cause(causes), "excess")
    assert [(row["bar"], row["excess_exact"]) for row in rows] == [
        ("rank 0 · forward", "1,000,000 ns"),
        ("3 others", "4,000 ns"),
    ]


def test_a_stage_can_be_chosen_by_its_bar() -> None:
    """The selection is called `stage` and carries the stage's code."""
    parameters = charts.excess_by_stage(STAGES).to_dict()["params"]
    assert [(item["name"], item["select"]["fields"]) for item in parameters] == [("stage", ["stage"])]


@settings(max_examples=20)
@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=60), st.integers(0, 10**12))
def test_every_unit_is_in_exactly_one_bar(values: list[int], threshold_ns: int) -> None:
    """Bars pile up to all units of a cohort, whatever the spread of the metric."""
    cohorts = ["slow" if value >= threshold_ns else "other" for value in values]
    units = pl.DataFrame({"value_ns": values, "cohort": cohorts})
    rows = rows_of(charts.distribution(units, metric="ttft", threshold_ns=threshold_ns), "between")
    for cohort in set(cohorts):
        assert sum(row["unit_count"] for row in rows if row["cohort"] == cohort) == cohorts.count(cohort)
    assert all(row["top"] - row["bottom"] == row["unit_count"] for row in rows)


def test_a_unit_outside_the_limits_of_a_distribution_is_refused() -> None:
    """Nothing is left out in silence."""
    units = pl.DataFrame({"value_ns": [5, 50], "cohort": ["other", "slow"]})
    with pytest.raises(UsageError, match="1 units lie outside"):
        charts.distribution(units, metric="ttft", limits_ns=(0, 10))


def test_a_wide_distribution_has_a_logarithmic_axis() -> None:
    """A tail a hundred times the middle leaves the middle readable."""
    units = pl.DataFrame({"value_ns": [60, 90], "cohort": ["other", "slow"]})

    def axis_type(limits_ns: tuple[int, int]) -> str:
        chart = charts.distribution(units, metric="ttft", limits_ns=limits_ns).to_dict()
        return chart["layer"][0]["encoding"]["x"]["scale"]["type"]

    assert (axis_type((1, 100)), axis_type((50, 100)), axis_type((0, 100))) == ("log", "linear", "linear")


def test_the_piles_over_time_are_as_high_as_the_metric() -> None:
    """The stages of a window sum to its mean, in one order throughout."""
    windows = pl.DataFrame(
        {
            "window_start_ns": [0, 0, 10, 10],
            "window_end_ns": [10, 10, 20, 20],
            "stage": ["eng.queue", "eng.prefill", "eng.prefill", "eng.queue"],
            "mean_ns": [3e6, 5e6, 7e6, 0.0],
            "unit_count": [4, 4, 2, 2],
        }
    )
    rows = rows_of(charts.stages_over_time(windows), "bottom")
    assert [(row["stage"], row["bottom"], row["top"]) for row in rows] == [
        ("eng.prefill", 0.0, 5.0),
        ("eng.queue", 5.0, 8.0),
        ("eng.prefill", 0.0, 7.0),
        ("eng.queue", 7.0, 7.0),
    ]


BARS = pl.DataFrame(
    {
        "row": [0, 1],
        "label": ["llm_request", "llm_request"],
        "depth": [0, 1],
        "start_ns": [0, 10],
        "end_ns": [2**53 + 1, 1_000],
        "stage": ["unattributed", "step.straggler_wait"],
        "owner": ["nobody", "application"],
        "is_virtual": [False, True],
        "note": ["", ""],
    }
)
SEGMENTS = pl.DataFrame(
    {"row": [1], "start_ns": [10], "end_ns": [1_000], "stage": ["step.straggler_wait"], "note": ["rank 2"]}
)


def test_a_timeline_has_a_row_for_every_bar_also_for_equal_names() -> None:
    """Rows are told apart by their number, so two spans of one name are two rows."""
    places = charts.timeline(BARS, SEGMENTS).to_dict()["layer"][0]["encoding"]["y"]["sort"]
    assert len(set(places)) == 2


def test_a_timeline_says_the_exact_length_where_a_browser_would_round() -> None:
    """Beyond 2^53 a browser's numbers skip nanoseconds; the tooltip does not."""
    rows = rows_of(charts.timeline(BARS, SEGMENTS), "is_virtual")
    assert "9,007,199,254,740,993 ns" in rows[0]["lasts"]


def test_waiting_is_drawn_as_waiting() -> None:
    """A rank that waits for another one does not look like one that works."""
    work = SEGMENTS.with_columns(pl.lit("step.compute").alias("stage"), pl.lit(0).alias("row"))
    chart = charts.timeline(BARS, pl.concat([SEGMENTS, work.select(SEGMENTS.columns).cast(SEGMENTS.schema)])).to_dict()
    owned = chart["layer"][1]
    rows = chart["datasets"][owned["data"]["name"]]
    assert [(row["stage"], row["is_waiting"]) for row in rows] == [
        ("step.straggler_wait", True),
        ("step.compute", False),
    ]
    assert owned["encoding"]["fillOpacity"]["condition"] == [{"test": "datum.is_waiting", "value": 0.3}]


def test_only_the_highlighted_row_is_framed() -> None:
    """The frame is a layer of its own with one row."""
    plain, framed = charts.timeline(BARS, SEGMENTS), charts.timeline(BARS, SEGMENTS, highlighted=1)
    assert len(framed.to_dict()["layer"]) == len(plain.to_dict()["layer"]) + 1


def test_charts_of_nothing_are_charts() -> None:
    """An empty answer draws an empty chart instead of failing."""
    for chart in (
        charts.excess_by_stage(STAGES.clear()),
        charts.timeline(BARS.clear(), SEGMENTS.clear()),
    ):
        assert chart.to_dict()["$schema"]


def test_time_that_nobody_explains_is_grey() -> None:
    """`unattributed` looks like an absence everywhere."""
    assert charts.stage_colour(UNATTRIBUTED) == "#a3a8b0"


CELLS = pl.DataFrame(
    {
        "first_ns": [0, 0], "last_ns": [10**9, 10**9], "least_ns": [0, 10**6], "below_ns": [1, 2 * 10**6],
        "unit_count": [1, 7], "failed_count": [0, 2],
    }
)  # fmt: skip


def test_a_heat_map_has_a_mark_a_cell_and_a_logarithm_without_zero() -> None:
    """A cell is known by its number when it is clicked; one of no time begins where a logarithm can."""
    chart = charts.latency_heat(CELLS)
    rows = rows_of(chart, "unit_count")
    assert [(row["number"], row["unit_count"], row["failed_count"]) for row in rows] == [(0, 1, 0), (1, 7, 2)]
    assert all(row["least"] > 0 for row in rows)
    assert rows[1]["between"] == "1 ms to 2 ms"
    assert chart.to_dict()["params"][0]["select"]["fields"] == ["number"]
    assert charts.latency_heat(CELLS.clear()).to_dict()
