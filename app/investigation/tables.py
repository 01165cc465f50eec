"""Tables that pages show as they are."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.store import StoreFile, rows
from tracekit.wording import counted, moment_text, period_text

_RECENT_INGESTS = 200


def service_table(file: StoreFile) -> None:
    """Who sent spans."""
    active = (pl.col("last_ns") - pl.col("first_ns")).map_elements(period_text, return_dtype=pl.String)
    dataframe(
        rows(file, "explore/services").with_columns(
            active.alias("active"), pl.col("service_name").fill_null("(no name)")
        ),
        column_order=["service_name", "span_count", "error_count", "host_count", "active"],
        column_config={
            "service_name": "service",
            "span_count": "spans",
            "error_count": "with errors",
            "host_count": "hosts",
            "active": "first to last span",
        },
        hide_index=True,
        alt="Services with their spans, errors and hosts",
    )


def quality_table(quality: Any) -> None:
    """The checks of the data that found something, the worst first, and how many found nothing."""
    found = quality.checks.filter(pl.col("severity") != "ok")
    if not found.is_empty():
        dataframe(
            found,
            column_order=["severity", "message", "look"],
            column_config={
                "message": "found",
                "look": st.column_config.TextColumn("where to look", width="medium"),
            },
            hide_index=True,
            alt="Checks of the data that found something",
        )
    st.caption(f"{counted(quality.checks.height - found.height, 'check')} found nothing.")


def ingest_table(file: StoreFile) -> None:
    """What arrived, the latest first, with what was not stored and why."""
    ingests = rows(file, "explore/ingests", limit=_RECENT_INGESTS)
    received = pl.col("received_ns").map_elements(moment_text, return_dtype=pl.String)
    dataframe(
        ingests.with_columns(received.alias("received")),
        column_order=[
            "source",
            "format",
            "received",
            "spans",
            "metric_points",
            "logs",
            "duplicates",
            "rejected",
            "reasons",
            "error",
        ],
        column_config={"metric_points": "metric points", "reasons": "set aside, by reason"},
        hide_index=True,
        placeholder="–",
        alt="Files and streams with what was stored and rejected of each",
    )
    if ingests.height == _RECENT_INGESTS:
        st.caption(f"The latest {_RECENT_INGESTS} ingests; the view `ingests` has all of them.")
