"""What a fault really did to the requests of a question: the right answer, in the terms of the answer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from generators.serving import stages, state
from generators.serving.simulation import Run
from generators.serving.timeline import WINDOWS
from generators.spans import Emission
from tests.accuracy.runs import Played
from tracekit.analysis import quantile_ns
from tracekit.schema import Metric
from tracekit.store import Database

_WINDOWS_OF: dict[str, tuple[str, ...]] = {"ttft": ("ttft",), "tpot": ("decode",), "e2e": WINDOWS}
_OK = state.OUTCOMES.index("ok")


@dataclass(frozen=True)
class Effect:
    """The true effect of a fault on the mean metric of the requests that arrived while it was on.

    `stage_ns`: by stage, mean with the fault less mean without it. `total_ns`: their sum.
    `answers`: the stages that a right answer names, the largest effect first; empty where the metric did not
    get worse by any of them.
    """

    stage_ns: dict[str, float]
    total_ns: float
    answers: list[str]


def effect(played: Played, metric: Metric, *, quantile: float) -> Effect:
    """The true effect on the requests at or above a quantile of the metric, with the fault and without it.

    For all requests (quantile 0) this is the mean of `effect_ns` in truth.json over the served ones.
    """
    window = played.in_window()
    means = [
        _tail_mean(*_measured(run, parts_ns, window, metric), quantile)
        for run, parts_ns in ((played.run, played.true_ns), (played.healthy, played.healthy_ns))
    ]
    effects = dict(zip(stages.NAMES, (means[0] - means[1]).tolist(), strict=True))
    return Effect(effects, sum(effects.values()), _answers(played, effects))


def _answers(played: Played, effects: dict[str, float]) -> list[str]:
    struck = {stage for culprit in played.culprits for stage in culprit.stages}
    return sorted((stage for stage in struck if effects[stage] > 0), key=lambda stage: -effects[stage])


def _measured(run: Run, parts_ns: np.ndarray, chosen: np.ndarray, metric: Metric) -> tuple[np.ndarray, np.ndarray]:
    """Metric (float64[N], ns) and its stages (float64[N, S]) of the chosen requests that have it."""
    requests = run.requests
    windows = [WINDOWS.index(name) for name in _WINDOWS_OF[metric]]
    parts = parts_ns[:, windows].sum(axis=1).astype(np.float64)
    has_metric = chosen & (requests["outcome"] == _OK)
    if metric == "tpot":
        has_metric &= requests["generated"] > 1
        parts /= np.maximum(requests["generated"] - 1, 1)[:, None]
    return parts[has_metric].sum(axis=1), parts[has_metric]


def _tail_mean(values: np.ndarray, parts: np.ndarray, quantile: float) -> np.ndarray:
    """Mean of the stages over the requests at or above the quantile (float64[S])."""
    return parts[values >= quantile_ns(np.sort(values), quantile)].mean(axis=0)


def misplaced_share(played: Played, emission: Emission, database: Database) -> float:
    """Share of the time of served requests in the fault's window that the store has in another stage or window.

    Requests that the store does not know to have been served with tokens (what says so is missing) do not count.
    """
    wanted, _ = played.conditions()
    stored_ns = database.sql(
        'SELECT trace_id, "window"::VARCHAR AS unit_window, stage::VARCHAR AS stage, sum(self_ns)::BIGINT AS self_ns '
        "FROM unit_stages INNER JOIN (SELECT unit_id, trace_id FROM units "
        f"WHERE outcome = 'ok' AND last_token_ns IS NOT NULL AND {wanted}) USING (unit_id) GROUP BY ALL"
    )
    true_ns = _true_rows(played, emission).join(stored_ns.select("trace_id").unique(), on="trace_id", how="semi")
    both = true_ns.join(stored_ns, on=["trace_id", "unit_window", "stage"], how="full", coalesce=True).fill_null(0)
    off_ns = int((both["self_ns"] - both["true_ns"]).abs().sum())
    return off_ns / 2 / max(int(both["true_ns"].sum()), 1)


def _true_rows(played: Played, emission: Emission) -> pl.DataFrame:
    """The truth of served requests in the window, one row a request, window and stage."""
    served = np.flatnonzero(played.in_window() & (played.run.requests["outcome"] == _OK))
    row, window, stage = np.nonzero(played.true_ns[served])
    halves = zip(emission.trace_high[served].tolist(), emission.trace_low[served].tolist(), strict=True)
    trace_ids = np.array([f"{high:016x}{low:016x}" for high, low in halves], dtype=object)
    return pl.DataFrame(
        {
            "trace_id": pl.Series(trace_ids[row], dtype=pl.String),
            "unit_window": np.array(WINDOWS)[window],
            "stage": np.array(stages.NAMES)[stage],
            "true_ns": played.true_ns[served][row, window, stage],
        }
    )
