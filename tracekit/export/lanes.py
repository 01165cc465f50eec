"""Lanes for spans of one process: in a lane one span lies inside another or beside it, never across its end."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels import kernel

_Ints = NDArray[np.int64]
_NONE = -1


def lanes(process: _Ints, start_ns: _Ints, end_ns: _Ints, parent: _Ints) -> _Ints:
    """The lane of each span, from 0 in each process: its parent's where it fits, else the first where it does.

    Spans are sorted by process, then start, then the latest end first; `parent` is the position of the parent, -1 for
    none. Two spans of a lane either touch no common time or one holds the other; a span of no time fits anywhere
    inside what holds its moment.
    """
    return _lanes(process, start_ns, end_ns, parent)


@kernel
def _lanes(process: _Ints, start_ns: _Ints, end_ns: _Ints, parent: _Ints) -> _Ints:
    count = len(process)
    lane = np.full(count, _NONE)
    below = np.full(count, _NONE)
    top = np.full(count, _NONE)
    used = 0
    for span in range(count):
        if span == 0 or process[span] != process[span - 1]:
            used = 0
        above = parent[span]
        first = lane[above] if above >= 0 and process[above] == process[span] else _NONE
        chosen = used
        for each in range(-1, used):
            candidate = first if each < 0 else each
            if candidate < 0:
                continue
            held = top[candidate]
            while held >= 0 and end_ns[held] <= start_ns[span]:
                held = below[held]
            top[candidate] = held
            if held < 0 or end_ns[held] >= end_ns[span]:
                chosen = candidate
                break
        if chosen == used:
            top[used] = _NONE
            used += 1
        lane[span] = chosen
        below[span] = top[chosen]
        top[chosen] = span
    return lane
