"""Where foreign text crosses into a page: every table goes through here, every sentence through `markdown`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import streamlit as st

from tracekit.foreign import plain_frame

_LOOK = Path(__file__).parents[1] / "look.css"
_NUMBERED = {"step", "first_step", "last_step", "rank", "culprit_rank", "attempt", "incident"}
"""Columns whose numbers are names."""


def dataframe(frame: pl.DataFrame, *, has_counts: bool = True, **options: Any) -> Any:
    """`st.dataframe` of a frame whose texts are text; rows stay where they are, so that a selection finds them.

    Whole numbers have separators of thousands where they are counts; `has_counts` is false where nothing is known of
    them.
    """
    if has_counts:
        options["column_config"] = _counts(frame) | _labelled(frame, options.get("column_config") or {})
    return st.dataframe(plain_frame(frame), **options)


def _counts(frame: pl.DataFrame) -> dict[str, Any]:
    return {
        name: st.column_config.NumberColumn(format="localized") for name in frame.columns if _counts_in(frame, name)
    }


def _labelled(frame: pl.DataFrame, config: dict[str, Any]) -> dict[str, Any]:
    """The configuration with labels that are only texts made into those of counts."""
    return {
        name: st.column_config.NumberColumn(told, format="localized")
        if isinstance(told, str) and _counts_in(frame, name)
        else told
        for name, told in config.items()
    }


def _counts_in(frame: pl.DataFrame, name: str) -> bool:
    kind = frame.schema.get(name)
    return kind is not None and kind.is_integer() and name not in _NUMBERED and not name.endswith("_id")


def take_over_look() -> None:
    """Put the app's own style sheet into the page; nothing foreign is in it."""
    st.html(_LOOK)
