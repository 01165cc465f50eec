"""Outcomes of generated requests against the truth: buckets, first causes, misses by stage."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from generators.serving import stages, state
from tests.accuracy.runs import Layout, Played, play, stored
from tracekit.analysis import RequestFailures, RequestGoodput, compare, request_failures
from tracekit.analysis.requests.goodput import judge_requests, request_goodput
from tracekit.analysis.requests.normal_times import ENOUGH_GOOD
from tracekit.analysis.requests.slo import Slo, SloSet, parsed_slo
from tracekit.store import Database

LAYOUT = Layout(baseline_s=30.0, window_s=60.0)
SLO = "ttft=400ms,tpot=25ms,e2e=20s"
"""Limits that healthy requests meet and slow ones miss, each by some."""

COMPARED = Layout(baseline_s=300.0, window_s=300.0)
"""Two windows of equal length; engines at a quarter of their capacity."""

OUTCOME_SCENARIOS = (
    "admission_503", "cancel_cascade", "client_aborts", "engine_errors", "healthy", "queue_saturation",
    "rate_limit_burst", "retry_storm", "slow_worker", "time_outs", "worker_crash",
)  # fmt: skip
LOSSES = ("cancel_cascade", "engine_errors", "retry_storm", "time_outs")
"""Those whose requests fail."""

EXACT_DIALECT = "tracekit"
"""The exporter whose spans show every instant as it was; what others round moves requests over a limit."""

_LOST = {500: "failed", 502: "failed", 504: "timed_out"}
_REFUSED = {429: "rejected", 503: "shed"}


def scored_outcomes(
    scenario: str, *, seed: int, dialect: str = EXACT_DIALECT, layout: Layout = LAYOUT
) -> list[dict[str, Any]]:
    """One row: requests in the wrong bucket, first causes that are right, and how far misses by stage are off."""
    played = play(scenario, seed=seed, layout=layout, overrides={"emit.dialect": dialect})
    with stored(played.emission) as database:
        goodput = request_goodput(database, SLO)
        failures = request_failures(database)
        buckets = told_buckets(database)
    known = true_buckets(played, parsed_slo(SLO))
    wrong = sum(buckets.get(trace) != bucket for trace, bucket in known.items())
    return [
        {
            "label": scenario,
            "dialect": dialect,
            "seed": seed,
            "requests": len(known),
            "wrong_buckets": wrong,
            "sums_close": goodput.attempted == goodput.good + sum(goodput.buckets.values()) == len(known),
            "misses_close": int(goodput.lost_by_stage["misses"].sum()) == goodput.late,
            "late": goodput.late,
            "stage_error": stage_error(played, goodput, known),
            **cause_scores(played, failures),
        }
    ]


def scored_comparison(*, seed: int, factor: float, layout: Layout = COMPARED) -> list[dict[str, Any]]:
    """One row: whether the window of the fault, in which engine steps take `factor` times as long, differs from before.

    A factor of 1 is no fault: whatever is called different is a false alarm.
    """
    overrides = {"fault.step_factor": factor, "fault.replica": -1, "clients.rate_per_s": 6.0}
    played = play("healthy", seed=seed, layout=layout, overrides=overrides)
    window, before = played.conditions()
    with stored(played.emission) as database:
        answer = compare(database, before, window)
    slower = answer.stages.filter(pl.col("significant") & (pl.col("excess_ns") > 0), stage="eng.decode")
    alarm = answer.verdict not in ("no_change", "too_few_blocks")
    return [
        {"seed": seed, "factor": factor, "verdict": answer.verdict, "is_alarm": alarm, "is_found": slower.height > 0}
    ]


def trace_ids(played: Played) -> list[str]:
    """The trace of every request, in order of arrival."""
    made = played.emission
    pairs = zip(made.trace_high.tolist(), made.trace_low.tolist(), strict=True)
    return [f"{high:016x}{low:016x}" for high, low in pairs][: played.run.requests.size]


def told_buckets(database: Database) -> dict[str, str]:
    """The bucket of every request by its trace."""
    cursor = database.cursor()
    judge_requests(cursor, SloSet((parsed_slo(SLO),)), where=None)
    rows = cursor.sql(
        "SELECT replace(trace_id::VARCHAR, '-', ''), bucket FROM judged_requests JOIN base.units USING (unit_id)"
    ).fetchall()
    cursor.close()
    return dict(rows)


def true_buckets(played: Played, slo: Slo) -> dict[str, str]:
    """What really became of every request, by its trace."""
    rows = played.run.requests
    return {trace: _bucket(row, slo) for trace, row in zip(trace_ids(played), rows, strict=True)}


def _bucket(row: np.void, slo: Slo) -> str:
    match int(row["outcome"]):
        case state.ABORTED:
            return "aborted_before" if row["first_ns"] < 0 else "aborted_after"
        case state.REJECTED:
            return _REFUSED[int(row["status"])]
        case state.FAILED:
            return _LOST[int(row["status"])]
        case state.OK:
            return _lateness(row, slo)
    return "unknown"


def _lateness(row: np.void, slo: Slo) -> str:
    ttft_ns, decode_ns = int(row["first_ns"] - row["arrival_ns"]), int(row["last_ns"] - row["first_ns"])
    if ttft_ns > (slo.ttft_ns or ttft_ns):
        return "late_ttft"
    if decode_ns > (slo.tpot_ns or decode_ns) * max(int(row["output_tokens"]) - 1, 0):
        return "late_tpot"
    return "late_e2e" if row["close_ns"] - row["arrival_ns"] > (slo.e2e_ns or 0) else "good"


def stage_error(played: Played, goodput: RequestGoodput, known: dict[str, str]) -> float:
    """Half the sum of the differences between told and true misses by stage, as a share of the misses.

    The truth is the documented rule on the true times of the stages, computed request by request.
    """
    if not goodput.late:
        return 0.0
    told = dict(goodput.lost_by_stage.select("stage", "exact_misses").iter_rows())
    true = true_misses(played, known)
    return sum(abs(told.get(stage, 0) - true.get(stage, 0)) for stage in told.keys() | true.keys()) / 2 / goodput.late


def true_misses(played: Played, known: dict[str, str]) -> dict[str, float]:
    """Misses by stage as the truth has them."""
    requests, buckets = played.run.requests, np.array(list(known.values()))
    bins = np.floor(np.log2(np.maximum(requests["prompt_tokens"], 1))) * 64 + np.floor(
        np.log2(np.maximum(requests["output_tokens"], 1))
    )
    lost: dict[str, float] = {}
    for row in np.flatnonzero(np.char.startswith(buckets, "late_")):
        spent = _spent(played, str(buckets[row]))
        good = buckets == "good"
        like = good & (bins == bins[row])
        for wider in (bins // 64 == bins[row] // 64, np.ones(len(bins), dtype=bool)):
            like = like if like.sum() >= ENOUGH_GOOD else good & wider
        above = np.maximum(spent[row] - np.median(spent[like], axis=0), 0) if like.any() else np.zeros(spent.shape[1])
        shares = {stages.NAMES[code]: above[code] / above.sum() for code in np.flatnonzero(above)}
        for stage, share in (shares or {"intrinsic": 1.0}).items():
            lost[stage] = lost.get(stage, 0.0) + float(share)
    return lost


def _spent(played: Played, bucket: str) -> np.ndarray:
    """Time of every request by stage that its late term counts: float64[request, stage]."""
    if bucket == "late_ttft":
        return played.true_ns[:, 0].astype(np.float64)
    if bucket == "late_tpot":
        gaps = np.maximum(played.run.requests["output_tokens"] - 1, 1)
        return played.true_ns[:, 1] / gaps[:, None]
    return played.true_ns.sum(axis=1).astype(np.float64)


def cause_scores(played: Played, failures: RequestFailures) -> dict[str, Any]:
    """Failed and cancelled requests whose first cause is the true one, and whether counts close.

    True causes: the engine that failed the last attempt, or that had it when the time was up; of a cancelled request
    the sibling's.
    """
    told = {row["trace_id"]: row for row in failures.requests.iter_rows(named=True)}
    requests = played.run.requests
    traces = trace_ids(played)
    lost = np.flatnonzero((requests["outcome"] == state.FAILED) | (requests["cancelled_by"] >= 0))
    right = sum(_is_right(requests, int(row), told.get(traces[row])) for row in lost)
    return {
        "lost": len(lost),
        "causes_right": int(right),
        "incidents_close": int(failures.incidents["failed_count"].sum()) == failures.failed,
        "recovered": int(failures.recovered["request_count"].sum()),
    }


def _is_right(requests: np.ndarray, row: int, told: dict[str, Any] | None) -> bool:
    if told is None:
        return False
    cancelled_by = int(requests["cancelled_by"][row])
    if cancelled_by >= 0:
        return told["rule"] == "collateral" and _at(requests, cancelled_by, told)
    wanted = {500: ("propagated", "unseen"), 502: ("propagated", "unseen"), 504: ("messenger",)}
    return told["rule"] in wanted[int(requests["status"][row])] and _at(requests, row, told)


def _at(requests: np.ndarray, row: int, told: dict[str, Any]) -> bool:
    """Whether the host is the one that had the request; exporters that show no failed request may not know it."""
    return told["host"] in (None, f"worker-{int(requests['replica'][row])}")


def outcome_frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of the scores as a frame."""
    return pl.DataFrame(rows, infer_schema_length=None)
