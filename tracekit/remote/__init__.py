"""Questions to a store that another process serves: found beside the file, asked over HTTP."""

from tracekit.remote.client import FILE_MEDIA_TYPE, ROW_LIMIT, TRUNCATED_HEADER, RemoteStore
from tracekit.remote.endpoint import Endpoint, announced, endpoint_of
from tracekit.remote.parameters import received
from tracekit.remote.wire import packed, unpacked

__all__ = [
    "FILE_MEDIA_TYPE",
    "ROW_LIMIT",
    "TRUNCATED_HEADER",
    "Endpoint",
    "RemoteStore",
    "announced",
    "endpoint_of",
    "packed",
    "received",
    "unpacked",
]
