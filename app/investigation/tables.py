"""Tables that pages show as they are."""

from __future__ import annotations

from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.sql_link import SQL_PAGE
from investigation.store import StoreFile, rows
from tracekit.charts import stage_colour
from tracekit.schema import Outcome
from tracekit.wording import count_text, counted, moment_text, period_text

_RECENT_INGESTS = 200


_OUTCOME_COLOURS = {
    Outcome.OK: "green",
    Outcome.FAILED: "red",
    Outcome.ABORTED: "orange",
    Outcome.REJECTED: "orange",
    Outcome.INVALID: "violet",
}


def outcome_badges(outcomes: pl.DataFrame) -> None:
    """How requests and steps ended."""
    with st.container(horizontal=True, gap="small"):
        for row in outcomes.iter_rows(named=True):
            colour = _OUTCOME_COLOURS.get(row["outcome"], "gray")
            st.badge(f"{row['kind']}s {row['outcome']} {count_text(row['unit_count'])}", color=colour)


_UNITS = {"request": "Of a request", "step": "Of a training step", "job": "Of a training job"}


def stage_tables(file: StoreFile) -> None:
    """What each stage means, with its colour, by the unit that it belongs to."""
    stages = rows(file, "explore/stages")
    for kind, title in _UNITS.items():
        st.subheader(title, anchor=False)
        own = stages.filter(pl.col("unit_kind") == kind)
        # A square of the colour, for a cell of a table takes text alone.
        samples = pl.Series("colour", [_swatch(stage_colour(stage)) for stage in own["stage"]], dtype=pl.String)
        dataframe(
            own.drop("unit_kind").insert_column(0, samples),
            column_config={"colour": st.column_config.ImageColumn("", width=40)},
            hide_index=True,
            height="content",
            placeholder="–",
            alt=f"{title}: stages with their owner and meaning",
        )


def _swatch(colour: str) -> str:
    return (
        "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='24' height='24'%3E"
        f"%3Crect width='24' height='24' rx='5' fill='%23{colour.removeprefix('#')}'/%3E%3C/svg%3E"
    )


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
    """The checks of the data that found something, the worst first, and how many found nothing; a row opens its SQL."""
    found = quality.checks.filter(pl.col("severity") != "ok")
    if not found.is_empty():
        st.caption("Choose a row to see what it found.")
        event = dataframe(
            found,
            column_order=["severity", "message", "look"],
            column_config={
                "severity": st.column_config.TextColumn(width=80),
                "message": st.column_config.TextColumn("found", width="large"),
                "look": st.column_config.TextColumn("where to look", width="medium"),
            },
            hide_index=True,
            key="quality_checks",
            on_select="rerun",
            selection_mode="single-row",
            alt="Checks of the data that found something",
        )
        look = found["look"][event.selection.rows[0]] if event.selection.rows else None
        if look:
            st.switch_page(SQL_PAGE, query_params={"sql": look})
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
