"""Log records of a training run: what rank 0 says of steps that were skipped and of checkpoints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from generators.logs import INFO, WARN, LogGroup
from generators.spans import Emission
from generators.training import state
from generators.training.emission import SCOPE
from generators.training.parameters import number
from generators.training.simulation import Run
from generators.training.workload import NS_PER_S

SKIPPED = "Gradient overflow. Skipping step, loss scaler reducing loss scale."


def with_logs(emission: Emission, run: Run) -> Emission:
    """The emission with the records of rank 0, inside its step spans."""
    calendar = run.draws.calendar
    groups = [
        _records(emission, run, calendar["is_overflow"], state.NORMED, WARN, SKIPPED),
        _records(emission, run, calendar["saves"], state.FINISHED, INFO, "Saved checkpoint."),
    ]
    return replace(emission, logs=tuple(group for group in groups if len(group)))


def _records(emission: Emission, run: Run, chosen: np.ndarray, instant: int, severity: int, body: str) -> LogGroup:
    """One record for each of the chosen steps, when rank 0 reached an instant of it."""
    rows = np.flatnonzero(chosen)
    roots = next(group for group in emission.groups if group.name == "step").span_id
    origin_ns = number(run.values, "run.start_unix_s") * NS_PER_S
    return LogGroup(
        SCOPE, severity, np.zeros(rows.size, np.int64), origin_ns + run.log.instants[rows, instant, 0],
        np.full(rows.size, body, dtype=object), rows, roots.reshape(-1, run.mesh.count)[rows, 0],
        {"tracekit.step": run.steps[rows]},
    )  # fmt: skip
