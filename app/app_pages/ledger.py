"""Where paid accelerator time of training jobs went."""

import streamlit as st
from investigation.address import Address
from investigation.job_ledger import job_ledger
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.store import goodput_answer, quality_answer, store_file

file = store_file()
badge = page_header("Ledger", purpose="How much of the paid accelerator time trained, and where the rest went.")
stop_if_empty(file)
address = Address("ledger", ("price",))
address.amount("price")
address.stop_if_refused()
with badge:
    quality_badge(quality_answer(file))
if goodput_answer(file).training.jobs.is_empty():
    st.info("This store has no training jobs, so there is no accelerator time to account for.")
else:
    job_ledger(file)
