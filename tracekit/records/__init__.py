"""What arrived, whatever it came as: spans, points and log records as Arrow tables, and the formats they come in.

`SCHEMAS` has the columns of each table and what makes two records the same, `Batch` holds tables that belong together,
`Reason` says why something was set aside. `tracekit.otlp` and `tracekit.importers` make batches, `tracekit.store` keeps
them. `tracekit.records.formats` tells how to add a format.
"""

from tracekit.records.batch import Batch, documents_at, empty_table
from tracekit.records.formats import Format, Input, Piece, recognised
from tracekit.records.joining import joined
from tracekit.records.reasons import ADVICE, DOCUMENT_FAULTS, Reason
from tracekit.records.schemas import (
    DOCUMENTS,
    EXEMPLARS,
    LOGS,
    METRIC_HISTOGRAMS,
    METRIC_POINTS,
    METRIC_STREAMS,
    METRIC_SUMMARIES,
    REJECTS,
    RESOURCES,
    SCHEMAS,
    SCOPES,
    SIGNALS,
    SPAN_EVENTS,
    SPAN_KEYS,
    SPAN_LINKS,
    SPANS,
    Signal,
)
from tracekit.records.selecting import RECORD_TABLES, selected

__all__ = [
    "ADVICE",
    "DOCUMENTS",
    "DOCUMENT_FAULTS",
    "EXEMPLARS",
    "LOGS",
    "METRIC_HISTOGRAMS",
    "METRIC_POINTS",
    "METRIC_STREAMS",
    "METRIC_SUMMARIES",
    "RECORD_TABLES",
    "REJECTS",
    "RESOURCES",
    "SCHEMAS",
    "SCOPES",
    "SIGNALS",
    "SPANS",
    "SPAN_EVENTS",
    "SPAN_KEYS",
    "SPAN_LINKS",
    "Batch",
    "Format",
    "Input",
    "Piece",
    "Reason",
    "Signal",
    "documents_at",
    "empty_table",
    "joined",
    "recognised",
    "selected",
]
