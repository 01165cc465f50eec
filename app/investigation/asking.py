"""Answers that take a while: asked once for all who wait, ended when nobody waits any more, kept while the data stays.

Streamlit's own cache cannot end what it computes, and copies what it has at every look. Answers are frozen, so that one
object can be shown on several pages.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import polars as pl
import streamlit as st

import tracekit as tk

Ask = Callable[[tk.Store], Any]
_THREADS = 8
_LOOK_S = 0.1
_MOST_KEPT = 96
_MOST_KEPT_BYTES = 384 << 20
_STOP, _IS_STOPPED = "stop_was_pressed", "is_stopped"


@dataclass(eq=False)
class _Asked:
    """A question that is under way or answered."""

    answer: Future[Any] = field(default_factory=Future)
    waiting: int = 0
    """Pages that wait for it."""
    store: tk.Store | None = None
    """Where it is asked, while it is."""
    size_bytes: int = 0


class Answers:
    """The answers of this process, to all who look at it; any thread may ask."""

    def __init__(self) -> None:
        self._asked: OrderedDict[Hashable, _Asked] = OrderedDict()
        self._lock = threading.Lock()
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="tracekit-asking")

    def answer(
        self, question: Hashable, opened: Callable[[], Any], ask: Ask, *, look: Callable[[], object] = lambda: None
    ) -> Any:
        """What `ask` makes of the store that `opened` opens, once for each `question`; its errors are not kept.

        `look` is called while it is waited for; it raises where nobody waits any more. The last one who leaves ends
        what is asked.
        """
        asked = self._joined(question, opened, ask)
        try:
            while not asked.answer.done():
                wait([asked.answer], timeout=_LOOK_S)
                look()
        finally:
            self._left(question, asked)
        return asked.answer.result()

    def _joined(self, question: Hashable, opened: Callable[[], Any], ask: Ask) -> _Asked:
        with self._lock:
            if question in self._asked:
                self._asked.move_to_end(question)
                self._asked[question].waiting += 1
            else:
                self._asked[question] = asked = _Asked(waiting=1)
                self._threads.submit(self._run, question, asked, opened, ask)
            return self._asked[question]

    def _left(self, question: Hashable, asked: _Asked) -> None:
        with self._lock:
            asked.waiting -= 1
            if asked.waiting or asked.answer.done():
                return
            self._forget(question, asked)
        threading.Thread(target=_end, args=(asked,), name="tracekit-ending", daemon=True).start()

    def _run(self, question: Hashable, asked: _Asked, opened: Callable[[], Any], ask: Ask) -> None:
        try:
            with opened() as asked.store:
                if not asked.waiting:
                    raise tk.QueryError("nobody waits for the answer any more")
                found = ask(asked.store)
        except BaseException as error:
            with self._lock:
                self._forget(question, asked)
            asked.answer.set_exception(error)
            return
        finally:
            asked.store = None
        asked.size_bytes = _size_bytes(found)
        asked.answer.set_result(found)
        self._forget_oldest()

    def _forget(self, question: Hashable, asked: _Asked) -> None:
        # Somebody may have asked anew meanwhile.
        if self._asked.get(question) is asked:
            del self._asked[question]

    def _forget_oldest(self) -> None:
        with self._lock:
            size_bytes = sum(asked.size_bytes for asked in self._asked.values())
            for question, asked in list(self._asked.items())[:-1]:
                if len(self._asked) <= _MOST_KEPT and size_bytes <= _MOST_KEPT_BYTES:
                    return
                if asked.answer.done() and not asked.waiting:
                    size_bytes -= asked.size_bytes
                    del self._asked[question]


def _end(asked: _Asked) -> None:
    """Interrupt a question until it has ended: it may be between two statements."""
    while not asked.answer.done():
        if (store := asked.store) is not None:
            store.interrupt()
        wait([asked.answer], timeout=_LOOK_S)


def _size_bytes(answer: object) -> int:
    """What the frames of an answer take."""
    if isinstance(answer, pl.DataFrame):
        return int(answer.estimated_size())
    return sum(_size_bytes(value) for value in vars(answer).values()) if hasattr(answer, "__dataclass_fields__") else 0


@st.cache_resource(show_spinner=False)
def answers() -> Answers:
    """Those of this process."""
    return Answers()


class Stopped(tk.TracekitError):
    """Somebody pressed Stop before it was answered."""


def stop_button() -> None:
    """What ends all that the page asks; `look.css` shows it while something is asked.

    It is drawn first, so that whatever runs below it is ended by a click: the page runs again, and waits for nothing.
    """
    st.session_state[_IS_STOPPED] = st.session_state.pop(_STOP, False)
    st.button("Stop", key="stop", icon=":material/stop_circle:", on_click=_stop, type="secondary")


def _stop() -> None:
    st.session_state[_STOP] = True


def ask_again() -> None:
    """What was stopped may be asked; for callbacks."""
    st.session_state[_IS_STOPPED] = False


def is_still_looked_at() -> None:
    """Raise where the page was left, which Streamlit looks at with every access to the session, or was stopped."""
    if st.session_state.get(_IS_STOPPED):
        raise Stopped
