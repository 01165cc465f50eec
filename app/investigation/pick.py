"""Which trace or training step the trace page shows; kept in the page's address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import streamlit as st

import tracekit as tk
from investigation.address import Address
from investigation.scope import scope
from investigation.store import StoreFile, rows

TAIL_PAGE = "app_pages/tail.py"
TRACE_PAGE = "app_pages/trace.py"
COMPARE_PAGE = "app_pages/compare.py"
STRAGGLERS_PAGE = "app_pages/stragglers.py"
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
SEARCHED = (
    "kind", "text", "least_ms", "below_ms", "operation", "has", "is", "in", "share", "order",
)  # fmt: skip
"""What the search for requests and steps keeps in the address."""

SEEN = ("from", "to", "range_from", "range_to")
"""What the address has of a timeline: the time that is seen and a range that is summed, offsets in nanoseconds."""

ORDERS = ("slowest", "latest")


def trace_page_address() -> Address:
    """The address of the trace page, with the amounts in it looked at."""
    address = Address("trace", ("trace", "with", "span", *SEEN, "of_job", "attempt", "step", *SEARCHED))
    for key in ("least_ms", "below_ms", "share"):
        address.amount(key)
    for key in SEEN:
        address.number(key)
    return address


class StepPick(NamedTuple):
    """One training step of one attempt of a job."""

    job_id: str
    attempt: int
    step: int


def pick(file: StoreFile, address: Address) -> str | StepPick | None:
    """Draw the inputs and read them: a trace id, a step, or None where neither is given.

    Ends the page where the address asks for what is not here, unless the search goes on reading it. Raises
    `UsageError` for what is no trace id.
    """
    jobs = rows(file, "explore/unit_populations")["job_id"].drop_nulls().unique().sort().to_list()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        trace_id = st.text_input("Trace id", key="trace", bind="query-params", width=340).strip().lower()
        step_pick = _step_pick(jobs, address)
    back_to_the_question()
    if not trace_id and step_pick is None:
        return None
    address.stop_if_refused()
    if not trace_id:
        return step_pick
    if not _TRACE_ID.fullmatch(trace_id):
        raise tk.UsageError(f"{trace_id!r} is no trace id: give its 32 hexadecimal digits")
    return trace_id


def unit_address(unit: dict[str, object]) -> dict[str, str]:
    """The part of the trace page's address that shows a unit."""
    if unit.get("step") is None:
        return {"trace": str(unit["trace_id"])}
    return step_address(StepPick(str(unit["job_id"]), int(str(unit["attempt"])), int(str(unit["step"]))))


def step_address(pick: StepPick) -> dict[str, str]:
    """The part of the trace page's address that shows a step with all its ranks."""
    # The scope has a job of its own, which a link inside the app does not change.
    return {"of_job": pick.job_id, "attempt": str(pick.attempt), "step": str(pick.step)}


def late_step(file: StoreFile, culprit: Mapping[str, Any]) -> StepPick:
    """The step in which a culprit or link of `StragglersAnswer` was waited for longest; else the middle one."""
    first, last = culprit["first_step"], culprit["last_step"]
    # A link is told over all attempts.
    where = {"job_id": culprit["job_id"], "attempt": culprit.get("attempt") or 0, "rank": culprit.get("rank")}
    found = rows(file, "explore/late_steps", **where, first_step=first, last_step=last, limit=1)
    step = (first + last) // 2 if found.is_empty() else found["step"][0]
    return StepPick(where["job_id"], where["attempt"], step)


def back_to_the_question() -> None:
    """The way back to the question that was asked last, as it was asked."""
    asked = st.session_state.get("last_question")
    if asked is not None:
        st.page_link(TAIL_PAGE, label="Back to the question", icon=":material/arrow_back:", query_params=asked)


def _step_pick(jobs: list[str], address: Address) -> StepPick | None:
    address.choice("of_job", jobs, missing="this store has no steps of this job")
    for key in ("attempt", "step"):
        address.number(key)
    if not jobs:
        return None
    # No default, so that the address always names the job; a single job goes without saying.
    likely = scope().job if scope().job in jobs else jobs[0]
    chosen = st.selectbox(
        "or a step of job", jobs, index=None, key="of_job", bind="query-params", placeholder=likely, width=180
    )
    if chosen is not None:
        address.taken("of_job")
    attempt = st.number_input("attempt", min_value=0, step=1, value=0, key="attempt", bind="query-params", width=110)
    step = st.number_input("step", min_value=0, step=1, value=None, key="step", bind="query-params", width=110)
    return None if step is None else StepPick(chosen or likely or jobs[0], int(attempt), int(step))
