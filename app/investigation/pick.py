"""Which trace or training step the trace page shows; kept in the page's address."""

from __future__ import annotations

import re
from typing import NamedTuple

import polars as pl
import streamlit as st

import tracekit as tk
from investigation.address import Address
from investigation.border import dataframe
from investigation.store import StoreFile, rows
from tracekit.schema import OUTCOMES
from tracekit.wording import duration_text

TAIL_PAGE = "app_pages/tail.py"
TRACE_PAGE = "app_pages/trace.py"
_TRACE_ID = re.compile(r"[0-9a-f]{32}")
_SLOWEST = 10
SEARCHED = ("text", "outcome", "least_ms", "order")
"""What the search for requests keeps in the address."""

ORDERS = ("slowest", "latest")


class StepPick(NamedTuple):
    """One training step of one attempt of a job."""

    job_id: str
    attempt: int
    step: int


def pick(file: StoreFile) -> str | StepPick | None:
    """Draw the inputs and read them: a trace id, a step, or None where neither is given.

    Raises `UsageError` for what is no trace id.
    """
    address = Address("trace", ("trace", "job", "attempt", "step", *SEARCHED))
    address.choice("outcome", OUTCOMES, missing=f"requests end {', '.join(OUTCOMES)}")
    address.amount("least_ms")
    address.choice("order", ORDERS, missing=f"first come the {' or the '.join(ORDERS)}")
    jobs = rows(file, "explore/unit_populations")["job_id"].drop_nulls().unique().sort().to_list()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        trace_id = st.text_input("Trace id", key="trace", bind="query-params", width=340).strip().lower()
        step_pick = _step_pick(jobs, address)
    back_to_the_question()
    address.stop_if_refused()
    if not trace_id:
        return step_pick
    if not _TRACE_ID.fullmatch(trace_id):
        raise tk.UsageError(f"{trace_id!r} is no trace id: give its 32 hexadecimal digits")
    return trace_id


def slowest_table(file: StoreFile, kind: str) -> None:
    """The slowest units of a kind; choosing one opens it."""
    units = rows(file, "explore/slowest_units", kind=kind, limit=_SLOWEST)
    if units.is_empty():
        st.caption("None in this store.")
        return
    identity = ["job_id", "attempt", "step", "rank"] if kind == "step" else ["trace_id", "service_name", "name"]
    event = dataframe(
        units.with_columns(pl.col("e2e_ns").map_elements(duration_text, return_dtype=pl.String).alias("duration")),
        column_order=[*identity, "outcome", "duration"],
        column_config={"trace_id": "trace", "service_name": "service", "job_id": "job"},
        hide_index=True,
        key=f"slowest_{kind}",
        on_select="rerun",
        selection_mode="single-row",
        alt=f"The slowest {kind}s",
    )
    if event.selection.rows:
        st.switch_page(TRACE_PAGE, query_params=address(units.row(event.selection.rows[0], named=True)))


def address(unit: dict[str, object]) -> dict[str, str]:
    """The part of the trace page's address that shows a unit."""
    if unit["step"] is None:
        return {"trace": str(unit["trace_id"])}
    return {"job": str(unit["job_id"]), "attempt": str(unit["attempt"]), "step": str(unit["step"])}


def back_to_the_question() -> None:
    """The way back to the question that was asked last, as it was asked."""
    asked = st.session_state.get("last_question")
    if asked is not None:
        st.page_link(TAIL_PAGE, label="Back to the question", icon=":material/arrow_back:", query_params=asked)


def _step_pick(jobs: list[str], address: Address) -> StepPick | None:
    address.choice("job", jobs, missing="this store has no steps of this job")
    for key in ("attempt", "step"):
        address.number(key)
    if not jobs:
        return None
    # No default, so that the address always names the job; a single job goes without saying.
    chosen = st.selectbox(
        "or a step of job", jobs, index=None, key="job", bind="query-params", placeholder=jobs[0], width=220
    )
    if chosen is not None:
        address.taken("job")
    attempt = st.number_input("attempt", min_value=0, step=1, value=0, key="attempt", bind="query-params", width=130)
    step = st.number_input("step", min_value=0, step=1, value=None, key="step", bind="query-params", width=130)
    return None if step is None else StepPick(chosen or jobs[0], int(attempt), int(step))
