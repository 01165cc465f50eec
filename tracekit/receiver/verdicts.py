"""From the decoder's report to the answer that each request gets."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from tracekit.otlp import Batch, Document, decode
from tracekit.receiver.export import Export
from tracekit.receiver.outcome import Accepted, Refusal, Refused, Violation
from tracekit.records import DOCUMENT_FAULTS, Reason
from tracekit.store import Reject

# A body that breaks the encoding is refused as a whole: nobody can tell what else in it means something
# different.
_ENCODING_FAULTS = DOCUMENT_FAULTS | {
    Reason.KEY_NOT_LOWER_CAMEL_CASE,
    Reason.WRONG_TYPE,
    Reason.ENUM_NAME,
    Reason.ID_NOT_HEX,
    Reason.BYTES_NOT_BASE64,
}
_REFUSING_REASONS = frozenset(reason.word for reason in _ENCODING_FAULTS)
_FIELD = re.compile(r"^(\w+) field (\w+): ")
_REASONS_SHOWN = 10
# gRPC carries messages and details in headers, whose room is 8 KiB.
_DESCRIPTION_CHARACTERS = 200
_RECORD_TABLES = ("spans", "metric_points", "metric_histograms", "metric_summaries", "logs")


def rejects_by_request(rejects: Iterable[Reject]) -> dict[int, list[Reject]]:
    """What was not stored, by the position of its request; notes on stored records are left out."""
    found: dict[int, list[Reject]] = defaultdict(list)
    for reject in rejects:
        if reject.kind == "rejected" and reject.document_row is not None:
            found[reject.document_row].append(reject)
    return found


def undecodable(rejects: Iterable[Reject]) -> bool:
    """Whether one of a request's faults makes the whole request invalid."""
    return any(reject.reason in _REFUSING_REASONS for reject in rejects)


def holds_no_record(export: Export) -> bool:
    """Whether nothing of a request can be stored, so that its answer is a refusal and not a partial
    success."""
    batch = decode([Document(export.payload)], encoding=export.encoding, signal=export.signal)
    return record_count(batch) == 0


def record_count(batch: Batch) -> int:
    """Spans, data points and log records of a batch."""
    return sum(getattr(batch, name).num_rows for name in _RECORD_TABLES)


def accepted(rejects: Sequence[Reject]) -> Accepted:
    """Success, partial where there are rejects."""
    return Accepted(sum(reject.record_count for reject in rejects), _summary(rejects) if rejects else "")


def invalid(rejects: Sequence[Reject]) -> Refused:
    """Bad data: what is wrong, field by field."""
    violations = tuple(_violation(reject) for reject in rejects[:_REASONS_SHOWN])
    return Refused(Refusal.INVALID, _summary(rejects), violations)


def _summary(rejects: Sequence[Reject]) -> str:
    parts = [f"{reject.record_count} {reject.reason} ({_description(reject)})" for reject in rejects[:_REASONS_SHOWN]]
    if len(rejects) > _REASONS_SHOWN:
        parts.append(f"and {len(rejects) - _REASONS_SHOWN} more reasons")
    return "not stored: " + "; ".join(parts)


def _violation(reject: Reject) -> Violation:
    description = _description(reject)
    named = _FIELD.match(description)
    field = f"{named[1]}.{named[2]}" if named else reject.reason
    return Violation(field, f"{description} (at byte {reject.first_offset})")


def _description(reject: Reject) -> str:
    return (reject.example or reject.reason)[:_DESCRIPTION_CHARACTERS]
