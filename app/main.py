"""The investigation app: what is in a trace store, what made the slow ones slow, and the spans that prove it.

A page is one file in `app_pages/` and one line in `PAGES`.
"""

from pathlib import Path

import streamlit as st
from investigation.chosen import store_choice
from investigation.page import explained_errors

PAGES = [
    st.Page(
        "app_pages/overview.py",
        title="Overview",
        icon=":material/dashboard:",
        default=True,
        help="What is in the store, how far it can be trusted, and the headlines of every question.",
    ),
    st.Page(
        "app_pages/tail.py",
        title="Tail",
        icon=":material/query_stats:",
        help="Which stage made the slow requests or steps slow, with the traces that prove it.",
    ),
    st.Page(
        "app_pages/failures.py",
        title="Failures",
        icon=":material/crisis_alert:",
        help="What failed first in requests and training jobs, and what only followed.",
    ),
    st.Page(
        "app_pages/goodput.py",
        title="Goodput",
        icon=":material/savings:",
        help="Where paid accelerator time went, and how many requests met their objective.",
    ),
    st.Page(
        "app_pages/compare.py",
        title="Compare",
        icon=":material/compare_arrows:",
        help="What changed between two times, versions, hosts or conditions.",
    ),
    st.Page(
        "app_pages/trace.py",
        title="Trace",
        icon=":material/view_timeline:",
        help="One trace as a waterfall, or all ranks of one training step side by side.",
    ),
    st.Page(
        "app_pages/sql.py",
        title="SQL",
        icon=":material/database:",
        help="Ask the store anything: its views, and statements that only look.",
    ),
    st.Page(
        "app_pages/metrics.py",
        title="Metrics",
        icon=":material/monitoring:",
        help="Counters, gauges and histograms over time.",
    ),
]

# A picture of our own: a named icon would be fetched from the network.
icon = Path(__file__).with_name("icon.svg")
st.set_page_config(page_title="tracekit", page_icon=icon, layout="wide")
page = st.navigation(PAGES, position="top")
store_choice()
with explained_errors():
    page.run()
