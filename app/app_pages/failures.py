"""What failed first, in training jobs and in requests, and what only followed."""

import streamlit as st
from investigation.address import Address
from investigation.failures import job_incidents, request_incidents
from investigation.page import page_header, paragraph, quality_badge, stop_if_empty
from investigation.scope import scope
from investigation.store import failures_answer, store_file

from tracekit.schema import UnitKind

file = store_file()
badge = page_header("Failures", purpose="What failed first, and what only followed it.")
stop_if_empty(file)
Address("failures", ()).stop_if_refused()
answer = failures_answer(file, where=scope().of(UnitKind.REQUEST).sql_with_outcome(), job=scope().job)
with badge:
    quality_badge(answer.evidence)

st.markdown(paragraph(answer.summary))
if answer.training.failed:
    job_incidents(answer.training)
if answer.serving is not None:
    request_incidents(answer.serving)
