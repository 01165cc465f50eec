"""Which of the stores that the app was opened on is shown: chosen in the side bar, kept in the address."""

from __future__ import annotations

import os
from pathlib import Path

import streamlit as st

from tracekit.foreign import markdown_code

STORES_VARIABLE = "TRACEKIT_STORES"
DATABASE_VARIABLE = "TRACEKIT_DB"
DEFAULT_DATABASE = "tracekit.duckdb"
STORE_PARAMETER = "store"
_CHOICE = "chosen_store"


def stores() -> dict[str, Path]:
    """The stores that the app was opened on, by the name that the address has: the file's, or its path where two are
    of one name."""
    listed = os.environ.get(STORES_VARIABLE) or os.environ.get(DATABASE_VARIABLE) or DEFAULT_DATABASE
    paths = [Path(path) for path in listed.split(os.pathsep)]
    names = [path.stem for path in paths]
    return {stem if names.count(stem) == 1 else str(path): path for stem, path in zip(names, paths, strict=True)}


def chosen_store() -> Path:
    """The store that is chosen; the first one until another is."""
    found = stores()
    return found.get(str(st.session_state.get(_CHOICE)), next(iter(found.values())))


def store_choice() -> None:
    """Draw the choice where there are several stores. Ends the run where the address names one that is not here."""
    names = list(stores())
    asked = st.query_params.get(STORE_PARAMETER)
    if asked is not None and asked not in names:
        st.error(
            f"**The link asks for something that is not here**\n\n- {markdown_code('store')} is "
            f"{markdown_code(asked[:200])}: the app was opened on {', '.join(map(markdown_code, names))}",
            icon=":material/link_off:",
        )
        st.stop()
    if len(names) == 1:
        return
    if asked is not None:
        st.session_state[_CHOICE] = asked
    st.sidebar.selectbox("Trace store", names, key=_CHOICE, on_change=_turn_to_it)
    st.query_params[STORE_PARAMETER] = st.session_state[_CHOICE]


def _turn_to_it() -> None:
    """What was asked of another store is no question to this one."""
    st.query_params.clear()
    st.query_params[STORE_PARAMETER] = st.session_state[_CHOICE]
