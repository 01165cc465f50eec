"""What arrived, from whom, and how far it can be trusted."""

import streamlit as st
from investigation.address import Address
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.scope import said_whole_store
from investigation.store import quality_answer, store_file
from investigation.tables import ingest_table, quality_table, service_table

file = store_file()
badge = page_header("Quality", purpose="What arrived, from whom, and how far it can be trusted.")
stop_if_empty(file)
Address("quality", ()).stop_if_refused()
quality = quality_answer(file)
with badge:
    quality_badge(quality)
said_whole_store()
st.subheader("What the data can bear", anchor=False)
quality_table(quality)
st.subheader("Services that sent spans", anchor=False)
service_table(file)
st.subheader("What arrived", anchor=False)
ingest_table(file)
