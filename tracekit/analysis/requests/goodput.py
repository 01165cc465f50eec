"""How much of what clients asked for was good, and what the rest was lost to."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any, get_args

import duckdb
import polars as pl

from tracekit.analysis.answer import question
from tracekit.analysis.population import NO_MODEL_CALL, Messages
from tracekit.analysis.requests.dimensions import dimension_frame
from tracekit.analysis.requests.goodput_answer import BUCKETS, Mode, RequestGoodput, Verdict
from tracekit.analysis.requests.missed_stages import lost_by_stage
from tracekit.analysis.requests.selection import SelectedRequests, select_requests
from tracekit.analysis.requests.slo import TERMS, Slo, SloSet, checked_objective, slo_goal
from tracekit.analysis.temporary import create_table, rows
from tracekit.errors import UsageError
from tracekit.store import Database

_DAY_NS = 86_400_000_000_000
SLICE_LENGTHS_NS = tuple(
    seconds * 1_000_000_000 for seconds in (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 6 * 3600, 86_400)
)
SLICE_LIMIT = 120
"""Time is shown in slices of the shortest of these lengths that makes no more slices than this."""

OVER_TIME_SCHEMA = {
    "start_ns": pl.Int64,
    "end_ns": pl.Int64,
    "attempted": pl.Int64,
    "good": pl.Int64,
    "attainment": pl.Float64,
    "burn_rate": pl.Float64,
    "budget_spent": pl.Float64,
}
CLASS_SCHEMA = {"class": pl.String, "attempted": pl.Int64, "good": pl.Int64} | dict.fromkeys(BUCKETS, pl.Int64)


@question("request_goodput")
def request_goodput(
    database: Database,
    slo: str | Slo | SloSet | Mapping[str, Any],
    *,
    where: str | None = None,
    mode: Mode = "tracekit",
    objective: float | None = None,
) -> RequestGoodput:
    """Judge every request by an SLO: `ttft=2s,tpot=50ms,e2e=30s`, the name of a preset, or classes (`slo_file`).

    Every selected request is counted once: good, or in the first bucket that applies of how it ended, what cannot be
    measured, and which term it misses (in the order ttft, tpot, e2e). `mode` chooses whose rules count, see `Mode`.
    `objective` is the share that should be good, which sets the error budget.
    Raises `UsageError` for a bad option and `QueryError` for a condition that DuckDB refuses.
    """
    if mode not in get_args(Mode):
        raise UsageError(f"mode {mode!r} is unknown; use one of {', '.join(get_args(Mode))}", option="mode", value=mode)
    goal = _goal(slo, objective)
    with closing(database.cursor()) as cursor:
        selected = judge_requests(cursor, goal, where=where, mode=mode)
        facts = _counted(cursor, goal, mode=mode) | _left_out(selected)
        wasted = rows(cursor, "goodput/wasted")
        facts |= {
            "lost_by_stage": lost_by_stage(cursor),
            "wasted": wasted,
            **_wasted_sums(wasted),
            "by": dimension_frame(cursor),
            "over_time": _over_time(cursor, goal, facts["duration_ns"]),
        }
    return RequestGoodput(slo=goal, mode=mode, where=where, verdict=_verdict(facts, goal), **facts)


def judge_requests(
    cursor: duckdb.DuckDBPyConnection,
    goal: SloSet,
    *,
    where: str | None,
    mode: Mode = "tracekit",
    seen_from: str | None = None,
    messages: Messages = "counted",
) -> SelectedRequests:
    """Leave the table `judged_requests` on the cursor; see `queries/goodput/judged.sql`.

    `seen_from` is the layer that answers, None for the one of the rule; `messages` as of `select_requests`. Returns
    what was left out.
    """
    selected = select_requests(cursor, where=where, classes=goal.classes, seen_from=seen_from, messages=messages)
    cursor.register("slo_limits", _limits(goal))
    cursor.execute("CREATE OR REPLACE TEMP VIEW ended_spans AS FROM base.spans")
    create_table(cursor, "request_endings", "goodput/said_endings", {})
    options = {"is_e2e_to_last_token": mode != "tracekit", "needs_two_tokens": mode == "aiperf"}
    create_table(cursor, "judged_requests", "goodput/judged", options)
    return selected


def _left_out(selected: SelectedRequests) -> dict[str, Any]:
    return {
        "unclassed": selected.unclassed,
        "not_model_calls": selected.left_out.get(NO_MODEL_CALL, 0),
        "left_out": selected.left_out,
        "seen_from": selected.seen_from,
    }


def _goal(slo: str | Slo | SloSet | Mapping[str, Any], objective: float | None) -> SloSet:
    goal = slo_goal(slo)
    return goal if objective is None else SloSet(goal.classes, checked_objective(objective))


def _limits(goal: SloSet) -> pl.DataFrame:
    columns: dict[str, list[int | None]] = {"slo_class": list(range(len(goal.classes)))}
    columns |= {f"{term}_limit_ns": [getattr(one, f"{term}_ns") for one in goal.classes] for term in TERMS}
    return pl.DataFrame(columns, schema={"slo_class": pl.Int32} | dict.fromkeys(list(columns)[1:], pl.Int64))


def _counted(cursor: duckdb.DuckDBPyConnection, goal: SloSet, *, mode: Mode) -> dict[str, Any]:
    counts = rows(cursor, "goodput/bucket_counts")
    by_bucket = dict(counts.group_by("bucket").agg(pl.col("request_count").sum()).iter_rows())
    buckets = {bucket: int(by_bucket.get(bucket, 0)) for bucket in BUCKETS}
    good = int(by_bucket.get("good", 0))
    attempted = good + sum(buckets.values())
    denominator = _denominator(attempted, buckets, counts, mode)
    last_ns, first_ns = counts.select(pl.col("last_ns").max(), pl.col("first_ns").min()).row(0)
    duration_ns = int(last_ns - first_ns) if attempted else 0
    return {
        "attempted": attempted,
        "good": good,
        "buckets": buckets,
        "denominator": denominator,
        "attainment": good / denominator if denominator else None,
        "duration_ns": duration_ns,
        "good_per_s": good / (duration_ns / 1e9) if duration_ns else None,
        "classes": _class_frame(counts, goal),
        "unjudged": {term: int(counts[f"lacks_{term}"].sum()) for term in TERMS},
    }


def _denominator(attempted: int, buckets: dict[str, int], counts: pl.DataFrame, mode: Mode) -> int:
    """What the share of good requests is a share of: see `Mode`."""
    if mode == "vllm":
        ended = ("rejected", "shed", "invalid", "failed", "timed_out", "aborted_before", "aborted_after")
        return attempted - sum(buckets[bucket] for bucket in ended)
    return attempted if mode == "aiperf" else attempted - buckets["invalid"]


def _class_frame(counts: pl.DataFrame, goal: SloSet) -> pl.DataFrame:
    """One row a class of the SLO (CLASS_SCHEMA), also those that no request is in."""
    found = {(number, bucket): count for number, bucket, count in counts.select(counts.columns[:3]).iter_rows()}
    table = []
    for number, one in enumerate(goal.classes):
        of_class = {bucket: found.get((number, bucket), 0) for bucket in ("good", *BUCKETS)}
        table.append({"class": one.name, "attempted": sum(of_class.values()), **of_class})
    return pl.DataFrame(table, schema=CLASS_SCHEMA)


def _wasted_sums(wasted: pl.DataFrame) -> dict[str, int]:
    is_good = pl.col("bucket") == "good"
    lost = wasted.filter(~is_good)
    kept = wasted.filter(is_good)
    lost_ns = int(lost["engine_ns"].sum()) + int(lost["retry_ns"].sum())
    thrown_ns = int(kept["retry_ns"].sum()) + int(kept["recompute_ns"].sum())
    return {"wasted_tokens": int(lost["tokens"].sum()), "wasted_engine_ns": lost_ns + thrown_ns}


def _over_time(cursor: duckdb.DuckDBPyConnection, goal: SloSet, duration_ns: int) -> pl.DataFrame:
    """Attainment and burn of the error budget in slices of time (OVER_TIME_SCHEMA).

    burn_rate: share that was not good over the share that may be; 1 spends the budget exactly. budget_spent: what
    all requests up to the end of the slice have spent of the budget of all requests of the answer.
    """
    fitting = [length for length in SLICE_LENGTHS_NS if duration_ns <= length * SLICE_LIMIT]
    slice_ns = fitting[0] if fitting else _DAY_NS * (duration_ns // (_DAY_NS * SLICE_LIMIT) + 1)
    slices = rows(cursor, "goodput/over_time", {"slice_ns": slice_ns})
    if slices.is_empty():
        return pl.DataFrame(schema=OVER_TIME_SCHEMA)
    counted = pl.col("attempted") - pl.col("invalid")
    bad = counted - pl.col("good")
    budget = 1 - goal.objective
    return slices.select(
        start_ns="slice_start_ns",
        end_ns=pl.col("slice_start_ns") + slice_ns,
        attempted="attempted",
        good="good",
        attainment=pl.when(counted > 0).then(pl.col("good") / counted),
        burn_rate=pl.when(counted > 0).then(bad / counted / budget),
        budget_spent=pl.when(counted.sum() > 0).then(bad.cum_sum() / (counted.sum() * budget)),
    ).select(pl.col(name).cast(kind) for name, kind in OVER_TIME_SCHEMA.items())


def _verdict(facts: dict[str, Any], goal: SloSet) -> Verdict:
    if not facts["attempted"]:
        return "no_requests"
    served = facts["attempted"] - sum(facts["buckets"][name] for name in BUCKETS[:7])
    if served and facts["buckets"]["unknown"] == served:
        return "unjudged"
    return "met" if (facts["attainment"] or 0) >= goal.objective else "missed"
