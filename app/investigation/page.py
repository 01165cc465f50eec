"""What every page begins with, and how it speaks about answers and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

import tracekit as tk
from investigation.asking import Stopped, ask_again
from investigation.live import live_bar, sending_help
from investigation.scope import scope_bar, stop_if_scope_is_refused
from investigation.store import StoreFile, rows, store_file
from tracekit.foreign import markdown, markdown_code, plain

_VERDICT_COLOURS = {"good": "green", "usable": "orange", "poor": "red", "refused": "red"}
_VERDICT_ICONS = {
    "good": ":material/verified:",
    "usable": ":material/info:",
    "poor": ":material/warning:",
    "refused": ":material/block:",
}
_ANSWER_VERDICTS = {
    "excess_explained": ("explained", "blue"),
    "excess_unattributed": ("mostly unattributed", "gray"),
    "excess_spread": ("no single stage", "gray"),
    "stage_slower": ("a stage is slower", "blue"),
    "mix_not_slowness": ("other work, not slower", "violet"),
    "size_or_slowness": ("larger or slower: not told apart", "violet"),
    "load_or_slowness": ("more load or slower: not told apart", "violet"),
    "improved": ("faster", "green"),
    "regressed": ("worse", "red"),
    "mixed": ("some worse, some better", "orange"),
    "no_change": ("no change", "green"),
    "no_excess": ("nothing to explain", "green"),
    "too_few_blocks": ("too little to be sure", "orange"),
    "too_few_units": ("too little to be sure", "orange"),
    "no_units": ("nothing to compare", "gray"),
    "refused": ("refused", "red"),
}
_TITLES = (
    (tk.StoreLockedError, "Another process holds this store"),
    (tk.StoreVersionError, "This store was written by a newer tracekit"),
    (tk.StoreError, "The trace store cannot be opened"),
    (tk.InsufficientDataError, "The data cannot bear this answer"),
    ((tk.QueryError, tk.UsageError), "This question cannot be asked"),
)


def page_header(title: str, *, purpose: str) -> DeltaGenerator:
    """The title of a page and what it answers in one line; returns the place for the badge of its data."""
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(title, anchor=False, width="content")
        badge = st.container(width="content")
    st.caption(purpose)
    stop_if_scope_is_refused()
    return badge


def quality_badge(quality: Any) -> None:
    """How far the data can be trusted; the reasons are one click away."""
    verdict, reasons = quality.verdict, list(quality.reasons)
    colour, icon = _VERDICT_COLOURS.get(verdict, "gray"), _VERDICT_ICONS.get(verdict, ":material/block:")
    if not reasons:
        st.badge(f"data quality: {verdict}", icon=icon, color=colour)
        return
    with st.popover(f":{colour}[data quality: {verdict}]", icon=icon, width="content"):
        st.markdown("\n".join(f"- {markdown(reason)}" for reason in reasons))


def paragraph(text: str) -> str:
    """A text of some lines as Markdown that shows just this text, line under line."""
    return "  \n".join(markdown(line) for line in text.splitlines())


def verdict_label(verdict: str) -> tuple[str, str]:
    """What a verdict of an answer is called, and the colour of its badge."""
    return _ANSWER_VERDICTS.get(verdict, (verdict, "gray"))


def answer_state(answer: Any) -> bool:
    """What an answer says, in the tone of its verdict; whether there is anything to draw."""
    label, colour = verdict_label(answer.verdict)
    if answer.verdict == "excess_explained" and answer.comparison == "body":
        # Slow ones against the middle of the same requests: nothing is wrong for that.
        label, colour = "where the slow ones take longer", "gray"
    st.markdown(f":{colour}-badge[{label}] {paragraph(answer.summary)}")
    return answer.verdict not in ("refused", "no_units")


def is_said_empty(file: StoreFile) -> bool:
    """Say what to do next where the store has no spans; whether that is so."""
    if rows(file, "explore/store_mark")["span_count"].item():
        live_bar(file)
        return False
    live_bar(file)
    st.info(
        f"This store has no spans yet. Bring some in: {markdown_code(f'tracekit ingest PATH --db {file.path}')}.",
        icon=":material/inbox:",
    )
    sending_help()
    return True


def stop_if_empty(file: StoreFile) -> None:
    """End the page with the next step where the store has no spans."""
    if is_said_empty(file):
        st.stop()


def run_in_scope(run: Callable[[], None]) -> None:
    """A page below the choice of what it is about; without the choice where there is nothing to choose from."""
    file = store_file()
    if rows(file, "explore/store_mark")["span_count"].item():
        scope_bar(file)
    run()


@contextmanager
def explained_errors() -> Iterator[None]:
    """Show what tracekit refuses as a sentence with its remedy instead of a traceback."""
    try:
        yield
    except tk.TracekitError as error:
        explain(error)


def explain(error: tk.TracekitError) -> None:
    """An error as a person reads it: what happened, what to do, and a way to look again."""
    if isinstance(error, Stopped):
        st.info(f"Stopped: {str(error).lower()}.", icon=":material/stop_circle:")
        st.button("Ask again", icon=":material/refresh:", key=f"again {error}", on_click=ask_again)
        return
    title = next((title for kind, title in _TITLES if isinstance(error, kind)), "This did not work")
    sentence, _, rest = str(error).partition("\n")
    # What follows the first line is DuckDB's own picture of the place: its spaces matter.
    lines = "\n".join(f"    {plain(line)}" for line in rest.strip("\n").splitlines())
    picture = f"\n\n{lines}" if lines.strip() else ""
    st.error(f"**{title}**\n\n{markdown(_sentence(sentence))}{picture}", icon=":material/error:")
    if isinstance(error, tk.StoreError):
        st.button("Look again", icon=":material/refresh:", key="look_again")


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:] + ("" if message.endswith((".", "`", ":")) else ".")
