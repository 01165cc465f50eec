"""Log records of a serving run: requests that ended badly at the gateway, preemptions in the engines."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from generators.logs import ERROR, NO_TRACE, WARN, LogGroup
from generators.seeds import identifiers
from generators.serving import stages
from generators.serving.dialects.common import GATEWAY, GATEWAY_SCOPE
from generators.serving.simulation import Run
from generators.serving.workload import NS_PER_S
from generators.spans import Emission

ENGINE_SCOPE = "vllm"


def with_logs(emission: Emission, run: Run, *, seed: int) -> Emission:
    """The emission with the records that its processes write; engines of a provider write nowhere we see."""
    is_hidden = str(run.values["emit.dialect"]).startswith("litellm")
    groups = [*_refusals(run, seed=seed), *([] if is_hidden else [_preemptions(run)])]
    return replace(emission, logs=tuple(group for group in groups if len(group)))


def _refusals(run: Run, *, seed: int) -> list[LogGroup]:
    """One record a request that did not end well, inside the gateway's span: 4xx warn, 5xx are errors."""
    origin_ns, status = int(run.values["run.start_unix_s"]) * NS_PER_S, run.requests["status"]
    root_ids = identifiers(seed, "span_ids.root", run.requests.size)
    groups = []
    for severity, chosen in ((WARN, (status >= 400) & (status < 500)), (ERROR, status >= 500)):
        rows = np.flatnonzero(chosen)
        told = [f"POST /v1/chat/completions {code}" for code in status[rows].tolist()]
        groups.append(
            LogGroup(
                GATEWAY_SCOPE, severity, np.full(rows.size, GATEWAY), origin_ns + run.requests["close_ns"][rows],
                np.array(told, dtype=object), rows, root_ids[rows],
                {"http.response.status_code": status[rows],
                 "tenant.id": np.char.add("tenant-", run.requests["tenant"][rows].astype("U"))},
            )
        )  # fmt: skip
    return groups


def _preemptions(run: Run) -> LogGroup:
    """One record a preemption, outside any trace: the scheduler knows no trace context."""
    origin_ns, intervals = int(run.values["run.start_unix_s"]) * NS_PER_S, run.intervals
    rows = intervals[intervals["stage"] == stages.ENG_PREEMPT_WAIT]
    body = "Sequence group is preempted because there is not enough KV cache space."
    return LogGroup(
        ENGINE_SCOPE, WARN, rows["replica"].astype(np.int64) + 1, origin_ns + rows["start_ns"],
        np.full(rows.size, body, dtype=object), np.full(rows.size, NO_TRACE), np.zeros(rows.size, np.uint64),
    )  # fmt: skip
