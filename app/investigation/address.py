"""The page's address as a question: what a link names and this store or page does not have is said, never dropped."""

from __future__ import annotations

import re
from collections.abc import Collection

import streamlit as st

from investigation.chosen import STORE_PARAMETER
from tracekit.foreign import markdown_code

SCOPE_KEYS = ("service", "model", "tenant", "job", "outcome", "since", "until", "where")
"""What every page takes from the header."""

# Those of them that keep whatever is typed.
_TEXTS = {"since", "until", "where"}
# What Streamlit itself reads, and what every page has.
_EVERYWHERE = {"embed", "embed_options", STORE_PARAMETER, *SCOPE_KEYS}


class Address:
    """The parameters that a page was opened with, and those of them that it cannot take.

    Streamlit drops a parameter that is no choice of its widget and shows the widget's default: another question. So
    each is looked at before its widget is drawn, and remembered until something else is chosen.
    """

    def __init__(self, page: str, known: Collection[str] | None) -> None:
        """`known`: what the page takes beside the scope; None where the parameters of others are not looked at."""
        self.asked = {key: str(value) for key, value in st.query_params.to_dict().items() if value}
        self._refused: dict[str, str] = st.session_state.setdefault(f"refused_{page}", {})
        if known is not None:
            for key in self.asked.keys() - set(known) - _EVERYWHERE:
                self._refuse(key, "this page has no such choice")

    def own(self) -> dict[str, str]:
        """What the page was asked beside the scope, which goes along by itself."""
        return {key: value for key, value in self.asked.items() if key not in _EVERYWHERE}

    def choice(self, key: str, options: Collection[str], *, missing: str) -> None:
        """A parameter must be one of some options; `missing` says what it means that it is not."""
        if key in self.asked and self.asked[key] not in options:
            self._refuse(key, missing)

    def choices(self, key: str, options: Collection[str], *, missing: str) -> None:
        """Each of several values of a parameter must be one of some options."""
        for value in st.query_params.get_all(key):
            if value not in options:
                self.asked[key] = value
                self._refuse(key, missing)

    def number(self, key: str) -> None:
        """A parameter must be a whole number from 0."""
        if key in self.asked and not (self.asked[key].isascii() and self.asked[key].isdigit()):
            self._refuse(key, "that is no whole number")

    def amount(self, key: str) -> None:
        """A parameter must be a number from 0."""
        if key in self.asked and not re.fullmatch(r"\d{1,15}(\.\d{1,9})?", self.asked[key], re.ASCII):
            self._refuse(key, "that is no number from 0")

    def unused(self, key: str, *, why: str) -> None:
        """A parameter that the rest of the question leaves no place for."""
        if key in self.asked:
            self._refuse(key, why)

    def taken(self, key: str) -> None:
        """Something else was chosen for a parameter: what was asked before does not matter any more."""
        self._refused.pop(key, None)

    def stop_if_refused(self) -> None:
        """End the page with what cannot be asked, and a way on; the widgets above stay."""
        if not self._refused:
            return
        said = "\n".join(f"- {sentence}" for _, sentence in sorted(self._refused.items()))
        st.error(f"**The link asks for something that is not here**\n\n{said}", icon=":material/link_off:")
        st.button("Ask without it", icon=":material/backspace:", key="without", on_click=self._without)
        st.stop()

    def _without(self) -> None:
        for key in _TEXTS & self._refused.keys():
            st.session_state[key] = ""
        self._refused.clear()

    def refuse(self, key: str, value: str, why: str) -> None:
        """A value that cannot be taken."""
        self._refused[key] = f"{markdown_code(key)} is {markdown_code(value[:200])}: {why}"

    def _refuse(self, key: str, why: str) -> None:
        self.refuse(key, self.asked[key], why)
