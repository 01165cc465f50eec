"""What arrived since a page was made, and the way on to it, without losing the place."""

from __future__ import annotations

import os

import streamlit as st

import tracekit as tk
from investigation.seen_marks import Mark, look_again, mark_now, new_spans
from investigation.store import StoreFile
from tracekit.wording import counted

_EVERY_S = 2.0
_BY_HAND = "refresh by hand"
_AUTOMATIC = {_BY_HAND: None, "refresh every 10 s": 10, "refresh every minute": 60}


def live_bar(file: StoreFile) -> None:
    """Nothing for a file; for a store that is served, what is new and the choice how to go on to it."""
    if not file.is_live:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="live"):
        st.badge("live", icon=":material/sensors:", color="green")
        chosen = st.selectbox(
            "Show what is new", list(_AUTOMATIC), key="refresh", width=210, label_visibility="collapsed"
        )
        every_s = _AUTOMATIC[chosen or _BY_HAND]
        st.fragment(_news, run_every=every_s or _EVERY_S)(file, is_automatic=every_s is not None)


def _news(file: StoreFile, *, is_automatic: bool) -> None:
    try:
        now = mark_now(file.path)
    except tk.TracekitError:
        # The server has no turn for us now; the next one comes in a moment.
        return
    if now == file.state:
        st.caption("Nothing new.")
        return
    seen = Mark(*file.state)
    # Nobody is asked about what came before the first look, nor about units that only caught up with their spans.
    goes_on = is_automatic or not seen.has_data or now.holds_the_same_as(seen)
    if goes_on or st.button(_told(seen, now), icon=":material/refresh:", type="tertiary"):
        look_again(file.path)
        st.rerun(scope="app")


def _told(seen: Mark, now: Mark) -> str:
    spans = new_spans(seen, now)
    if spans > 0:
        return f"{counted(spans, 'new span')} · refresh"
    return "Old spans were pruned · refresh" if spans < 0 else "The data has changed · refresh"


def sending_help() -> None:
    """Where to send spans, and a line that sends one; nothing where this process receives none."""
    http, grpc = os.environ.get("TRACEKIT_OTLP_HTTP"), os.environ.get("TRACEKIT_OTLP_GRPC")
    if http is None:
        return
    needs_token = os.environ.get("TRACEKIT_OTLP_TOKEN") == "asked for"
    st.markdown(
        f"Or send: OTLP/HTTP at `{http}`, OTLP/gRPC at `{grpc}`"
        + (", with the header `authorization: Bearer TOKEN`." if needs_token else ".")
        + " An instrumented program needs one setting; or send a first span by hand. It appears here by itself."
    )
    st.code(f"export OTEL_EXPORTER_OTLP_ENDPOINT={http}\npython my_program.py", language="bash")
    st.code(first_span(http, needs_token=needs_token), language="bash")


def first_span(http: str, *, needs_token: bool = False) -> str:
    """Shell commands that send one request of a quarter of a second that ends now."""
    token = ' -H "authorization: Bearer $TRACEKIT_TOKEN"' if needs_token else ""
    return f"""now=$(date +%s)
curl {http}/v1/traces -H 'content-type: application/json'{token} -d '{{"resourceSpans": [{{
  "resource": {{"attributes": [{{"key": "service.name", "value": {{"stringValue": "my-program"}}}}]}},
  "scopeSpans": [{{"spans": [{{"traceId": "'$(printf %032x $now)'", "spanId": "'$(printf %016x $now)'",
    "name": "hello", "kind": 2,
    "startTimeUnixNano": "'$now'000000000", "endTimeUnixNano": "'$now'250000000"}}]}}]}}]}}'"""
