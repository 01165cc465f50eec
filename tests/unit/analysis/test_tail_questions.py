"""What can be asked of the tail, what is answered where there is too little, and how a bad question is told."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import pytest

from tests.unit.analysis.rows import MS, Request, Step, traffic
from tracekit.analysis import tail
from tracekit.errors import QueryError, UsageError
from tracekit.schema import Metric
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]


def test_the_dictionary_is_json_with_the_stable_keys(store: Write) -> None:
    """Scripts rely on these keys."""
    answer = json.loads(json.dumps(tail(store(traffic(200)), "ttft").as_dict()))
    expected = {
        "metric", "unit", "count", "tail_count", "threshold_ns", "tail_mean_ns", "baseline_mean_ns",
        "excess_ns", "stages", "verdict", "quality",
    }  # fmt: skip
    assert expected <= answer.keys()
    assert {"stage", "owner", "excess_ns", "share", "low_ns", "high_ns", "significant"} <= answer["stages"][0].keys()
    assert sum(stage["excess_ns"] for stage in answer["stages"]) == answer["excess_ns"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "latency"}, UsageError, "metric 'latency' is unknown"),
        ({"metric": "ttft", "quantile": 1.0}, UsageError, "not in"),
        (
            {"metric": "ttft", "outcome": "okay"},
            UsageError,
            "outcome 'okay' is unknown; use one of ok, failed",
        ),
        ({"metric": "ttft", "where": "no_such_column = 1"}, QueryError, "no_such_column"),
        ({"metric": "ttft", "where": "model ="}, QueryError, "not a SQL condition"),
    ],
)
def test_bad_questions_say_what_is_wrong(
    database: Database, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    """A bad option is an error that names it."""
    with pytest.raises(error, match=message):
        tail(database, **options)


@pytest.mark.parametrize("baseline", ["body", "unit_id < 3"])
@pytest.mark.parametrize("metric", ["ttft", "e2e"])
def test_units_without_duration_are_equal(store: Write, metric: Metric, baseline: str) -> None:
    """Requests that took no time at all have no stages, and their totals are equal."""
    answer = tail(store([Request([]) for _ in range(12)]), metric, quantile=0, baseline=baseline)
    assert (answer.tail_count, answer.excess_ns, len(answer.stages)) == (12, 0, 0)
    assert "0 ns to the first token" in answer.summary or "0 ns from end to end" in answer.summary


@pytest.mark.parametrize(
    ("count", "quantile", "slow"),
    [(2000, 0.99, 21), (400, 0.95, 21), (120, 0.9, 13), (40, 0.5, 21), (12, 0, 12)],
)
def test_without_a_quantile_the_highest_with_enough_units_is_taken(
    store: Write, count: int, quantile: float, slow: int
) -> None:
    """A hundredth of ninety requests is one of them, and one of them says nothing about the others."""
    answer = tail(store(traffic(count)), "ttft")
    assert (answer.quantile, answer.quantile_asked, answer.tail_count) == (quantile, None, slow)
    told = "Slow means at or above quantile" in answer.summary or "no quantile leaves" in answer.summary
    assert told == (quantile != 0.99)


def test_a_quantile_must_leave_enough_units_on_both_sides(store: Write) -> None:
    """Twenty requests against two thousand: their median is the highest quantile with ten on each side."""
    database = store(traffic(2020))
    answer = tail(database, "ttft", where="unit_id < 20", baseline="unit_id >= 20")
    assert (answer.quantile, answer.tail_count) == (0.5, 11)


def test_an_asked_quantile_is_used_and_a_tail_of_few_tells_the_middle_first(store: Write) -> None:
    """What was asked is done; one request is exact, but the middles of all of them say more."""
    database = store(traffic(90) + traffic(90, slow_ns=600 * MS, seed=2))
    answer = tail(database, "ttft", quantile=0.99, where="unit_id >= 90", baseline="unit_id < 90")
    assert (answer.quantile, answer.quantile_asked, answer.tail_count) == (0.99, 0.99, 1)
    assert answer.summary.startswith("The typical request of the selection takes")
    assert "The slowest of 90 requests takes" in answer.summary


def test_a_condition_on_an_attribute_is_told_how_to_name_it(store: Write) -> None:
    """A name that is no column but an attribute is written as one."""
    database = store([Request([("ttft", "eng.queue", 1)], attributes={"scenario": "overload"})])
    with pytest.raises(QueryError, match=r"write attributes\['scenario'\]"):
        tail(database, "ttft", where="scenario = 'overload'")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"where": "model = 'x'"},
            "The where condition \"model = 'x'\" matches none of the 2 requests in the store",
        ),
        (
            {"baseline": "model = 'x'"},
            "The baseline condition \"model = 'x'\" matches none of the 2 requests",
        ),
        ({"outcome": "aborted"}, "Left out: 1 outcome failed, 1 outcome ok; outcome 'aborted' was asked for"),
    ],
)
def test_an_empty_answer_says_what_is_there(store: Write, options: dict[str, str], sentence: str) -> None:
    """Nothing to compare is followed by what there is and what to change."""
    database = store([Request([("ttft", "eng.queue", 1)], outcome=outcome) for outcome in ("ok", "failed")])
    answer = tail(database, "ttft", **options)
    assert answer.verdict == "no_units"
    assert sentence in answer.summary


@pytest.mark.parametrize(("engine_share", "owner"), [(0.0, "provider"), (0.9, "platform")])
def test_a_call_upstream_is_the_providers_where_no_engine_is_known(
    store: Write, engine_share: float, owner: str
) -> None:
    """Requests of the same service that have spans of an engine show that it is known: its span is missing."""
    units = [
        Request([("ttft", "eng.prefill" if n < engine_share * 40 else "upstream", (100 + n) * MS)], start_ns=n * MS)
        for n in range(40)
    ]
    answer = tail(store(units), "ttft", quantile=0.5)
    assert answer.stages.row(by_predicate=pl.col("stage") == "upstream", named=True)["owner"] == owner


def test_one_value_of_most_units_is_no_quantile(store: Write) -> None:
    """Nineteen of twenty take the same: the slowest are not all of them."""
    units = [Request([("ttft", "app", (100 if n % 20 else 200) * MS)], start_ns=n * MS) for n in range(60)]
    answer = tail(store(units), "ttft")
    assert (answer.quantile, answer.tail_count) == (0.0, 60)
