"""One trace as a waterfall, or all ranks of one training step on one time axis."""

import streamlit as st
from investigation.page import page_header, stop_if_empty
from investigation.pick import StepPick, pick, slowest_table
from investigation.search import request_search
from investigation.store import store_file
from investigation.timelines import step_section, trace_section

file = store_file()
page_header("Trace", purpose="The spans themselves, and the time that each one owns.")
stop_if_empty(file)
picked = pick(file)
if isinstance(picked, StepPick):
    step_section(file, picked)
elif picked is not None:
    trace_section(file, picked)
else:
    request_search(file)
    st.subheader("The slowest steps", anchor=False)
    slowest_table(file, "step")
