"""The cards of the overview: one question each, its answer in a sentence, and the way to the proof."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import streamlit as st

from investigation.page import answer_state, paragraph
from investigation.store import StoreFile, failures_answer, job_headlines, stragglers_answer, tail_answer
from tracekit.foreign import markdown, named
from tracekit.schema import Outcome
from tracekit.wording import METRIC_NAMES, count_text, counted, culprit_text, duration_text, share_text, steps_text

TAIL_PAGE = "app_pages/tail.py"
FAILURES_PAGE = "app_pages/failures.py"
GOODPUT_PAGE = "app_pages/goodput.py"
_CULPRITS = 3
_TOKEN_METRICS = ("ttft", "tpot", "e2e")
_OTHER_METRICS = ("e2e",)
_NAMING_VERDICTS = frozenset({"excess_explained", "stage_slower", "excess_spread", "excess_unattributed"})
_OUTCOME_COLOURS = {
    Outcome.OK: "green",
    Outcome.FAILED: "red",
    Outcome.ABORTED: "orange",
    Outcome.REJECTED: "orange",
    Outcome.INVALID: "violet",
}


def request_card(file: StoreFile, outcomes: pl.DataFrame) -> None:
    """What made the slow requests slow, by the metric in which the store changed; else to the first token."""
    st.markdown("**Slow requests**")
    has_tokens = outcomes.filter(kind="request")["ttft_count"].sum() > 0
    metrics = _TOKEN_METRICS if has_tokens else _OTHER_METRICS
    metric, answer, has_changed = changed_metric(file, metrics)
    if not has_changed:
        known = ", ".join(METRIC_NAMES[name] for name in metrics)
        st.markdown(f":green-badge[no change found] Nothing changed over the time of this store in {known}.")
    _tail_headline(answer, metric)


def changed_metric(file: StoreFile, metrics: Sequence[str]) -> tuple[str, Any, bool]:
    """The first metric in which the store changed and a stage can be named for it, with its answer; else the first.

    Last whether the store changed in any of them.
    """
    has_changed = False
    for metric in metrics:
        answer = _plain_tail(file, metric)
        has_changed = has_changed or answer.change_start_ns is not None
        if answer.change_start_ns is not None and answer.verdict in _NAMING_VERDICTS:
            return metric, answer, True
    return metrics[0], _plain_tail(file, metrics[0]), has_changed


def step_card(file: StoreFile, outcomes: pl.DataFrame) -> None:
    """Which rank the others waited for, and what made the slow training steps slow."""
    st.markdown("**Slow training steps**")
    answer = stragglers_answer(file)
    lines = [straggler_text(row) for row in answer.culprits.head(_CULPRITS).iter_rows(named=True)]
    lines += [heavy_stage_text(row) for row in answer.pipeline.filter("is_heavy").iter_rows(named=True)]
    if lines:
        st.markdown("\n".join(f"- {markdown(line)}" for line in lines))
    _tail_headline(_plain_tail(file, "step"), "step")


def has_jobs(file: StoreFile) -> bool:
    """Whether the store has training jobs."""
    return bool(job_headlines(file))


def job_card(file: StoreFile) -> None:
    """Where the paid time of training jobs went and what failed first; nothing where there is no job."""
    headlines = job_headlines(file)
    if not headlines:
        return
    with st.container(border=True):
        st.markdown("**Training jobs**")
        st.markdown("\n".join(f"- {markdown(headline)}" for headline in headlines))
        with st.container(horizontal=True):
            st.page_link(GOODPUT_PAGE, label="See the ledger", icon=":material/arrow_forward:")
            st.page_link(FAILURES_PAGE, label="See what failed first", icon=":material/arrow_forward:")


def straggler_text(row: dict[str, Any]) -> str:
    """One culprit in words: who, doing what, when, and what it cost."""
    who = named(culprit_text(row))
    what = named(row["operation"] or row["stage"])
    lost = f"{duration_text(row['lost_ns'])} of accelerator time lost"
    return f"{who[:1].upper()}{who[1:]}, {what}, {steps_text(row)}: {lost} ({share_text(row['share'])})"


def heavy_stage_text(row: dict[str, Any]) -> str:
    """A pipeline stage that is given more to do than the others, in words."""
    taken, typical = duration_text(row["compute_ns"]), duration_text(row["typical_ns"])
    return f"Pipeline stage {row['pipeline_stage']} computes {taken} a step, the typical stage {typical}"


def outcomes_card(file: StoreFile, outcomes: pl.DataFrame) -> None:
    """How requests and steps ended."""
    st.markdown("**How they ended**")
    for kind, noun in (("request", "request"), ("step", "step")):
        of_kind = outcomes.filter(pl.col("kind") == kind)
        if of_kind.is_empty():
            continue
        st.markdown(counted(of_kind["unit_count"].sum(), noun))
        with st.container(horizontal=True, gap="small"):
            for row in of_kind.iter_rows(named=True):
                colour = _OUTCOME_COLOURS.get(row["outcome"], "gray")
                st.badge(f"{row['outcome']} {count_text(row['unit_count'])}", color=colour)
    not_served = (Outcome.FAILED, Outcome.REJECTED, Outcome.ABORTED)
    if not outcomes.filter(pl.col("outcome").is_in(not_served), kind="request").is_empty():
        _failures_headline(file)


def _failures_headline(file: StoreFile) -> None:
    serving = failures_answer(file).serving
    if serving is not None:
        st.markdown(paragraph(serving.summary))
        label = "See what failed first" if serving.failed else "See who was refused or left"
        st.page_link(FAILURES_PAGE, label=label, icon=":material/arrow_forward:")


def _plain_tail(file: StoreFile, metric: str) -> Any:
    """The same question as `tracekit tail` and the tail page ask where nothing else is said."""
    return tail_answer(file, metric=metric, quantile=None, where=None, baseline="auto")


def _tail_headline(answer: Any, metric: str) -> None:
    answer_state(answer)
    st.page_link(
        TAIL_PAGE,
        label="See the stages and the proof",
        icon=":material/arrow_forward:",
        query_params={"metric": metric},
    )
