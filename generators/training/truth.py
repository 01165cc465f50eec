"""The truth of a training run: exact time per rank, step and stage, beside the same steps without the fault."""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.parameters import Values
from generators.spans import Emission
from generators.training import state
from generators.training.causes import culprits
from generators.training.parameters import has_fault, number, without_fault
from generators.training.simulation import Run, simulate
from generators.training.stages import NAMES
from generators.training.workload import NS_PER_S


def counterfactual(run: Run, *, seed: int) -> Run:
    """The same seed without the fault; the run itself where it has none."""
    return simulate(without_fault(run.values), seed=seed) if has_fault(run.values) else run


def truth(run: Run, other: Run, emission: Emission, *, seed: int) -> dict[str, Any]:
    """The truth as plain values for `truth.json`; docs/generators.md explains each key."""
    found = culprits(run.values, seed=seed)
    return {
        "culprits": [vars(culprit) | {"stages": list(culprit.stages)} for culprit in found],
        "fault_window_ns": _fault_window(run),
        "outcomes": {"ok": int(run.log.planned_ns.size)},
        "effect_ns": _named((run.log.stage_ns - other.log.stage_ns).sum(axis=(0, 1))),
        "ledger_ns": _named(run.log.stage_ns.sum(axis=(0, 1))),
        "steps": _steps(run),
        "units": _units(run, other, emission),
    }


def _fault_window(run: Run) -> list[int] | None:
    """From the first start to the last end of the steps struck, since the epoch; None without any."""
    struck = np.flatnonzero(run.strikes.is_struck)
    if not has_fault(run.values) or not struck.size:
        return None
    at = run.log.instants
    origin_ns = _origin_ns(run.values)
    return [origin_ns + int(at[struck[0], state.STARTED].min()), origin_ns + int(at[struck[-1], state.FINISHED].max())]


def _origin_ns(values: Values) -> int:
    return number(values, "run.start_unix_s") * NS_PER_S


def _steps(run: Run) -> list[dict[str, Any]]:
    """What a ledger needs of each step."""
    at, calendar, origin_ns = run.log.instants, run.draws.calendar, _origin_ns(run.values)
    columns = {
        "step": run.steps, "start_ns": origin_ns + at[:, state.STARTED].min(axis=1),
        "end_ns": origin_ns + at[:, state.FINISHED].max(axis=1),
        "is_struck": run.strikes.is_struck & has_fault(run.values),
        "is_skipped": calendar["is_overflow"], "is_evaluated": calendar["evaluates"], "is_saved": calendar["saves"],
        "tokens": run.draws.tokens.sum(axis=(1, 2)) * calendar["change"],
    }  # fmt: skip
    return [
        dict(zip(columns, row, strict=True)) for row in zip(*(one.tolist() for one in columns.values()), strict=True)
    ]


def _units(run: Run, other: Run, emission: Emission) -> list[dict[str, Any]]:
    """One entry a step and rank, in this order."""
    log, at, origin_ns = run.log, run.log.instants, _origin_ns(run.values)
    ids = [
        f"{high:016x}{low:016x}"
        for high, low in zip(emission.trace_high.tolist(), emission.trace_low.tolist(), strict=True)
    ]
    effect = log.stage_ns - other.log.stage_ns
    units = []
    for row, step in enumerate(run.steps.tolist()):
        starts, ends = (origin_ns + at[row, instant] for instant in (state.STARTED, state.FINISHED))
        without_ns = other.log.stage_ns[row].sum(axis=1)
        units += [
            {
                "trace_id": ids[row], "step": step, "rank": rank, "outcome": "ok",
                "start_ns": int(starts[rank]), "end_ns": int(ends[rank]),
                "planned_compute_ns": int(log.planned_ns[row, rank]),
                "waited_for_ns": int(log.waited_for_ns[row, rank]),
                "stages_ns": {"step": _named(log.stage_ns[row, rank])},
                "injected_ns": _named(log.injected_ns[row, rank]),
                "effect_ns": _named(effect[row, rank]), "without_fault_ns": {"step": int(without_ns[rank])},
            }
            for rank in range(run.mesh.count)
        ]  # fmt: skip
    return units


def _named(amounts: np.ndarray) -> dict[str, int]:
    """Stages with their nanoseconds, those without time left out."""
    return {NAMES[code]: int(amounts[code]) for code in np.flatnonzero(amounts).tolist()}
