"""Which signal a protobuf document holds."""

from __future__ import annotations

from collections.abc import Callable

from tracekit.otlp.wire.fields import RECORDS
from tracekit.otlp.wire.walk import Walk, walk
from tracekit.records import SIGNALS, Reason, Signal

_UNITS = [RECORDS.index(name) for name in ("Span", "Metric", "LogRecord")]
_LEAST_ENTRIES = 3
_LEAST_BEFORE_CUT = 8


def detect_signal(part: Callable[[int], bytes], *, looked_at_bytes: int, most_bytes: int) -> Signal | None:
    """The signal that a protobuf document reads best as, None if it is no OTLP.

    `part(size)` gives the first bytes of the document. `looked_at_bytes` of it are enough, unless a field that goes
    on behind them is all there is so far, as a long log body: then it is twice as many, up to `most_bytes`. A document
    that is cut off counts if a whole span, metric or log record comes before the cut, or else some fields that are all
    of OTLP's types. A document without records says too little about its signal; it counts as traces as long as
    something in it is known.
    """
    while True:
        payload = part(min(looked_at_bytes, most_bytes))
        walked = walk([payload], encoding="protobuf", signal=None)
        if _is_otlp(walked):
            return SIGNALS[walked.signals[0]]
        if not _may_go_on(walked) or len(payload) < looked_at_bytes or looked_at_bytes >= most_bytes:
            return None
        looked_at_bytes *= 2


def _is_otlp(walked: Walk) -> bool:
    has_units = any(walked.row_counts[unit] > 0 for unit in _UNITS)
    is_pure = walked.mistyped[0] == 0
    is_whole = walked.faults[0] == 0 and walked.entry_count >= _LEAST_ENTRIES and (has_units or is_pure)
    has_enough = has_units or (is_pure and walked.most_events >= _LEAST_BEFORE_CUT)
    return bool(is_whole or (walked.faults[0] == Reason.TRUNCATED and has_enough))


def _may_go_on(walked: Walk) -> bool:
    """Whether the bytes end inside of fields that are OTLP's as far as they go: cut off, not malformed."""
    is_cut = walked.faults[0] == Reason.TRUNCATED
    return bool(is_cut and walked.mistyped[0] == 0 and walked.most_events >= _LEAST_ENTRIES)
