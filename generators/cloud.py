"""From a training job to one call of what it produced: both models in a row, with the owner of every stage.

The job of `generators.job` runs first. Some time after its release a serving stack (`generators.serving`) takes
requests for the model that came out; they have traces of their own, whose roots link to the job.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from generators.job import emission as job_emission
from generators.job import life as job_life
from generators.job import parameters as job_parameters
from generators.job import truth as job_truth
from generators.parameters import Parameter, Values
from generators.serving import counters, dialects, logs, parameters, simulation, truth
from generators.serving.stages import owner_of
from generators.spans import Emission, LinkGroup, SpanGroup

JOB, SERVING = "training", "serving"

MODEL = (
    Parameter("cloud.handover_s", 3600.0, "from the job's release until the serving stack starts", "assumption"),
    *(replace(one, name=f"{JOB}.{one.name}") for one in job_parameters.MODEL),
    *(replace(one, name=f"{SERVING}.{one.name}") for one in parameters.MODEL if one.name != "run.start_unix_s"),
)


def check(values: Values, *, where: str) -> None:
    """Refuse what either model refuses. Raises `UsageError`."""
    job_parameters.check(_part(values, JOB), where=f"{where}: {JOB}")
    parameters.check(_serving_values(values, 0), where=f"{where}: {SERVING}")


def run(values: Values, *, seed: int) -> tuple[Emission, dict[str, Any]]:
    """Job and requests as one emission, and the truth about both: the job is the first unit."""
    life = job_life.simulate(_part(values, JOB), seed=seed)
    job = job_emission.emission(life, seed=seed)
    served = simulation.simulate(_serving_values(values, life.released_ns), seed=seed + 1)
    requests = counters.with_counters(dialects.emission(served, seed=seed + 1), served)
    requests = logs.with_logs(requests, served, seed=seed + 1)
    other = truth.counterfactual(served, seed=seed + 1)
    of_job = job_truth.truth(life, seed=seed, emission=job)
    of_requests = truth.truth(served, other, requests)
    return _linked(job_emission.joined(job, requests), job), _both(of_job, of_requests)


def _part(values: Values, prefix: str) -> Values:
    """The values of one of the two models, under its own names."""
    return {name.removeprefix(f"{prefix}."): value for name, value in values.items() if name.startswith(f"{prefix}.")}


def _serving_values(values: Values, released_ns: int) -> Values:
    """Values of the serving model, which starts after the job."""
    submitted_s = int(values[f"{JOB}.run.start_unix_s"])
    start_s = submitted_s + released_ns // job_life.NS_PER_S + round(float(values["cloud.handover_s"]))
    return _part(values, SERVING) | {"run.start_unix_s": start_s}


def _linked(whole: Emission, job: Emission) -> Emission:
    """Outermost spans of requests link to the span of the job that made their model."""
    [root] = [group.span_id for group in job.groups if group.name == "job"]

    def change(group: SpanGroup) -> SpanGroup:
        """Add the link where the group holds roots of requests."""
        is_root = (group.parent_id == 0) & (group.trace >= job.trace_high.size)
        link = LinkGroup(
            np.full(len(group), root[0]), is_root, np.zeros(len(group), np.int64), {"link.kind": "model_source"}
        )
        return replace(group, links=(*group.links, link)) if is_root.any() else group

    return whole.with_groups([change(group) for group in whole.groups])


def _both(job: dict[str, Any], requests: dict[str, Any]) -> dict[str, Any]:
    """One truth: the job's unit first, owners of the job's and of the requests' time apart."""
    return {
        "culprits": [*job["culprits"], *requests["culprits"]],
        "fault_window_ns": requests["fault_window_ns"],
        "outcomes": {JOB: job["outcomes"], SERVING: requests["outcomes"]},
        "effect_ns": {JOB: job["effect_ns"], SERVING: requests["effect_ns"]},
        "owners_ns": {JOB: job["owners_ns"], SERVING: _owners_ns(requests["units"])},
        "units": [*job["units"], *requests["units"]],
    }


def _owners_ns(units: Iterable[dict[str, Any]]) -> dict[str, int]:
    """Nanoseconds of requests by owner of their stages, the client's network included."""
    total: dict[str, int] = {}
    for unit in units:
        for stages in unit["stages_ns"].values():
            for stage, spent in stages.items():
                total[owner_of(stage)] = total.get(owner_of(stage), 0) + spent
        for spent in unit.get("client_net_ns", []):
            total["client"] = total.get("client", 0) + spent
    return total
