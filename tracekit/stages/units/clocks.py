"""Which clocks of a batch need correcting: decided trace by trace, and only where a call shows it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.partition import UNKNOWN_HOST
from tracekit.stages.units.spans import Spans

SERVER = 2
CLIENT = 3


def doubtful_hosts(spans: Spans, host: NDArray[np.int32]) -> NDArray[np.int32]:
    """Numbers of hosts for the estimate of clock differences; `UNKNOWN_HOST` where nothing needs correcting.

    `host` is the number of each span's host. Only traces in which a server works outside the time that its
    client on another host waits keep their hosts. The numbers are distinct for each trace, so that what is
    estimated for one does not depend on which others share the batch.
    """
    doubtful = np.zeros(int(spans.key.max()) + 1 if spans.count else 0, dtype=bool)
    doubtful[spans.key[_contradicting(spans, host)]] = True
    chosen = np.flatnonzero(doubtful[spans.key] & (host != UNKNOWN_HOST))
    result = np.full(spans.count, UNKNOWN_HOST, dtype=np.int32)
    if len(chosen):
        trace_host = np.stack([spans.key[chosen], host[chosen]], axis=1)
        result[chosen] = np.unique(trace_host, axis=0, return_inverse=True)[1].reshape(-1)
    return result


def _contradicting(spans: Spans, host: NDArray[np.int32]) -> NDArray[np.int64]:
    server = np.flatnonzero((spans.kind == SERVER) & (spans.parent >= 0))
    client = spans.parent[server]
    between_hosts = (host[server] != host[client]) & (host[server] != UNKNOWN_HOST) & (host[client] != UNKNOWN_HOST)
    is_outside = (spans.start_ns[server] < spans.start_ns[client]) | (spans.end_ns[server] > spans.end_ns[client])
    return server[between_hosts & is_outside & (spans.kind[client] == CLIENT)]
