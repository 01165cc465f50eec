"""The truth of a serving run: exact time per request, window and stage, beside the same requests without the
fault.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from generators.parameters import Values
from generators.serving import state
from generators.serving.causes import culprits
from generators.serving.parameters import without_fault
from generators.serving.simulation import Run, fault_length_ns, simulate
from generators.serving.stages import NAMES
from generators.serving.timeline import WINDOWS, stage_ns
from generators.serving.workload import NS_PER_S
from generators.spans import Emission


def counterfactual(run: Run, *, seed: int) -> Run:
    """The same seed without the fault; the run itself where it has none."""
    return simulate(without_fault(run.values), seed=seed) if culprits(run.values) else run


def truth(run: Run, other: Run, emission: Emission) -> dict[str, Any]:
    """The truth as plain values for `truth.json`; docs/generators.md explains each key."""
    return {
        "culprits": [vars(culprit) | {"stages": list(culprit.stages)} for culprit in culprits(run.values)],
        "fault_window_ns": _fault_window(run.values),
        "outcomes": {name: int((run.requests["outcome"] == code).sum()) for code, name in enumerate(state.OUTCOMES)},
        "effect_ns": _named(stage_ns(run).sum(axis=(0, 1)) - stage_ns(other).sum(axis=(0, 1))),
        "units": _units(run, other, emission),
    }


def _fault_window(values: Values) -> list[int] | None:
    """When the fault was on, since the epoch; None for a run without fault."""
    if not culprits(values):
        return None
    first = int(values["run.start_unix_s"]) * NS_PER_S + round(float(values["fault.start_s"]) * NS_PER_S)
    return [first, first + fault_length_ns(values)]


def _units(run: Run, other: Run, emission: Emission) -> list[dict[str, Any]]:
    """One entry a request, in order of arrival."""
    parts, other_parts = stage_ns(run), stage_ns(other)
    origin_ns = int(run.values["run.start_unix_s"]) * NS_PER_S
    ids = [
        f"{high:016x}{low:016x}"
        for high, low in zip(emission.trace_high.tolist(), emission.trace_low.tolist(), strict=True)
    ][: run.requests.size]
    columns = {name: run.requests[name].tolist() for name in _COPIED}
    instants = {name: _instants(run.requests[field], origin_ns) for name, field in _INSTANTS.items()}
    units = []
    for row, trace_id in enumerate(ids):
        unit: dict[str, Any] = {"trace_id": trace_id, "outcome": state.OUTCOMES[columns["outcome"][row]]}
        unit |= {name: values[row] for name, values in (instants | columns).items() if name != "outcome"}
        unit["stages_ns"] = {
            name: _named(parts[row, number]) for number, name in enumerate(WINDOWS) if parts[row, number].any()
        }
        unit["injected_ns"] = _named(run.injected_ns[row])
        unit["effect_ns"] = _named(parts[row].sum(axis=0) - other_parts[row].sum(axis=0))
        unit["without_fault_ns"] = {name: int(other_parts[row, number].sum()) for number, name in enumerate(WINDOWS)}
        if run.values["emit.client_spans"]:
            unit["client_net_ns"] = [int(run.requests[way][row]) for way in ("up_ns", "down_ns")]
        units.append(unit)
    return units


_INSTANTS = {
    "start_ns": "arrival_ns",
    "first_token_ns": "first_ns",
    "last_token_ns": "last_ns",
    "end_ns": "close_ns",
}
_COPIED = (
    "outcome", "status", "tenant", "prompt_tokens", "output_tokens", "generated", "cached_tokens", "attempt",
    "replica",
    "decode_replica", "preemptions", "migrations", "engine_errors", "cancelled_by", "stall_ns",
)  # fmt: skip


def _instants(relative_ns: np.ndarray, origin_ns: int) -> list[int | None]:
    return [origin_ns + value if value >= 0 else None for value in relative_ns.tolist()]


def _named(amounts: np.ndarray) -> dict[str, int]:
    """Stages with their nanoseconds, those without time left out."""
    return {NAMES[code]: int(amounts[code]) for code in np.flatnonzero(amounts).tolist()}
