"""Which stages and ranks a fault parameter strikes: the culprits that a right answer names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from generators.parameters import Parameter, Values
from generators.training.emission import host_name
from generators.training.mesh import Mesh, mesh_of, struck_ranks
from generators.training.parameters import FAULT, is_wrong, number
from generators.training.workload import struck_steps

_STRUCK: dict[str, tuple[str, ...]] = {
    "fault.compute_factor": ("step.compute",),
    "fault.loader_factor": ("step.data_load",),
    "fault.copy_factor": ("step.copy",),
    "fault.pause_ms": ("step.host_bound",),
    "fault.launch_us": ("step.launch_overhead",),
    "fault.nic_factor": ("step.exposed_comm",),
    "fault.rail_factor": ("step.exposed_comm",),
    "fault.scale_up_factor": ("step.exposed_comm",),
    "fault.save_delay_ms": ("job.checkpoint_save",),
    "fault.storage_factor": ("step.data_load", "job.checkpoint_save"),
    "fault.stage_factor": ("step.compute",),
    "fault.expert_factor": ("step.compute",),
    "fault.overflow_share": (),
}


_OWN_WORK = {
    "fault.compute_factor", "fault.loader_factor", "fault.copy_factor", "fault.pause_ms", "fault.launch_us",
    "fault.save_delay_ms", "fault.expert_factor",
}  # fmt: skip


@dataclass(frozen=True)
class Culprit:
    """One thing that was wrong: the parameter that made it so, the stages it strikes first, where and when."""

    parameter: str
    value: object
    stages: tuple[str, ...]
    host: str | None
    """The host concerned; None where it is not one host."""
    ranks: list[int] | None
    """The ranks concerned; None where it is all of them."""
    stragglers: list[int]
    """Those whose own work takes longer than that of their peers; none where links, what all share, or the cut of
    the model are to blame.
    """
    pipeline_stage: int | None
    rail: int | None
    first_step: int | None
    """First and last step struck; None where the draws struck none."""
    last_step: int | None


def culprits(values: Values, *, seed: int) -> list[Culprit]:
    """What is wrong in a run with these values, in the order of the parameter table; empty for a run without
    fault.
    """
    steps = np.flatnonzero(struck_steps(values, seed=seed)).tolist()
    return [_culprit(parameter, values, steps) for parameter in FAULT if is_wrong(parameter, values)]


def _culprit(parameter: Parameter, values: Values, steps: list[int]) -> Culprit:
    name, mesh = parameter.name, mesh_of(values)
    ranks = _ranks(name, values, mesh)
    hosts = set(mesh.host[ranks].tolist())
    stage = number(values, "fault.stage") % mesh.pipeline
    return Culprit(
        name, values[name], _STRUCK[name], host_name(hosts.pop()) if len(hosts) == 1 else None,
        None if ranks.all() else np.flatnonzero(ranks).tolist(),
        np.flatnonzero(ranks).tolist() if name in _OWN_WORK and not ranks.all() else [],
        pipeline_stage=stage if name == "fault.stage_factor" else None,
        rail=number(values, "fault.rail") if name == "fault.rail_factor" else None,
        first_step=steps[0] if steps else None, last_step=steps[-1] if steps else None,
    )  # fmt: skip


def _ranks(name: str, values: Values, mesh: Mesh) -> np.ndarray:
    """The ranks that a fault strikes, as a mask."""
    rank = struck_ranks(mesh, values)
    if name in ("fault.storage_factor", "fault.overflow_share"):
        return np.ones(mesh.count, bool)
    if name == "fault.rail_factor":
        return mesh.rail == number(values, "fault.rail")
    if name == "fault.stage_factor":
        return mesh.stage == number(values, "fault.stage") % mesh.pipeline
    if name in ("fault.launch_us", "fault.scale_up_factor"):
        return np.isin(mesh.host, mesh.host[rank])
    return rank
