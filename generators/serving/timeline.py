"""What really happened to each request, from the intervals of a run: nanoseconds by window and stage,
attempts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.serving import stages, state
from generators.serving.simulation import Run

WINDOWS = ("ttft", "decode", "after", "e2e")
"""Before the first token, first to last token, after the last token; `e2e` for requests that never had a
token.
"""

UPSTREAM = tuple(range(stages.NET_DISPATCH, stages.RETRY))
"""Stages between sending a request to a replica and its last token at the gateway."""


def windows(run: Run) -> np.ndarray:
    """Window of each interval, an index into `WINDOWS`. No interval lies in two windows."""
    requests = run.requests[run.intervals["request"]]
    start_ns, first_ns, last_ns = run.intervals["start_ns"], requests["first_ns"], requests["last_ns"]
    has_last = last_ns >= 0
    window = np.where(start_ns < first_ns, 0, np.where(~has_last | (start_ns < last_ns), 1, 2))
    return np.where(first_ns < 0, 3, window)


def true_stages(run: Run) -> np.ndarray:
    """Stage of each interval as the truth has it: what a failed attempt spent in vain counts as `retry`."""
    good = run.requests["good_attempt"][run.intervals["request"]]
    stage = run.intervals["stage"]
    is_vain = (run.intervals["attempt"] < good) & np.isin(stage, stages.REPEATED)
    return np.where(is_vain, stages.RETRY, stage)


def stage_ns(run: Run) -> np.ndarray:
    """Nanoseconds of every request (rows) by window and stage (`[request, window, stage]`, int64).

    Summed over windows and stages they are the request's time from arrival to close, exactly.
    """
    shape = (run.requests.size, len(WINDOWS), stages.COUNT)
    total = np.zeros(shape, np.int64)
    lengths = run.intervals["end_ns"] - run.intervals["start_ns"]
    np.add.at(total, (run.intervals["request"], windows(run), true_stages(run)), lengths)
    return total


@dataclass(frozen=True)
class Attempts:
    """Every attempt that was sent to a replica, one array element an attempt, in order of request and
    attempt.
    """

    request: np.ndarray
    attempt: np.ndarray
    replica: np.ndarray
    start_ns: np.ndarray
    frontend_ns: np.ndarray
    """When the request reached the frontend, or -1 where it never did."""
    end_ns: np.ndarray
    is_failed: np.ndarray
    """Whether another attempt followed or the request failed with this one."""


def upstream(run: Run) -> np.ndarray:
    """Which intervals lie between sending a request to a replica and its last token at the gateway."""
    last_ns = run.requests["last_ns"][run.intervals["request"]]
    is_before_last = (last_ns < 0) | (run.intervals["start_ns"] < last_ns)
    return np.isin(run.intervals["stage"], UPSTREAM) & is_before_last


def attempts(run: Run) -> Attempts:
    """The attempts of a run, from the intervals that lie upstream."""
    rows = run.intervals[upstream(run)]
    change = (np.diff(rows["request"]) != 0) | (np.diff(rows["attempt"]) != 0)
    first = np.concatenate([[0], np.flatnonzero(change) + 1]) if rows.size else np.zeros(0, np.int64)
    last = np.concatenate([first[1:] - 1, [rows.size - 1]]) if rows.size else first
    request, attempt = rows["request"][first], rows["attempt"][first]
    outcome = run.requests["outcome"][request]
    is_final = attempt == run.requests["attempt"][request]
    return Attempts(
        request, attempt, rows["replica"][first], rows["start_ns"][first],
        np.where(last > first, rows["end_ns"][first], state.NONE), rows["end_ns"][last],
        ~is_final | ((outcome == state.FAILED) | (outcome == state.REJECTED)),
    )  # fmt: skip


def attempt_of_interval(table: Attempts, intervals: np.ndarray) -> np.ndarray:
    """Position in `table` of the attempt that each of these upstream intervals belongs to."""
    keys = table.request.astype(np.int64) * 1000 + table.attempt
    return np.searchsorted(keys, intervals["request"].astype(np.int64) * 1000 + intervals["attempt"])
