"""Reading files into a trace store."""

from tracekit.ingest.pipeline import ingest
from tracekit.ingest.report import FileReport, IngestReport

__all__ = ["FileReport", "IngestReport", "ingest"]
