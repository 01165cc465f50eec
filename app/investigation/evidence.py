"""From a stage to the traces that prove it."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.pick import TRACE_PAGE, StepPick, unit_address
from investigation.store import StoreFile
from investigation.timelines import step_section, trace_section
from tracekit.charts import culprit
from tracekit.foreign import markdown, markdown_code
from tracekit.wording import METRIC_NAMES, duration_text


def stage_choice(answer: Any) -> str | None:
    """The stage whose proof is shown: chosen by a click or here, else the culprit or the largest excess."""
    stages = answer.stages.sort("excess_ns", "stage", descending=[True, False])["stage"].to_list()
    if not stages:
        return None
    asked = str(st.query_params.get("stage") or "")
    if asked and asked not in stages:
        st.warning(f"The link asks for stage {markdown_code(asked[:200])}, which this answer has not.")
        return None
    first = culprit(answer.stages, verdict=answer.verdict) or stages[0]
    ordered = [first, *(stage for stage in stages if stage != first)]
    return st.selectbox("Stage", ordered, key="stage", bind="query-params", width=320)


def proof_section(file: StoreFile, answer: Any) -> None:
    """The slow units with the most time in a stage, and the chosen one as a timeline."""
    st.subheader("The traces that prove it", anchor=False)
    stage = stage_choice(answer)
    if stage is None:
        return
    exemplars = answer.exemplars.filter(pl.col("stage") == stage)
    if exemplars.is_empty():
        st.caption(f"None of the slow ones spent time in {markdown(stage)}.")
        return
    st.caption(f"The slow ones with the most time in {markdown(stage)}. Choose one to see it below.")
    chosen = _exemplar_table(exemplars, metric=answer.metric, stage=stage)
    st.page_link(TRACE_PAGE, label="On its own page", icon=":material/open_in_full:", query_params=unit_address(chosen))
    if answer.unit == "step":
        step_section(file, StepPick(chosen["job_id"], chosen["attempt"], chosen["step"]))
    else:
        trace_section(file, chosen["trace_id"], stage=stage)


def _exemplar_table(exemplars: pl.DataFrame, *, metric: str, stage: str) -> dict[str, Any]:
    """The units as a table; returns the row that is chosen (the first one until another is)."""
    durations = {"value_ns": METRIC_NAMES[metric], "self_ns": f"in {stage}"}
    shown = exemplars.with_columns(
        pl.col(name).map_elements(duration_text, return_dtype=pl.String).alias(label)
        for name, label in durations.items()
    )
    identity = ["job_id", "attempt", "step", "rank"] if metric == "step" else ["trace_id", "service_name", "name"]
    event = dataframe(
        shown,
        column_order=[*identity, *durations.values()],
        column_config={"trace_id": "trace", "service_name": "service", "job_id": "job"},
        hide_index=True,
        key=f"exemplars_{stage}",
        on_select="rerun",
        selection_mode="single-row",
        alt=f"Slow units with the most time in {stage}",
    )
    picked = event.selection.rows
    return exemplars.row(picked[0] if picked else 0, named=True)
