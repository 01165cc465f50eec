"""By which rule requests were given to engines, told from who had how many when each was dispatched."""

from __future__ import annotations

import numpy as np

from tracekit.analysis.batching.engine_times import EngineTimes
from tracekit.analysis.batching.kernel import DRAWN, LEAST_REQUESTS, ROUND_ROBIN, SHARED

_AGREEMENT = 0.9
"""A rule that names the engine of fewer requests than this is not the one."""

_BEYOND_LOT = 0.1
"""Where the engine with fewest requests is chosen hardly more often than by lot, nobody looked."""


def observed_rule(times: EngineTimes) -> tuple[int, float]:
    """The rule (a constant of the kernel) and the share of requests whose engine it names."""
    count = len(times.engines)
    if count < 2:
        return LEAST_REQUESTS, 1.0
    order = np.argsort(times.dispatched_ns, kind="stable")
    engine, at_ns = times.engine[order], times.dispatched_ns[order]
    turns = float(np.mean((np.diff(engine) % count) == 1))
    waiting = np.zeros((count, len(order)))
    for one in range(count):
        mine = engine == one
        done_ns = np.sort(times.last_ns[order][mine])
        waiting[one] = np.cumsum(mine) - mine - np.searchsorted(done_ns, at_ns, side="right")
    chosen = waiting[engine, np.arange(len(order))]
    is_least = waiting == waiting.min(axis=0)
    least, by_lot = float(np.mean(chosen <= waiting.min(axis=0))), float(np.mean(is_least.mean(axis=0)))
    if max(turns, least) >= _AGREEMENT:
        return (ROUND_ROBIN, turns) if turns > least else (LEAST_REQUESTS, least)
    return (DRAWN if least < by_lot + _BEYOND_LOT else SHARED), least
