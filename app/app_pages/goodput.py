"""How many requests met their objective, and which stage the others lost it in."""

import streamlit as st
from investigation.address import Address
from investigation.goodput import request_goodput
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.scope import said_unused
from investigation.store import quality_answer, rows, store_file

file = store_file()
badge = page_header("Goodput", purpose="How many requests were good, and which stage the others lost it in.")
stop_if_empty(file)
address = Address("goodput", ("slo",))
address.stop_if_refused()
said_unused("job", why="requests have no job")
if "request" in rows(file, "explore/unit_outcomes")["kind"].to_list():
    request_goodput(file)
    with badge:
        quality_badge(quality_answer(file))
else:
    st.info("This store has no requests, so there is no goodput of them to tell.")
