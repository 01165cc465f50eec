"""Which signal a protobuf document holds."""

from __future__ import annotations

from tracekit.otlp.wire.fields import RECORDS
from tracekit.otlp.wire.walk import walk
from tracekit.records import SIGNALS, Reason, Signal

_UNITS = [RECORDS.index(name) for name in ("Span", "Metric", "LogRecord")]
_LEAST_ENTRIES = 3
_LEAST_BEFORE_CUT = 8


def detect_signal(payload: bytes | memoryview) -> Signal | None:
    """The signal that a protobuf document reads best as, None if it is no OTLP.

    A document that is cut off counts if a whole span, metric or log record comes before the cut, or else some fields
    that are all of OTLP's types. A document without records says too little about its signal; it counts as traces
    as long as something in it is known.
    """
    walked = walk([payload], encoding="protobuf", signal=None)
    has_units = any(walked.row_counts[unit] > 0 for unit in _UNITS)
    is_pure = walked.mistyped[0] == 0
    is_whole = walked.faults[0] == 0 and walked.entry_count >= _LEAST_ENTRIES and (has_units or is_pure)
    has_enough = has_units or (is_pure and walked.most_events >= _LEAST_BEFORE_CUT)
    is_cut = walked.faults[0] == Reason.TRUNCATED and has_enough
    return SIGNALS[walked.signals[0]] if is_whole or is_cut else None
