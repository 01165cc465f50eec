"""Work that a message started becomes a unit of its own: whoever sent it had not waited.

A consumer below a producer begins a unit. A task that is tried again sends itself another message: the consumer of
that one belongs to the first unit, whose spans then last until the last attempt is over.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tracekit.partition import PARENTLESS
from tracekit.stages.units.keys import passed_down
from tracekit.stages.units.spans import Spans

PRODUCER = 4
CONSUMER = 5


def with_messages_of_their_own(spans: Spans) -> Spans:
    """The spans with a new key for each first consumer below a producer, and all below it.

    Such a consumer has no parent any more. Keys of the others stay; rows stay where they are. A unit that was
    tried again has its wait in the ends of the spans between the attempts: those last as long as what they wait
    for. A trace of one consumer and its producer alone keeps its key, too: the sender is a request as well.
    """
    consumers = _consumers(spans)
    if not len(consumers):
        return spans
    above = _consumer_above(spans, consumers)
    first, again = consumers[above < 0], consumers[above >= 0]
    parent, key = spans.parent.copy(), spans.key.copy()
    parent[first] = PARENTLESS
    key[first] = spans.key.max() + 1 + np.arange(len(first))
    end_ns = _lasting(spans.end_ns, parent, again)
    return replace(spans, parent=parent, key=passed_down(key, parent), end_ns=end_ns)


def started_by_messages(before: Spans, after: Spans, root_row: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which units of `after` a message started that another request sent: bool[key].

    `before`, `after`: the spans before and after `with_messages_of_their_own`. `root_row`: int64[key], root of each
    unit. A sender that does nothing else is no request that could be compared with others.
    """
    cut = np.flatnonzero((before.parent >= 0) & (after.parent == PARENTLESS))
    found = np.zeros(len(root_row), dtype=np.bool_)
    started, sender = after.key[cut], after.key[before.parent[cut]]
    asks = ~np.isin(after.kind[root_row[sender]], (PRODUCER, CONSUMER))
    while True:
        starts = asks | found[sender]
        if found[started[starts]].all():
            return found
        found[started[starts]] = True


def retried(spans: Spans) -> NDArray[np.int64]:
    """Rows of consumers that a producer inside their own unit sent a message to: attempts after the first."""
    consumers = _consumers(spans)
    return consumers[_consumer_above(spans, consumers) >= 0]


def _consumers(spans: Spans) -> NDArray[np.int64]:
    """Rows of consumers whose parent is a producer."""
    from_producer = (spans.parent >= 0) & (spans.kind[np.maximum(spans.parent, 0)] == PRODUCER)
    return np.flatnonzero((spans.kind == CONSUMER) & from_producer)


def _consumer_above(spans: Spans, consumers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The nearest consumer above each of them, -1 for none; a parent a round, all at once."""
    above = spans.parent[consumers]
    for _ in range(spans.count):
        is_open = (above >= 0) & (spans.kind[np.maximum(above, 0)] != CONSUMER)
        if not is_open.any():
            break
        above = np.where(is_open, spans.parent[np.maximum(above, 0)], above)
    return np.where((above >= 0) & (spans.kind[np.maximum(above, 0)] == CONSUMER), above, -1)


def _lasting(end_ns: NDArray[np.int64], parent: NDArray[np.int64], again: NDArray[np.int64]) -> NDArray[np.int64]:
    """Ends of spans, those above a repeated attempt not before its end."""
    ends = end_ns.copy()
    row = again
    while len(row):
        row = row[parent[row] >= 0]
        at = parent[row]
        is_longer = ends[row] > ends[at]
        np.maximum.at(ends, at, ends[row])
        row = np.unique(at[is_longer])
    return ends
