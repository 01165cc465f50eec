"""Reading files into a trace store."""

from tracekit.ingest.decoding import Decoded, decoded_as_read
from tracekit.ingest.incoming import IncomingSource
from tracekit.ingest.outgoing import OutgoingFiles
from tracekit.ingest.pipeline import ingest, ingest_sources
from tracekit.ingest.reading import Ended
from tracekit.ingest.report import FileReport, IngestReport
from tracekit.ingest.sources import STANDARD_INPUT, Source, find

__all__ = [
    "STANDARD_INPUT",
    "Decoded",
    "Ended",
    "FileReport",
    "IncomingSource",
    "IngestReport",
    "OutgoingFiles",
    "Source",
    "decoded_as_read",
    "find",
    "ingest",
    "ingest_sources",
]
