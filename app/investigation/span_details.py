"""Everything that one span carries, as it arrived."""

from __future__ import annotations

import json
from typing import Any

import polars as pl
import streamlit as st

from investigation.border import dataframe
from investigation.store import StoreFile, rows
from tracekit.foreign import markdown, named
from tracekit.wording import duration_text, exact_text, moment_text


def span_details(file: StoreFile, trace_id: str, bar: dict[str, Any]) -> None:
    """Times, status, attributes, events and what the sender dropped of the span behind a bar."""
    # A derived operation is told by the span that it was found in.
    span_id = bar["span_id"] or bar["parent"]
    found = rows(file, "explore/span_details", trace_id=trace_id, span_id=span_id or "")
    if found.is_empty():
        st.caption(f"{markdown(named(bar['label']))} has no span of its own: it stands for one that did not arrive.")
        return
    span = found.row(0, named=True)
    found_in = f"{markdown(named(bar['label']))}, found in " if bar["is_virtual"] else ""
    st.markdown(f"{found_in}**{markdown(span['name'].strip()) or 'no name'}**  `{span_id}`")
    lasts = span["end_ns"] - span["start_ns"]
    st.caption(
        f"{moment_text(span['start_ns'])} ({span['start_ns']:,} ns), "
        f"{duration_text(lasts)} ({exact_text(lasts)}), "
        f"status {span['status_code']}{_message(span)}{_dropped(span)}"
    )
    left, right = st.columns(2)
    with left:
        _attribute_table("Attributes", span["span_attributes"])
        _event_table(rows(file, "explore/span_events_of", trace_id=trace_id, span_id=span_id), span["start_ns"])
    with right:
        _attribute_table("Sent by", span["resource_attributes"])


def _message(span: dict[str, Any]) -> str:
    return f": {markdown(span['status_message'])}" if span["status_message"] else ""


def _dropped(span: dict[str, Any]) -> str:
    counts = {kind: span[f"dropped_{kind}_count"] for kind in ("attributes", "events", "links")}
    parts = [f"{count} {kind}" for kind, count in counts.items() if count]
    return f"; the sender dropped {', '.join(parts)}" if parts else ""


def _attribute_table(title: str, attributes: str | None) -> None:
    values = json.loads(attributes) if attributes else {}
    if not values:
        st.caption(f"{title}: none")
        return
    shown = {key: value if isinstance(value, str) else json.dumps(value) for key, value in sorted(values.items())}
    dataframe(
        pl.DataFrame({title: list(shown), "value": list(shown.values())}),
        hide_index=True,
        alt=f"{title} of the span",
    )


def _event_table(events: pl.DataFrame, start_ns: int) -> None:
    if events.is_empty():
        return
    after = (pl.col("time_ns") - start_ns).map_elements(exact_text, return_dtype=pl.String)
    dataframe(
        events.select(pl.col("name").alias("Event"), after.alias("after"), "attributes"),
        hide_index=True,
        alt="Events of the span",
    )
