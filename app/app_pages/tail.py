"""Which stage made the slow ones slow: the exact split, its certainty, and the traces that prove it."""

import streamlit as st
from investigation.differing import differences
from investigation.evidence import proof_section
from investigation.page import answer_state, page_header, quality_badge, stop_if_empty
from investigation.question import ask, question_text
from investigation.split import (
    causes_section,
    distribution_section,
    figures,
    left_out,
    over_time_section,
    split_section,
)
from investigation.store import rows, store_file, tail_answer

file = store_file()
badge = page_header("Tail", purpose="Which stage made the slow ones slow, and what proves it.")
stop_if_empty(file)
if rows(file, "explore/unit_outcomes").is_empty():
    st.info("No requests or training steps were made of these spans, so nothing can be slow. Traces has the spans.")
    st.stop()
question = ask(file)
st.caption(question_text(question))
answer = tail_answer(file, **question._asdict())
with badge:
    quality_badge(answer.evidence)

is_drawn = answer_state(answer)
left_out(answer)
if is_drawn:
    figures(answer)
    split_section(answer)
    causes_section(answer)
    left, right = st.columns(2, gap="large")
    with left:
        distribution_section(file, question, answer)
    with right:
        over_time_section(file, question)
    differences(file, answer)
    proof_section(file, answer)
