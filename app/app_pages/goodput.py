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
jobs = goodput_answer(file).training.jobs["job_id"].to_list()
address = Address("goodput", ("slo", "where", "job", "price"))
address.choice("job", jobs, missing=f"there is no ledger of this job in this store; there are {len(jobs)} others")
address.amount("price")
address.stop_if_refused()
if has_requests:
    request_goodput(file)
if jobs:
    job_ledger(file)
if not has_requests and not jobs:
    st.info("This store has neither requests nor training jobs, so there is no goodput to tell.")
