"""What is wrong and since when, for requests, jobs and data; then what is in the store."""

from functools import partial

import polars as pl
import streamlit as st
from investigation.headlines import (
    all_were_served,
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
from tracekit.schema import Outcome
from tracekit.wording import count_text, moment_text, period_text

file = store_file()
page_header("Overview", purpose=f"What stands out in {markdown(file.path)}.")
stop_if_empty(file)

contents = rows(file, "explore/store_contents").row(0, named=True)
outcomes = rows(file, "explore/unit_outcomes")
units = dict(outcomes.group_by("kind").agg(pl.col("unit_count").sum()).iter_rows())

st.subheader("What stands out", anchor=False)
# What nobody can have is not asked for: on a large store every question takes its time.
has_jobs = not rows(file, "jobs/jobs", job=None).is_empty()
all_served = set(outcomes.filter(kind="request")["outcome"]) <= {Outcome.OK}
if has_jobs:
    finding_card(file, "Failed training jobs", job_failures)
if not all_served:
    finding_card(file, "Failed requests", request_failures, is_calm=False)
if units.get("request"):
    has_tokens = outcomes.filter(kind="request")["ttft_count"].sum() > 0
    finding_card(file, "Slow requests", partial(slow_requests, has_tokens=has_tokens))
if units.get("step"):
    finding_card(file, "Slow training steps", slow_steps)
if has_jobs:
    finding_card(file, "Training jobs", job_ledger)
if units.get("request"):
    served = partial(all_were_served, count=units["request"])
    finding_card(file, "Failed requests", served if all_served else request_failures, is_calm=True)
finding_card(file, "Data quality", data_quality)
if not units and not has_jobs:
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
