"""Where foreign text crosses into a page: every table goes through here, every sentence through `markdown`."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from tracekit.foreign import plain_frame


def dataframe(frame: pl.DataFrame, **options: Any) -> Any:
    """`st.dataframe` of a frame whose texts are text; rows stay where they are, so that a selection finds them."""
    return st.dataframe(plain_frame(frame), **options)
