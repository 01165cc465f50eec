"""From a number to the statement behind it: a link to the SQL page with everything filled in."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import streamlit as st

import tracekit as tk
from investigation.scope import literal

SQL_PAGE = "app_pages/sql.py"
# An address that a browser and a server take.
_LONGEST = 6000


def filled_in(statement: str, **parameters: Any) -> str:
    """A statement of `queries/` with its parameters as literals, in place of `$name`.

    >>> filled_in("SELECT $a, $ab, '$a'", a=1, ab="it's")
    "SELECT 1, 'it''s', '$a'"
    """
    names = "|".join(sorted(map(re.escape, parameters), key=len, reverse=True))
    if not names:
        return statement
    # Texts and comments are passed over as they are.
    token = re.compile(rf"--[^\n]*|'(?:[^']|'')*'|\$({names})\b")
    return token.sub(lambda found: _literal(parameters[found[1]]) if found[1] else found[0], statement)


def _literal(value: Any) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return literal(value)
        case Collection():
            return "[" + ", ".join(_literal(each) for each in value) + "]"
    raise tk.UsageError(f"a {type(value).__name__} has no literal in SQL")


def sql_link(query: str, **parameters: Any) -> None:
    """A link that opens the SQL page with the statement `queries/<query>.sql`, its parameters filled in.

    No link where the address would be too long for a browser.
    """
    statement_link(without_header(filled_in(tk.Store.statement(query), **parameters)))


def statement_link(statement: str) -> None:
    """A link that opens the SQL page with a statement; none where the address would be too long for a browser."""
    if len(statement) <= _LONGEST:
        st.page_link(SQL_PAGE, label="The SQL behind it", icon=":material/database:", query_params={"sql": statement})


def without_header(statement: str) -> str:
    """A statement without the comments that stand before it."""
    return re.sub(r"\A(?:--[^\n]*\n)*", "", statement)
