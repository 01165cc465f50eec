"""Incidents: their first cause, what it took with it, and the way to the span that proves it."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.pick import TRACE_PAGE
from tracekit.foreign import markdown, named
from tracekit.wording import counted, duration_text, first_cause_text, hours_text, moment_text

_ROLES = {"initiating": "failed first", "cascade": "only followed"}


def job_incidents(training: Any) -> None:
    """One row a failed attempt of a training job; choosing one shows who only followed."""
    st.subheader("Training jobs", anchor=False)
    incidents = training.incidents
    shown = pl.DataFrame([_job_incident(row) for row in incidents.iter_rows(named=True)])
    chosen = _table(shown, key="job_incidents", alt="Failures of training jobs with their first cause and cost")
    row = incidents.row(chosen, named=True)
    st.markdown(f"**Who had which part** in attempt {row['attempt']} of {markdown(named(row['job_id'] or 'the job'))}")
    mine = (pl.col("job_id") == row["job_id"]) & (pl.col("attempt") == row["attempt"])
    roles = training.roles.filter(mine).select(
        pl.col("role").cast(pl.String).replace(_ROLES).alias("part"),
        pl.col("manner").alias("how it ended"),
        pl.col("process_count").alias("processes"),
    )
    dataframe(roles, hide_index=True, alt="How many processes had which part in the failure")
    _trace_link(row["trace_id"], f"told by its {row['source']}")


def _job_incident(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "job": row["job_id"],
        "attempt": row["attempt"],
        "began (UTC)": moment_text(row["onset_ns"]),
        "lost": hours_text(int(row["lost_ns"] or 0)),
        "noticed after": duration_text(row["declared_ns"] - row["onset_ns"]),
        "followed": row["blast_radius"],
        "owner": row["owner"],
        "told by": row["rule"],
        "first cause": first_cause_text(row),
    }


def request_incidents(serving: Any) -> None:
    """One row a cause and time; choosing one shows its evidence and opens a trace of it."""
    counts = {
        "Attempted": serving.attempted,
        "Failed": serving.failed,
        "of them timed out": serving.timed_out,
        "Aborted": serving.aborted,
        "Refused": serving.rejected + serving.shed,
        "Invalid": serving.invalid,
    }
    st.subheader("Requests", anchor=False)
    with st.container(horizontal=True):
        for label, count in counts.items():
            st.metric(label, f"{count:,}", border=True)
    _incident_table(serving, serving.incidents, key="request_incidents", title="What failed first")
    _incident_table(serving, serving.refusals, key="refusals", title="What was refused")
    recovered = serving.recovered.filter(pl.col("request_count") > 0)
    if not recovered.is_empty():
        st.markdown("**What failed and was made good**")
        lost = pl.Series("time lost", [duration_text(ns) for ns in recovered["lost_ns"]], dtype=pl.String)
        shown = recovered.select("how", pl.col("request_count").alias("requests"), lost)
        dataframe(shown, hide_index=True, alt="Requests in which something failed that were served")


def _incident_table(serving: Any, incidents: pl.DataFrame, *, key: str, title: str) -> None:
    if incidents.is_empty():
        return
    st.markdown(f"**{title}**")
    shown = pl.DataFrame([_request_incident(row) for row in incidents.iter_rows(named=True)])
    chosen = _table(shown, key=key, alt=f"{title}: incidents of requests with their first cause")
    row = incidents.row(chosen, named=True)
    st.markdown(f"**Evidence** from the first request of incident {chosen + 1}")
    evidence = serving.evidence.filter(incident=row["incident"])
    dataframe(_told(evidence), hide_index=True, alt="Evidence: spans, exceptions and log records of its first request")
    _trace_link(row["trace_id"], counted(row["failed_count"], "request"))


def _told(evidence: pl.DataFrame) -> pl.DataFrame:
    """Evidence with its times as people read them."""
    moments = [None if ns is None else moment_text(ns) for ns in evidence["time_ns"]]
    shown = evidence.with_columns(pl.Series("time (UTC)", moments, dtype=pl.String))
    return shown.select("source", "time (UTC)", pl.col("span_id").alias("span"), "text")


def _request_incident(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "from (UTC)": moment_text(row["first_ns"]),
        "until": moment_text(row["last_ns"]),
        "requests": row["failed_count"],
        "service": row["service"],
        "host": row["host"],
        "stage": row["stage"],
        "error": row["error_type"],
        "time lost": duration_text(row["lost_ns"]),
        "cancelled with them": row["collateral_count"],
        "kind": row["kind"],
        "told by": row["rule"],
        "message": row["message"],
    }


def _table(shown: pl.DataFrame, *, key: str, alt: str) -> int:
    """The number of the row that is chosen; the first until another is."""
    if shown.height > 1:
        st.caption("Choose a row to see another one below.")
    event = dataframe(
        shown, hide_index=True, key=key, on_select="rerun", selection_mode="single-row", placeholder="–", alt=alt
    )
    return event.selection.rows[0] if event.selection.rows else 0


def _trace_link(trace_id: str | None, told: str) -> None:
    if trace_id is not None:
        st.page_link(
            TRACE_PAGE,
            label=f"Open the trace that shows it ({told})",
            icon=":material/view_timeline:",
            query_params={"trace": trace_id},
        )
