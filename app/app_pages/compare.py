"""What changed between two groups of requests, stage by stage, at the same mix."""

import streamlit as st
from investigation.address import Address
from investigation.compared import changes, sides, suggestions
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.scope import said_unused, scope
from investigation.store import compare_answer, store_file

from tracekit.schema import UnitKind

file = store_file()
badge = page_header("Compare", purpose="What changed from A to B, stage by stage, at the same mix of requests.")
stop_if_empty(file)
address = Address("compare", ("before", "after", "slo"))
said_unused("job", why="requests have no job")
chosen = sides(file)
address.stop_if_refused()
if chosen is None:
    suggestions(file)
    st.stop()
before, after, slo = chosen
where = scope().of(UnitKind.REQUEST).sql_with_outcome()
answer = compare_answer(file, before=before, after=after, slo=slo, where=where)
with badge:
    quality_badge(answer.evidence)
changes(answer)
