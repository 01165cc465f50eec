"""Questions to a store that another process serves: found beside the file, asked over HTTP."""

from tracekit.remote.client import RemoteStore
from tracekit.remote.endpoint import Endpoint, announced, endpoint_of
from tracekit.remote.wire import packed, unpacked

__all__ = ["Endpoint", "RemoteStore", "announced", "endpoint_of", "packed", "unpacked"]
