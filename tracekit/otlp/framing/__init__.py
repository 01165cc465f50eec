"""Files and streams to OTLP documents, recognised from their content.

`documents` cuts a file into chunks of documents; `open_window` takes gzip and zstd off any stream. Read are OTLP/JSON,
one document a line, one after the other, in an array, or one alone over many lines; protobuf messages, alone or each
behind its length in four bytes (big-endian); messages behind their length that are zstd frames of either encoding; and
gzip or zstd over any of these.
"""

from tracekit.otlp.framing.files import FORMATS, Chunk, documents
from tracekit.otlp.framing.json_objects import first_keys, json_objects
from tracekit.otlp.framing.window import Window, open_window

__all__ = ["FORMATS", "Chunk", "Window", "documents", "first_keys", "json_objects", "open_window"]
