"""Log records as a table."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tracekit.otlp.rejects import Verdict
from tracekit.otlp.tables import columns
from tracekit.otlp.tables.containers import Containers
from tracekit.otlp.tables.reading import Reading, kept_rows
from tracekit.records import LOGS, Reason


def log_tables(reading: Reading, around: Containers, *, first_resource: int, first_scope: int) -> dict[str, pa.Table]:
    """Table `logs` of the records that can be stored; resources and scopes begin at the given rows of the
    batch.
    """
    scopes = reading.rows.parents("LogRecord")
    documents = around.document_of_scope[scopes]
    verdict = reading.verdict("LogRecord")
    attributes, repeated = reading.attributes("LogRecord.attributes", verdict)
    body, repeated_in_body = reading.body("LogRecord.body", verdict)
    found = {
        "resource_row": columns.cast_numbers(around.resource_of_scope[scopes] + first_resource, pa.int32()),
        "scope_row": columns.cast_numbers(scopes + first_scope, pa.int32()),
        "severity_number": reading.small("LogRecord.severity_number", pa.uint8(), verdict),
        "severity_text": reading.text("LogRecord.severity_text", verdict),
        "body": body,
        "attributes": attributes,
        "dropped_attributes_count": reading.small("LogRecord.dropped_attributes_count", pa.uint32(), verdict),
        "flags": reading.small("LogRecord.flags", pa.uint32(), verdict),
        "event_name": reading.text("LogRecord.event_name", verdict),
        "document_row": columns.cast_numbers(documents, pa.int32()),
        **_times_and_ids(reading, verdict),
    }
    reading.log.add_verdict("logs", verdict, documents)
    for field, counts in (("LogRecord.attributes", repeated), ("LogRecord.body", repeated_in_body)):
        reading.note_repeated("logs", field, np.where(verdict.is_kept, counts, 0), documents)
    for field, size_bytes in (("LogRecord.trace_id", 16), ("LogRecord.span_id", 8)):
        reading.note_wrong_size("logs", field, Reason.LOG_ID_INVALID, verdict, documents, size_bytes=size_bytes)
    table = pa.table([found[name] for name in LOGS.names], schema=LOGS)
    return {"logs": kept_rows(table, verdict.is_kept)}


def _times_and_ids(reading: Reading, verdict: Verdict) -> dict[str, pa.Array]:
    time_ns = reading.time("LogRecord.time_unix_nano", verdict, needed=False)
    observed_ns = reading.time("LogRecord.observed_time_unix_nano", verdict, needed=False)
    trace_id = reading.ids("LogRecord.trace_id", size_bytes=16)
    span_id = reading.ids("LogRecord.span_id", size_bytes=8)
    return {
        "time_ns": columns.numbers(time_ns, pa.int64(), is_valid=time_ns != 0),
        "observed_time_ns": columns.numbers(observed_ns, pa.int64(), is_valid=observed_ns != 0),
        "trace_id": columns.trace_ids(trace_id, is_valid=~columns.is_zero(trace_id)),
        "span_id": columns.span_ids(span_id, is_valid=~columns.is_zero(span_id)),
    }
