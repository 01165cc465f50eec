"""The investigation app: what is in a trace store, what made the slow ones slow, and the spans that prove it.

A page is one file in `app_pages/` and one line in `PAGES`.
"""

from pathlib import Path

import streamlit as st
from investigation.asking import stop_button
from investigation.border import take_over_look
from investigation.chosen import store_choice
from investigation.page import explained_errors, run_in_scope

PAGES = {
    "Investigate": [
        st.Page(
            "app_pages/overview.py",
            title="Overview",
            icon=":material/dashboard:",
            default=True,
            help="What is wrong and since when, for requests, jobs and data, and the page that proves it.",
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
            "app_pages/compare.py",
            title="Compare",
            icon=":material/compare_arrows:",
            help="What changed between two times, versions, hosts or conditions.",
        ),
    ],
    "Training": [
        st.Page(
            "app_pages/ledger.py",
            title="Ledger",
            icon=":material/receipt_long:",
            help="Where paid accelerator time of training jobs went.",
        ),
        st.Page(
            "app_pages/stragglers.py",
            title="Stragglers",
            icon=":material/hourglass_bottom:",
            help="Which rank, link or pipeline stage made the others wait.",
        ),
    ],
    "Serving": [
        st.Page(
            "app_pages/goodput.py",
            title="Goodput",
            icon=":material/speed:",
            help="How many requests met their objective, and which stage the others lost it in.",
        ),
    ],
    "Explore": [
        st.Page(
            "app_pages/trace.py",
            title="Traces",
            icon=":material/view_timeline:",
            help="Search for requests, steps and traces; one as a timeline, or all ranks of a training step.",
        ),
        st.Page(
            "app_pages/metrics.py",
            title="Metrics",
            icon=":material/monitoring:",
            help="Counters, gauges and histograms over time.",
        ),
        st.Page(
            "app_pages/sql.py",
            title="SQL",
            icon=":material/database:",
            help="Ask the store anything: its views, and statements that only look.",
        ),
    ],
    "Data": [
        st.Page(
            "app_pages/quality.py",
            title="Quality",
            icon=":material/fact_check:",
            help="What arrived, from whom, and how far it can be trusted.",
        ),
        st.Page(
            "app_pages/stages.py",
            title="Stages",
            icon=":material/category:",
            help="What each stage means, whose it is, and its colour.",
        ),
    ],
}
_SIDEBAR_PX = 210

# A picture of our own: a named icon would be fetched from the network.
icon = Path(__file__).with_name("icon.svg")
st.set_page_config(page_title="tracekit", page_icon=icon, layout="wide", initial_sidebar_state=_SIDEBAR_PX)
page = st.navigation(PAGES, expanded=True)
take_over_look()
stop_button()
store_choice()
with explained_errors():
    run_in_scope(page.run)
