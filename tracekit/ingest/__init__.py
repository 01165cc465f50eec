"""Reading files into a trace store."""

from tracekit.ingest.incoming import IncomingSource
from tracekit.ingest.outgoing import OutgoingFiles
from tracekit.ingest.pipeline import ingest, ingest_sources
from tracekit.ingest.report import FileReport, IngestReport
from tracekit.ingest.sources import Source, find

__all__ = [
    "FileReport",
    "IncomingSource",
    "IngestReport",
    "OutgoingFiles",
    "Source",
    "find",
    "ingest",
    "ingest_sources",
]
