"""What is wrong and since when, for requests, jobs and data; then what is in the store."""

from functools import partial

import polars as pl
import streamlit as st
from investigation.headlines import (
    data_quality,
    finding_card,
    job_failures,
    job_ledger,
    request_failures,
    slow_requests,
    slow_steps,
)
from investigation.page import page_header, stop_if_empty
from investigation.store import rows, store_file
from investigation.tables import outcome_badges

from tracekit.foreign import markdown
from tracekit.wording import count_text, moment_text, period_text

file = store_file()
page_header("Overview", purpose=f"What stands out in {markdown(file.path)}.")
stop_if_empty(file)

contents = rows(file, "explore/store_contents").row(0, named=True)
outcomes = rows(file, "explore/unit_outcomes")
units = dict(outcomes.group_by("kind").agg(pl.col("unit_count").sum()).iter_rows())

st.subheader("What stands out", anchor=False)
finding_card(file, "Failed training jobs", job_failures)
finding_card(file, "Failed requests", request_failures, is_calm=False)
if units.get("request"):
    has_tokens = outcomes.filter(kind="request")["ttft_count"].sum() > 0
    finding_card(file, "Slow requests", partial(slow_requests, has_tokens=has_tokens))
if units.get("step"):
    finding_card(file, "Slow training steps", slow_steps)
finding_card(file, "Training jobs", job_ledger)
finding_card(file, "Failed requests", request_failures, is_calm=True)
finding_card(file, "Data quality", data_quality)
if not units:
    st.caption("No requests or training steps were made of these spans.")

st.subheader("What is in the store", anchor=False)
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
outcome_badges(outcomes)
