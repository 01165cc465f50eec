"""What the overview says: one question each, its answer in a line, and the way to the page that proves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from investigation.asking import Stopped
from investigation.culprit_lines import culprit_lines
from investigation.page import explained_errors, verdict_label
from investigation.pick import STRAGGLERS_PAGE, TAIL_PAGE, TRACE_PAGE, late_step, step_address
from investigation.scope import scope
from investigation.store import (
    StoreFile,
    changed_metrics,
    failures_answer,
    goodput_answer,
    quality_answer,
    stragglers_answer,
    tail_answer,
)
from tracekit.foreign import markdown
from tracekit.schema import Outcome, UnitKind
from tracekit.wording import METRIC_NAMES, counted, duration_text, link_sentence, moment_text, tail_headline

FAILURES_PAGE = "app_pages/failures.py"
LEDGER_PAGE = "app_pages/ledger.py"
QUALITY_PAGE = "app_pages/quality.py"
_NAMED = 3
_CALM = "green"
_TOKEN_METRICS = ("ttft", "tpot", "e2e")
_OTHER_METRICS = ("e2e",)
_NAMING_VERDICTS = frozenset({"excess_explained", "stage_slower", "excess_spread", "excess_unattributed"})
_BADGES = {"good": "green", "usable": "orange", "poor": "red", "refused": "red"}


class Link(NamedTuple):
    """A way on: a page, what it is called, and what it is asked."""

    page: str
    label: str
    asked: Mapping[str, str] = {}


class Finding(NamedTuple):
    """What is told of one subject: a badge, short lines, everything in full, and the pages that prove it."""

    badge: str
    colour: str
    lines: Sequence[str]
    in_full: Sequence[str] = ()
    links: Sequence[Link] = ()


Find = Callable[[StoreFile], Finding | None]


def finding_card(file: StoreFile, subject: str, find: Find, *, is_calm: bool | None = None) -> None:
    """The card of a subject; it is looked for beside the others and comes when it is found.

    `is_calm`: only where all is well, or only where it is not, so that what is wrong stands above what is well.
    """
    st.fragment(_card, parallel=True)(file, subject, find, is_calm)


def _card(file: StoreFile, subject: str, find: Find, is_calm: bool | None) -> None:
    with explained_errors():
        try:
            finding = find(file)
        except Stopped:
            # The same question stands above, where it would be told if it were not calm.
            if is_calm:
                return
            raise
        if finding is not None and is_calm in (None, finding.colour == _CALM):
            draw(subject, finding)


def draw(subject: str, finding: Finding) -> None:
    """A finding as a card: what and how bad, the lines, and the ways on at its right."""
    with st.container(border=True):
        left, right = st.columns([4, 1.15], vertical_alignment="center", gap="medium")
        with left:
            st.markdown(f"**{subject}**  :{finding.colour}-badge[{finding.badge}]")
            told = [markdown(line) for line in finding.lines]
            st.markdown(told[0] if len(told) == 1 else "\n".join(f"- {line}" for line in told))
        with right:
            for link in finding.links:
                st.page_link(
                    link.page, label=link.label, icon=":material/arrow_forward:", query_params=dict(link.asked)
                )
        if finding.in_full:
            with st.expander("In full, and how sure", type="compact"):
                st.markdown("\n\n".join(_paragraph(text) for text in finding.in_full))


def _paragraph(text: str) -> str:
    return "  \n".join(markdown(line) for line in text.splitlines())


def job_failures(file: StoreFile) -> Finding | None:
    """What failed first in training jobs; None where nothing failed."""
    training = failures_answer(file, where=_requests(), job=scope().job).training
    if not training.failed:
        return None
    return Finding("failed", "red", [training.summary], links=[Link(FAILURES_PAGE, "What failed first")])


def request_failures(file: StoreFile) -> Finding | None:
    """Which requests failed and what failed first in them; None without requests."""
    serving = failures_answer(file, where=_requests(), job=scope().job).serving
    if serving is None or not serving.attempted:
        return None
    if serving.failed:
        return Finding("failed", "red", [serving.summary], links=[Link(FAILURES_PAGE, "What failed first")])
    if serving.aborted + serving.rejected + serving.shed + serving.invalid:
        links = [Link(FAILURES_PAGE, "Who was refused or left")]
        return Finding("not all served", "orange", [serving.summary], links=links)
    return Finding("none failed", "green", [serving.summary])


def all_were_served(file: StoreFile, *, count: int) -> Finding:
    """That all requests of a store ended well, which their outcomes tell without a question."""
    return Finding("none failed", _CALM, [f"None of {counted(count, 'request')} failed."])


def slow_requests(file: StoreFile, *, has_tokens: bool) -> Finding:
    """What made the slow requests slow, by the metric in which the store changed; else to the first token."""
    metrics = _TOKEN_METRICS if has_tokens else _OTHER_METRICS
    metric, answer, has_changed = changed_metric(file, metrics)
    links = [Link(TAIL_PAGE, "Stages and proof", {"metric": metric})]
    if answer.verdict in ("no_units", "refused"):
        return Finding(*verdict_label(answer.verdict), [answer.summary], links=links)
    if not has_changed:
        known = ", ".join(METRIC_NAMES[name] for name in metrics)
        lines = [f"Nothing changed over the time of this store in {known}.", f"The slowest: {tail_headline(answer)}"]
        return Finding("no change found", "green", lines, [answer.summary], links)
    is_slower = answer.verdict in _NAMING_VERDICTS and answer.excess_ns > 0
    label, colour = ("slower", "red") if is_slower else verdict_label(answer.verdict)
    return Finding(label, colour, [f"{_since(answer)}{tail_headline(answer)}"], [answer.summary], links)


def _since(answer: Any) -> str:
    """Since when, in words that begin a line; empty where no change was found."""
    if answer.change_start_ns is None:
        return ""
    begin, end = moment_text(answer.change_start_ns), moment_text(answer.change_end_ns)
    return f"Since {begin}: " if answer.change_lasts else f"From {begin} to {end}: "


def changed_metric(file: StoreFile, metrics: Sequence[str]) -> tuple[str, Any, bool]:
    """The first metric in which the store changed and a stage can be named for it, with its answer; else the first.

    Last whether the store changed in any of them. Metrics in which nothing stands out are not compared.
    """
    first = plain_tail(file, metrics[0])
    has_changed = first.change_start_ns is not None
    if has_changed and first.verdict in _NAMING_VERDICTS:
        return metrics[0], first, True
    for metric in that_may_have_changed(file, metrics[1:]):
        answer = plain_tail(file, metric)
        has_changed = has_changed or answer.change_start_ns is not None
        if answer.change_start_ns is not None and answer.verdict in _NAMING_VERDICTS:
            return metric, answer, True
    return metrics[0], first, has_changed


def that_may_have_changed(file: StoreFile, metrics: Sequence[str]) -> list[str]:
    """Those metrics of requests for which a plain tail may find a change."""
    if not metrics:
        return []
    filters = scope().of(UnitKind.REQUEST)
    return changed_metrics(file, tuple(metrics), where=filters.sql(), outcome=filters.outcome or Outcome.OK)


def slow_steps(file: StoreFile) -> Finding:
    """Whom the ranks of training jobs waited for, and what made the slow steps slow."""
    answer = stragglers_answer(file, job=scope().job)
    lines = culprit_lines(answer.culprits)[:_NAMED]
    lines += [heavy_stage_text(row) for row in answer.pipeline.filter("is_heavy").iter_rows(named=True)]
    lines += [link_sentence(row) for row in answer.links.head(_NAMED).iter_rows(named=True)]
    tail = plain_tail(file, "step")
    links = [*_late_step(file, answer), Link(STRAGGLERS_PAGE, "Who was waited for")]
    links.append(Link(TAIL_PAGE, "Stages and proof", {"metric": "step"}))
    in_full = [answer.summary, tail.summary]
    if lines:
        return Finding("held up", "red", lines, in_full, links)
    label, colour = verdict_label(tail.verdict)
    changed = tail.verdict in _NAMING_VERDICTS
    told = [answer.summary, f"The slowest: {tail_headline(tail)}"]
    return Finding(label if changed else "nobody stands out", colour if changed else "green", told, in_full, links[-2:])


def _late_step(file: StoreFile, answer: Any) -> list[Link]:
    """The way to the step in which the costliest culprit, else the slowest link, was waited for longest."""
    told = answer.links if answer.culprits.is_empty() else answer.culprits
    for row in told.head(1).iter_rows(named=True):
        pick = late_step(file, row)
        return [Link(TRACE_PAGE, f"Open step {pick.step}", step_address(pick))]
    return []


def heavy_stage_text(row: dict[str, Any]) -> str:
    """A pipeline stage that is given more to do than the others, in words."""
    taken, typical = duration_text(row["compute_ns"]), duration_text(row["typical_ns"])
    return f"Pipeline stage {row['pipeline_stage']} computes {taken} a step, the typical stage {typical}"


def job_ledger(file: StoreFile) -> Finding | None:
    """Where the paid time of training jobs went; None without jobs."""
    training = goodput_answer(file, job=scope().job).training
    if training.jobs.is_empty():
        return None
    lines = training.summary.splitlines()
    return Finding("accelerator time", "gray", lines, links=[Link(LEDGER_PAGE, "The ledger")])


def data_quality(file: StoreFile) -> Finding:
    """How far the data can be trusted."""
    quality = quality_answer(file)
    reasons = list(quality.reasons) or ["No check found anything wrong."]
    links = [Link(QUALITY_PAGE, "All checks")]
    return Finding(quality.verdict, _BADGES.get(quality.verdict, "gray"), reasons[:_NAMED], links=links)


def plain_tail(file: StoreFile, metric: str) -> Any:
    """The same question as `tracekit tail` and the tail page ask where nothing else is said."""
    kind = UnitKind.STEP if metric == "step" else UnitKind.REQUEST
    filters = scope().of(kind)
    outcome = filters.outcome or Outcome.OK
    return tail_answer(file, metric=metric, quantile=None, where=filters.sql(), baseline="auto", outcome=outcome)


def _requests() -> str | None:
    return scope().of(UnitKind.REQUEST).sql_with_outcome()
