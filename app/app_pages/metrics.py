"""Counters, gauges and histograms over time, under one set of names whoever sent them."""

import streamlit as st
from investigation.address import Address
from investigation.live import live_bar
from investigation.metric_series import catalogue, chosen_metric, course
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.store import metrics_answer, store_file

file = store_file()
badge = page_header("Metrics", purpose="Counters, gauges and histograms over time, whoever sent them.")
listed = metrics_answer(file, None, by=(), every_s=None)
with badge:
    quality_badge(listed.evidence)
if listed.catalogue.is_empty():
    stop_if_empty(file)
    st.info("This store has no metrics. `tracekit serve` takes them over OTLP, `tracekit ingest` from files.")
    st.stop()
live_bar(file)
question = chosen_metric(listed.catalogue, Address("metrics", ("metric", "by")))
if question is not None:
    course(file, metrics_answer(file, question.metric, by=question.by, every_s=question.every_s))
catalogue(listed)
