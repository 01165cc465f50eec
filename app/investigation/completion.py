"""Words offered where a statement is written: views, their columns, functions, and what statements are made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from investigation.store import StoreFile, rows

_SOURCE = Path(__file__).parents[1] / "completion"
_LONGEST_TOLD = 80
KEYWORDS = (
    "SELECT", "FROM", "WHERE", "GROUP BY ALL", "ORDER BY", "LIMIT", "HAVING", "QUALIFY", "WITH", "JOIN", "LEFT JOIN",
    "ASOF JOIN", "USING", "DISTINCT", "FILTER", "OVER", "PARTITION BY", "CASE", "WHEN", "THEN", "ELSE", "END", "AND",
    "OR", "NOT", "NULL", "IS NULL", "IN", "BETWEEN", "LIKE", "UNION ALL", "DESCRIBE", "SUMMARIZE", "EXPLAIN", "PIVOT",
)  # fmt: skip


def _source(ending: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(_SOURCE.glob(f"*.{ending}")))


# Its styles are not set apart, which would put it into a tree of its own: the field names the list and what is chosen
# in it by their ids.
_mounted = st.components.v2.component(
    "tracekit_completion", html=_source("html"), css=_source("css"), js=_source("js"), isolate_styles=False
)


def completion(file: StoreFile, *, field: str) -> None:
    """Offer words in the text area of this label."""
    _mounted(data={"field": field, "words": words(file)}, key="completion")


def words(file: StoreFile) -> list[dict[str, Any]]:
    """`word`, `kind` (view, column, function, keyword), `told` of each, and for columns `of`: their view."""
    views = rows(file, "explore/views").rows()
    columns = rows(file, "explore/view_columns").rows()
    functions = rows(file, "explore/function_names").rows()
    return [
        *(_word(name, "view", comment) for name, comment in views),
        *(_word(name, "column", meaning or kind) | {"of": view} for view, name, kind, meaning in columns),
        *(_word(name, "function", told) for name, told in functions),
        *(_word(name, "keyword", "") for name in KEYWORDS),
    ]


def _word(word: str, kind: str, told: str | None) -> dict[str, Any]:
    return {"word": word, "kind": kind, "told": (told or "").strip()[:_LONGEST_TOLD]}
