"""Where paid accelerator time of training jobs went."""

import streamlit as st
from investigation.address import Address
from investigation.job_ledger import job_ledger
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.store import rows, store_file

file = store_file()
badge = page_header("Ledger", purpose="How much of the paid accelerator time trained, and where the rest went.")
stop_if_empty(file)
address = Address("ledger", ("price",))
address.amount("price")
address.stop_if_refused()
if rows(file, "jobs/jobs", job=None).is_empty():
    st.info("This store has no training jobs, so there is no accelerator time to account for.")
else:
    answer = job_ledger(file)
    with badge:
        quality_badge(answer.evidence)
