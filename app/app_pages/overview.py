"""What is in the store, how far it can be trusted, and the headlines of every question."""

import polars as pl
import streamlit as st
from investigation.headlines import has_jobs, job_card, outcomes_card, request_card, step_card
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.store import quality_answer, rows, store_file
from investigation.tables import ingest_table, quality_table, service_table

from tracekit.foreign import markdown
from tracekit.schema import Outcome
from tracekit.wording import count_text, moment_text, period_text

file = store_file()
contents = rows(file, "explore/store_contents").row(0, named=True)
quality = quality_answer(file)
with page_header("Overview", purpose=f"What is in {markdown(file.path)}, and what stands out."):
    quality_badge(quality)
stop_if_empty(file)

outcomes = rows(file, "explore/unit_outcomes")
units = dict(outcomes.group_by("kind").agg(pl.col("unit_count").sum()).iter_rows())
counts = {
    "Spans": contents["span_count"],
    "Requests": units.get("request", 0),
    "Steps (each rank's part)": units.get("step", 0),
    "Metric points": contents["metric_point_count"],
    "Log records": contents["log_count"],
    "Services": contents["service_count"],
}
with st.container(horizontal=True):
    for label, count in counts.items():
        if count or label == "Spans":
            st.metric(label, count_text(count), border=True)
st.caption(
    f"{moment_text(contents['first_ns'])} to {moment_text(contents['last_ns'])}: "
    f"{period_text(contents['last_ns'] - contents['first_ns'])} of data"
)

st.subheader("Headlines", anchor=False)
job_card(file)
cards = [card for kind, card in (("request", request_card), ("step", step_card)) if units.get(kind)]
if cards:
    # Requests that failed are told before those that were slow.
    has_failed = not outcomes.filter(kind="request", outcome=Outcome.FAILED).is_empty()
    ordered = [outcomes_card, *cards] if has_failed else [*cards, outcomes_card]
    for column, card in zip(st.columns(len(ordered)), ordered, strict=True):
        with column.container(border=True, height="stretch"):
            card(file, outcomes)
elif not has_jobs(file):
    st.caption("No requests, training steps or jobs were made of these spans.")

left, right = st.columns(2)
with left:
    st.subheader("Services that sent spans", anchor=False)
    service_table(file)
with right:
    st.subheader("What the data can bear", anchor=False)
    quality_table(quality)
st.subheader("What arrived", anchor=False)
ingest_table(file)
