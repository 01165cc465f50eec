"""What requests would take under a change of their engines or of a stage, asked of a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import duckdb
import numpy as np
import polars as pl

from tracekit import queries
from tracekit.analysis.answer import UNITS_SCHEMA, BaseAnswer, question, registered
from tracekit.analysis.batching import Scenario, ServingChange, Times
from tracekit.analysis.condition import checked_condition
from tracekit.analysis.evidence import Evidence, evidence
from tracekit.analysis.requests.selection import select_requests
from tracekit.analysis.requests.slo import Slo, SloSet, slo_goal
from tracekit.analysis.requests.whatif_basis import WhatIfBasis, basis_of
from tracekit.analysis.selection import Selection
from tracekit.analysis.worded import in_words
from tracekit.errors import QueryError, UsageError
from tracekit.schema import Metric, RequestWhatIfVerdict
from tracekit.store import Database

METRICS = ("ttft", "tpot", "e2e")
SHOWN_QUANTILES = (0.5, 0.9, 0.99)

LEARNT_ERROR = 0.06
"""What a replayed quantile is wrong by beyond what small changes of pace move: on generated pairs whose truth is known
(`tests/accuracy/serving_whatif.py`) this much on either side holds the truth in 95 % of cases."""

TOLERATED_ERROR = 0.2
"""A replay that misses what was observed by more than this share is no ground for a conclusion."""

MINIMUM_SHARE = 0.01

EFFECT_SCHEMA = {
    "metric": pl.String, "quantile": pl.Float64, "before_ns": pl.Float64, "replayed_ns": pl.Float64,
    "after_ns": pl.Float64, "low_ns": pl.Float64, "high_ns": pl.Float64, "error": pl.Float64,
}  # fmt: skip


@registered("request_whatif", rows="effects", title="What would a change of serving give?")
@dataclass(frozen=True)
class RequestWhatIf(BaseAnswer):
    """What requests would take under a change, by replay of the engines' queues and batches. Times in ns.

    A counterfactual: it stands beside what was observed and is never added to it.

    change, metric, quantile: the question. before: the quantile as observed. after: under the change. low, high: bounds
    of `after`: the least and most of replays with steps 2 % shorter and longer, widened by what the replay without any
    change is wrong by, by `LEARNT_ERROR` and by the share of requests that were preempted. saving: by how much less,
    as a share of `before`.
    error: what the replay without any change is wrong by, as a share of `before`; None where nothing was replayed.
    requests: how many are judged. effects: the same for metrics and quantiles (EFFECT_SCHEMA).
    good_before, good_after: judged requests that meet the SLO; None without one.
    basis: what was learnt of the engines. assumptions: what the figures rest on. verdict: the conclusion as a code.
    """

    schema: ClassVar = {"effects": EFFECT_SCHEMA}

    change: str
    metric: Metric
    quantile: float
    before: float
    after: float
    low: float
    high: float
    saving: float
    error: float | None
    requests: int
    good_before: int | None
    good_after: int | None
    effects: pl.DataFrame
    basis: WhatIfBasis
    assumptions: list[str]
    verdict: RequestWhatIfVerdict
    evidence: Evidence
    units: pl.DataFrame | None

    def as_dict(self) -> dict[str, Any]:
        """The answer as plain Python values."""
        basis = {field.name: getattr(self.basis, field.name) for field in fields(self.basis)}
        return super().as_dict() | {"basis": basis}


@question("request_whatif")
def request_whatif(
    database: Database,
    change: str | Sequence[str],
    *,
    metric: Metric = "ttft",
    quantile: float = 0.99,
    where: str | None = None,
    baseline: str | None = None,
    slo: str | Slo | SloSet | Mapping[str, Any] | None = None,
) -> RequestWhatIf:
    """Replay requests under changes such as `replicas=+1`, `batch=128`, `normal=gw.auth`.

    `where` selects the requests that are judged; all others are load on the same engines. `baseline` selects those that
    say what is normal for `normal=STAGE`. Raises `UsageError` for what is no change, and `QueryError` for a condition
    that is none.
    """
    parsed = ServingChange.parsed([change] if isinstance(change, str) else list(change))
    if metric not in METRICS or not 0 < quantile < 1:
        raise UsageError(
            f"{metric} at {quantile} cannot be replayed; give one of {', '.join(METRICS)} and 0 < q < 1",
            option="quantile",
            value=str(quantile),
        )
    with Selection(database, metric, where=where) as selection:
        judged = evidence(selection)
    requests = _requests(database, parsed, where=where, baseline=baseline)
    is_normal = None if baseline is None else requests["is_normal"].to_numpy()
    scenario = Scenario(requests, parsed, is_normal)
    _check(scenario)
    basis = basis_of(scenario)
    quantiles = sorted({*SHOWN_QUANTILES, quantile})
    effects, good = _effects(scenario, basis, quantiles, _limits(slo))
    chosen = _chosen(scenario, effects, metric, quantile)
    return RequestWhatIf(
        change=parsed.text, metric=metric, quantile=quantile, **chosen, requests=len(scenario.asked),
        good_before=good[0], good_after=good[1], effects=effects,
        basis=basis, assumptions=in_words(basis).splitlines(),
        verdict="refused" if judged.verdict == "refused" else _verdict(basis, chosen),
        evidence=judged, units=_units(requests),
    )  # fmt: skip


def _requests(database: Database, change: ServingChange, *, where: str | None, baseline: str | None) -> pl.DataFrame:
    """Rows of `queries/whatif/requests.sql` with `is_normal`."""
    cursor = database.cursor()
    try:
        select_requests(cursor, where=None)
        asked, normal = (
            checked_condition(cursor, text, option=option)
            for text, option in ((where, "where"), (baseline, "baseline"))
        )
        cursor.execute(
            "CREATE TEMP VIEW whatif_candidates AS "
            f"SELECT *, coalesce({asked}, false) AS is_asked, coalesce({normal}, false) AS is_normal "
            "FROM request_selection"
        )
        return cursor.sql(queries.text("whatif/requests"), params={"stage": change.stage}).pl()
    except duckdb.Error as error:
        raise QueryError(f"a condition does not fit the view `units`: {error}") from error
    finally:
        cursor.close()


def _check(scenario: Scenario) -> None:
    """Raises `UsageError` where nothing would be left to serve, or nothing says what is normal."""
    engines, added = len(scenario.engines.engines), scenario.change.added
    if added < 0 and 0 < engines <= -added:
        raise UsageError(
            f"replicas={added} leaves no engine: spans show {engines}", option="replicas", value=str(added)
        )
    if scenario.is_normal is not None and not scenario.is_normal.any():
        raise UsageError("no request of the baseline says what is normal; give another condition")


def _limits(slo: str | Slo | SloSet | Mapping[str, Any] | None) -> dict[str, int]:
    """The limits of an SLO of one class, by metric. Raises `UsageError` for several classes."""
    if slo is None:
        return {}
    classes = slo_goal(slo).classes
    if len(classes) != 1 or classes[0].where is not None:
        raise UsageError(
            "a what-if judges one class of requests; give one SLO and select its requests with --where", option="slo"
        )
    return classes[0].limits_ns


_Good = tuple[int | None, int | None]


def _effects(
    scenario: Scenario, basis: WhatIfBasis, quantiles: Sequence[float], limits: Mapping[str, int]
) -> tuple[pl.DataFrame, _Good]:
    """Quantiles of every metric before and after, and how many requests meet the limits before and after."""
    if basis.missing is not None:
        return pl.DataFrame(schema=EFFECT_SCHEMA), (None, None)
    before, after = scenario.before(), list(scenario.after())
    replayed = scenario.replayed() if scenario.uses_engines else before
    rows = [
        (
            metric,
            quantile,
            *_effect(basis, *(_quantile(times, metric, quantile) for times in (before, replayed, *after))),
        )
        for metric in METRICS
        for quantile in quantiles
        if np.isfinite(getattr(before, metric)).any()
    ]
    frame = pl.DataFrame(rows, schema=EFFECT_SCHEMA, orient="row")
    if not limits:
        return frame, (None, None)
    return frame, (_good(before, limits), round(float(np.mean([_good(times, limits) for times in after]))))


def _quantile(times: Times, metric: str, quantile: float) -> float:
    values = getattr(times, metric)
    return float(np.quantile(values[np.isfinite(values)], quantile))


def _effect(
    basis: WhatIfBasis, before: float, replayed: float, *after: float
) -> tuple[float, float, float, float, float, float]:
    """Values of a row of EFFECT_SCHEMA after metric and quantile."""
    error = abs(replayed - before) / before if before > 0 else 0.0
    doubt = LEARNT_ERROR + error + basis.preempted / basis.requests if len(after) > 1 else 0.0
    return before, replayed, float(np.mean(after)), min(after) * max(1 - doubt, 0.0), max(after) * (1 + doubt), error


def _good(times: Times, limits: Mapping[str, int]) -> int:
    """Requests that meet every limit; one token has no time per token to miss."""
    is_good = np.ones(len(times.ttft), bool)
    for metric, limit in limits.items():
        values = getattr(times, metric)
        is_good &= (values <= limit) | ~np.isfinite(values)
    return int(is_good.sum())


def _chosen(scenario: Scenario, effects: pl.DataFrame, metric: str, quantile: float) -> dict[str, Any]:
    """The fields of the answer that one row of the effects gives."""
    row = effects.filter((pl.col("metric") == metric) & (pl.col("quantile") == quantile))
    if row.is_empty():
        return {"before": 0.0, "after": 0.0, "low": 0.0, "high": 0.0, "saving": 0.0, "error": None}
    one = row.row(0, named=True)
    values = {name: one[f"{name}_ns"] for name in ("before", "after", "low", "high")}
    saving = (one["before_ns"] - one["after_ns"]) / max(one["before_ns"], 1.0)
    return values | {"saving": saving, "error": one["error"] if scenario.uses_engines else None}


def _verdict(basis: WhatIfBasis, chosen: Mapping[str, Any]) -> RequestWhatIfVerdict:
    if basis.missing is not None:
        return basis.missing
    if (chosen["error"] or 0.0) > TOLERATED_ERROR:
        return "not_reproduced"
    if abs(chosen["saving"]) < MINIMUM_SHARE or chosen["low"] <= chosen["before"] <= chosen["high"]:
        return "no_difference"
    return "faster" if chosen["saving"] > 0 else "slower"


def _units(requests: pl.DataFrame) -> pl.DataFrame:
    asked = requests.filter(pl.col("is_asked") & pl.col("is_served"))
    return asked.select("unit_id", cohort=pl.lit("selection")).cast(UNITS_SCHEMA)  # type: ignore[arg-type]
