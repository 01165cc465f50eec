"""Which rank, link or pipeline stage made the others wait."""

from investigation.address import Address
from investigation.page import page_header, quality_badge, stop_if_empty
from investigation.scope import said_unused, scope
from investigation.store import store_file, stragglers_answer
from investigation.stragglers import stragglers

file = store_file()
badge = page_header("Stragglers", purpose="Which rank, link or pipeline stage made the others wait.")
stop_if_empty(file)
Address("stragglers", ()).stop_if_refused()
answer = stragglers_answer(file, job=scope().job)
with badge:
    quality_badge(answer.evidence)
said_unused("service", "model", "tenant", "outcome", "since_ns", "until_ns", "condition", why="a job is judged whole")
stragglers(file, answer)
