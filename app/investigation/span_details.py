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

_LOGS = 200
_NAME_PX = 170


def span_details(file: StoreFile, trace_ids: list[str], bar: dict[str, Any]) -> None:
    """Times, status, attributes, events, links, logs and what the sender dropped of the span behind a bar.

    `trace_ids` are those of the timeline; a span is looked for in each.
    """
    # A derived operation is told by the span that it was found in.
    span_id = bar["span_id"] or bar["parent"] or ""
    for trace_id in trace_ids:
        found = rows(file, "explore/span_details", trace_id=trace_id, span_id=span_id)
        if not found.is_empty():
            break
    else:
        st.caption(f"{markdown(named(bar['label']))} has no span of its own: it stands for one that did not arrive.")
        return
    span = found.row(0, named=True)
    found_in = f"{markdown(named(bar['label']))}, found in " if bar["is_virtual"] else ""
    st.markdown(f"{found_in}**{markdown(named(span['name'].strip())) or 'no name'}**  `{span_id}`")
    lasts = span["end_ns"] - span["start_ns"]
    st.caption(
        f"{moment_text(span['start_ns'])} ({span['start_ns']:,} ns), "
        f"{duration_text(lasts)} ({exact_text(lasts)}), "
        f"status {span['status_code']}{_message(span)}{_dropped(span)}{_corrected(bar)}"
    )
    _attribute_table("Attributes", span["span_attributes"])
    where = {"trace_id": trace_id, "span_id": span_id}
    _event_table(rows(file, "explore/span_events_of", **where), span["start_ns"])
    _link_table(rows(file, "explore/span_links_of", **where))
    _log_table(rows(file, "explore/span_logs_of", **where, limit=_LOGS), span["start_ns"])
    _attribute_table("Sent by", span["resource_attributes"])


def _corrected(bar: dict[str, Any]) -> str:
    shift_ns = bar["shift_ns"]
    return f"; drawn {duration_text(shift_ns, signed=True)} from there, by the clock of the root" if shift_ns else ""


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
        column_config={title: st.column_config.TextColumn(width=_NAME_PX), "value": st.column_config.TextColumn()},
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


def _link_table(links: pl.DataFrame) -> None:
    if links.is_empty():
        return
    words = {"to": "links to", "from": "is linked from"}
    dataframe(
        links.select(
            pl.col("direction").replace_strict(words).alias("Link"),
            pl.col("trace_id").alias("trace"),
            pl.col("span_id").alias("span"),
            "attributes",
        ),
        hide_index=True,
        alt="Links of the span",
    )


def _log_table(logs: pl.DataFrame, start_ns: int) -> None:
    if logs.is_empty():
        return
    after = (pl.col("time_ns") - start_ns).map_elements(exact_text, return_dtype=pl.String)
    dataframe(
        logs.select(pl.col("severity").alias("Log"), "body", after.alias("after"), "event_name", "attributes"),
        hide_index=True,
        placeholder="–",
        alt="Log records of the span",
    )
    count = logs["log_count"][0]
    if count > logs.height:
        st.caption(f"The first {logs.height:,} of {count:,} log records; the view `logs` has all of them.")
