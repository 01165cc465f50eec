"""Where paid accelerator time went, and how much of what clients asked for was good."""

import streamlit as st
from investigation.address import Address
from investigation.goodput import job_ledger, request_goodput
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.store import goodput_answer, quality_answer, rows, store_file

file = store_file()
badge = page_header("Goodput", purpose="How much of the paid time trained, and how many requests were good.")
stop_if_empty(file)
with badge:
    quality_badge(quality_answer(file))

has_requests = "request" in rows(file, "explore/unit_outcomes")["kind"].to_list()
has_jobs = not goodput_answer(file).training.jobs.is_empty()
address = Address("goodput", ("slo", "where", "job", "price"))
if has_requests:
    request_goodput(file)
if has_jobs:
    job_ledger(file, address)
address.stop_if_refused()
if not has_requests and not has_jobs:
    st.info("This store has neither requests nor training jobs, so there is no goodput to tell.")
