"""What changed between two groups of requests, stage by stage, at the same mix."""

import streamlit as st
from investigation.address import Address
from investigation.compared import changes, sides
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.store import compare_answer, quality_answer, store_file

file = store_file()
badge = page_header("Compare", purpose="What changed from A to B, stage by stage, at the same mix of requests.")
stop_if_empty(file)
with badge:
    quality_badge(quality_answer(file))
address = Address("compare", ("before", "after", "slo"))
chosen = sides(file)
address.stop_if_refused()
if chosen is None:
    st.info("Say what to compare: two times, versions, hosts or conditions.", icon=":material/compare_arrows:")
    st.stop()
before, after, slo = chosen
changes(compare_answer(file, before=before, after=after, slo=slo))
