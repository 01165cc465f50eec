"""OTLP, the OpenTelemetry protocol: documents of either encoding to Arrow tables."""

from tracekit.otlp.batch import SCHEMAS, Batch, Document, decode
from tracekit.otlp.fields import SIGNALS, Signal
from tracekit.otlp.rejects import REJECTS
from tracekit.otlp.walk import Encoding

__all__ = ["REJECTS", "SCHEMAS", "SIGNALS", "Batch", "Document", "Encoding", "Signal", "decode"]
