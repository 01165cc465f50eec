"""The parts of the tail page that show where the excess is and how sure that is."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.question import TailQuestion
from investigation.scope import and_where, narrow_to_time
from investigation.selection import cohorts, measured_statement, measured_units, stages_over_time
from investigation.sql_link import statement_link
from investigation.store import StoreFile
from tracekit import charts
from tracekit.foreign import markdown
from tracekit.schema import METRICS
from tracekit.wording import METRIC_NAMES, count_text, counted, duration_text, exact_text

STAGE_CHART = "stage_chart"
TIME_CHART = "time_chart"
VALUE_CHART = "value_chart"
NS_A_MS = 1_000_000
_NS_COLUMNS = {
    "tail_mean_ns": "mean of the slow (ns)",
    "baseline_mean_ns": "mean of the baseline (ns)",
    "excess_ns": "excess (ns)",
    "low_ns": "low (ns)",
    "high_ns": "high (ns)",
    "alternative_excess_ns": "excess by the other rule (ns)",
    "ambiguity_ns": "ambiguity (ns)",
    "mix_ns": "of it: other units (ns)",
    "rate_ns": "of it: slower (ns)",
    "calls_ns": "more calls (ns)",
    "per_call_ns": "longer calls (ns)",
}


def figures(answer: Any) -> None:
    """What is compared, in four figures; their exact nanoseconds are in the help texts."""
    shown = {
        "Slow from": answer.threshold_ns,
        "Mean of the slow": answer.tail_mean_ns,
        "Mean of the baseline": answer.baseline_mean_ns,
        "Excess to explain": answer.excess_ns,
    }
    with st.container(horizontal=True):
        st.metric("Slow ones", f"{count_text(answer.tail_count)} of {count_text(answer.count)}", border=True)
        for label, value in shown.items():
            st.metric(label, duration_text(value), help=exact_text(value), border=True)


def split_section(answer: Any) -> None:
    """The excess by stage: bars, intervals, and every figure in a table."""
    st.subheader("Where the excess is", anchor=False)
    st.caption(
        "Each bar is a stage's part of the excess; the parts sum to it exactly. Whiskers: 95 % interval. "
        "Diamond: what the other rule of who owns overlapping time would say, where it differs. Faded: may be chance. "
        "Click a bar for the traces that prove it."
    )
    st.altair_chart(
        answer.chart(),
        key=STAGE_CHART,
        on_select=take_over_stage,
        alt="Part of the excess by stage with 95 % intervals",
    )
    st.caption(work_text(answer.stages))
    with st.expander("All figures, and the split by class of work", icon=":material/table_rows:"):
        stage_table(answer.stages)
        class_table(answer.classes)


def take_over_stage() -> None:
    """A click on a bar chooses the stage in the select box, and with it in the page's address."""
    picked = st.session_state[STAGE_CHART].selection.stage
    if picked:
        st.session_state["stage"] = picked[0]["stage"]


def stage_table(stages: pl.DataFrame) -> None:
    """Every figure of the split, exact, in nanoseconds."""
    dataframe(
        stages,
        placeholder="–",
        column_config={
            "share": st.column_config.NumberColumn("share", format="percent"),
            "tail_calls": st.column_config.NumberColumn("calls, slow", format="%.2f"),
            "baseline_calls": st.column_config.NumberColumn("calls, baseline", format="%.2f"),
            **{name: st.column_config.NumberColumn(label, format="localized") for name, label in _NS_COLUMNS.items()},
        },
        hide_index=True,
        alt="All figures of the split by stage",
    )


def work_text(stages: pl.DataFrame) -> str:
    """How much of the excess is other work (mix) and how much is slowness at the same work (rate)."""
    parts = {"other work": "mix_ns", "slower at the same work": "rate_ns"}
    sums = {label: stages[column].sum() for label, column in parts.items()}
    return (
        "Of the excess: " + ", ".join(f"{duration_text(ns, signed=True)} {label}" for label, ns in sums.items()) + "."
    )


def class_table(classes: pl.DataFrame) -> None:
    """The split by classes of units that should take the same time; the parts sum to the excess."""
    text = {"return_dtype": pl.String}
    dataframe(
        classes.with_columns(
            pl.col("mix_ns", "rate_ns").map_elements(lambda value: duration_text(value, signed=True), **text)
        ),
        column_config={
            "class": "class of work",
            "presence": "occurs in",
            "tail_count": "slow",
            "baseline_count": "baseline",
            "tail_share": st.column_config.NumberColumn("share of the slow", format="percent"),
            "baseline_share": st.column_config.NumberColumn("share of the baseline", format="percent"),
            "mix_ns": "other work",
            "rate_ns": "slower",
        },
        hide_index=True,
        alt="The excess by class of work",
    )


def causes_section(answer: Any) -> None:
    """For steps: whom the ranks waited for, and what that rank was doing meanwhile."""
    if answer.causes.is_empty():
        return
    st.subheader("Whom they waited for", anchor=False)
    st.caption(
        "`step.straggler_wait`, split by the rank that arrived last and what it was doing meanwhile; "
        "the parts sum to it exactly."
    )
    st.altair_chart(charts.excess_by_cause(answer.causes), alt="Waiting by the rank waited for")


def distribution_section(file: StoreFile, question: TailQuestion, answer: Any) -> None:
    """All units of the question by their metric, those that the answer compares marked."""
    st.subheader("Distribution", anchor=False)
    chart, unit_count, longest_ns = drawn_distribution(file, question, answer)
    st.caption(f"{METRIC_NAMES[question.metric]} of {counted(unit_count, 'unit')}. Drag to ask about a part of them.")
    st.session_state["drawn_values"] = (METRICS[question.metric].column, longest_ns)
    st.altair_chart(
        chart, key=VALUE_CHART, on_select=take_over_values, alt=f"Histogram of {METRIC_NAMES[question.metric]}"
    )
    statement_link(measured_statement(question.metric, question.where, question.outcome))


@st.cache_resource(max_entries=16, show_spinner=False)
def drawn_distribution(file: StoreFile, question: TailQuestion, _answer: Any) -> tuple[Any, int, int]:
    """The chart of `distribution_section`, how many units it has, and the longest of them.

    Drawn once for a question: a click elsewhere on the page is not to count a million units again.
    """
    units = measured_units(file, question.metric, question.where, question.outcome)
    if _answer.comparison == "selection" and question.baseline != "auto":
        others = measured_units(file, question.metric, question.baseline, question.outcome)
        units = pl.concat([units, others]).unique("unit_id")
    marked = cohorts(units, _answer.units)
    chart = charts.distribution(marked, metric=question.metric, threshold_ns=_answer.threshold_ns)
    return chart, marked.height, int(marked["value_ns"].max() or 0)


def over_time_section(file: StoreFile, question: TailQuestion) -> None:
    """The mean by stage over the clock: when did it begin?"""
    st.subheader("Over time", anchor=False)
    units = measured_units(file, question.metric, question.where, question.outcome)
    if units.is_empty():
        st.caption("No units to draw.")
        return
    st.caption(f"Mean {METRIC_NAMES[question.metric]} of all of this selection, by stage. Drag to ask about a time.")
    windows = stages_over_time(file, question.metric, question.where, question.outcome)
    st.altair_chart(
        charts.stages_over_time(windows), key=TIME_CHART, on_select=take_over_time, alt="Mean time by stage over time"
    )


def take_over_time() -> None:
    """A range of the clock that is dragged becomes the scope of all pages."""
    take_over_range(TIME_CHART)


def take_over_range(key: str) -> None:
    """The scope of all pages is what was dragged in a chart over time."""
    ends = st.session_state[key].selection.get("time", {}).get("start_ms")
    if ends:
        narrow_to_time(*(round(end) * NS_A_MS for end in ends))


def take_over_values() -> None:
    """A range of the metric that is dragged becomes a condition of the scope."""
    ends = st.session_state[VALUE_CHART].selection.get("range", {}).get("low")
    if not ends:
        return
    column, longest_ns = st.session_state["drawn_values"]
    _, unit_ns = charts.axis_unit(longest_ns + 1)
    low_ns, high_ns = (round(end * unit_ns) for end in ends)
    and_where(f"{column} >= {low_ns} AND {column} < {high_ns}")


def left_out(answer: Any) -> None:
    """Which units did not enter, and why: counted, never silent."""
    if not answer.left_out.is_empty():
        parts = [f"{count_text(row['unit_count'])} ({row['reason']})" for row in answer.left_out.iter_rows(named=True)]
        st.caption(markdown("Not entered: " + ", ".join(parts)))
