"""Counters, gauges and histograms: points in, values of windows out."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.analysis import MetricsAnswer, metrics
from tracekit.analysis.statistics.bucket_quantiles import bucket_quantiles
from tracekit.api import Store
from tracekit.errors import UsageError

S = 1_000_000_000
T0 = 1_767_225_600 * S


def _point(at_s: float, *, start_s: float | None = 0, **rest: Any) -> dict[str, Any]:
    start = {} if start_s is None else {"startTimeUnixNano": str(T0 + round(start_s * S))}
    return {"timeUnixNano": str(T0 + round(at_s * S)), **start, **rest}


def _sum(name: str, points: list[dict[str, Any]], *, temporality: int = 2) -> dict[str, Any]:
    return {"name": name, "sum": {"aggregationTemporality": temporality, "isMonotonic": True, "dataPoints": points}}


def _gauge(name: str, values: list[float]) -> dict[str, Any]:
    return {"name": name, "gauge": {"dataPoints": [_point(at, asDouble=value) for at, value in enumerate(values, 1)]}}


def _document(*found: dict[str, Any], host: str = "worker-0") -> dict[str, Any]:
    resource = {"attributes": [{"key": "host.name", "value": {"stringValue": host}}]}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"scope": {}, "metrics": list(found)}]}]}


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(None) as opened:
        yield opened


def _sent(store: Store, folder: Path, *documents: dict[str, Any]) -> Store:
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    assert store.ingest(path).rejected == 0
    return store


def _row(answer: MetricsAnswer) -> dict[str, Any]:
    assert len(answer.values) == 1
    return answer.values.row(0, named=True)


def test_names_of_senders_are_one_name(store: Store, tmp_path: Path) -> None:
    """Prometheus' spelling and the engine's own are the same metric, in the same unit."""
    names = ("vllm:kv_cache_usage_perc", "vllm_kv_cache_usage_perc", "sglang:token_usage")
    documents = [_document(_gauge(name, [0.25])) for name in names]
    _sent(store, tmp_path, *documents, _document(_gauge("DCGM_FI_DEV_GPU_UTIL", [40.0])))
    usage = store.metrics("kv_cache.usage")
    assert usage.values["sender_name"].to_list() == sorted(names)
    assert usage.values["mean"].to_list() == [0.25] * 3
    assert _row(store.metrics("accelerator.utilization"))["mean"] == pytest.approx(0.4)
    # The sender's own name, in either spelling.
    assert store.metrics("vllm:kv_cache_usage_perc").values["sender_name"].to_list() == sorted(names)[1:]


def test_gauges_stand_by_window_and_host(store: Store, tmp_path: Path) -> None:
    """Mean, least and largest of what was read in a window; a point without a value is none."""
    stale = {"name": "q", "gauge": {"dataPoints": [_point(3.5, asDouble=9.0, flags=1)]}}
    _sent(store, tmp_path, _document(_gauge("q", [1, 2, 6, 8])), _document(_gauge("q", [5]), stale, host="worker-1"))
    values = store.metrics("q", every_s=2).values
    assert values.select("host_name", "point_count", "mean", "least", "largest").rows() == [
        ("worker-0", 2, 1.5, 1.0, 2.0),
        ("worker-0", 2, 7.0, 6.0, 8.0),
        ("worker-1", 1, 5.0, 5.0, 5.0),
    ]
    assert store.metrics("q").summary == "q was highest on worker-0: 8 at most, 4.25 on average."


@pytest.mark.parametrize(
    ("points", "temporality", "expected"),
    [
        # A first point counts since its start.
        ([_point(10, asInt="5"), _point(20, asInt="9")], 2, (9.0, 9 / 20, 0)),
        # Nothing tells since when the first one counts.
        ([_point(10, start_s=None, asInt="5"), _point(20, start_s=None, asInt="9")], 2, (4.0, 0.4, 0)),
        ([_point(10, start_s=10, asInt="5"), _point(20, start_s=10, asInt="9")], 2, (4.0, 0.4, 0)),
        # A smaller value, or a later start, is a restart.
        ([_point(10, asInt="50"), _point(20, start_s=None, asInt="3")], 2, (53.0, 53 / 20, 1)),
        ([_point(10, asInt="50"), _point(20, start_s=15, asInt="60")], 2, (110.0, 110 / 15, 1)),
        # Deltas add up; a gap between them is not covered.
        ([_point(10, asInt="5"), _point(40, start_s=30, asInt="9")], 1, (14.0, 14 / 20, 0)),
        # Integers beyond a double's 53 bits.
        ([_point(1, start_s=1, asInt=str(2**60)), _point(2, start_s=1, asInt=str(2**60 + 3))], 2, (3.0, 3.0, 0)),
    ],
)
def test_counters_count_what_was_counted(
    store: Store, tmp_path: Path, points: list[dict[str, Any]], temporality: int, expected: tuple[float, float, int]
) -> None:
    """Increase, rate a second, restarts."""
    _sent(store, tmp_path, _document(_sum("c", points, temporality=temporality)))
    row = _row(store.metrics("c"))
    assert (row["increase"], row["rate_per_s"], row["restart_count"]) == pytest.approx(expected)


def test_a_counter_that_does_not_say_how_it_counts_is_told_and_not_guessed(store: Store, tmp_path: Path) -> None:
    """Neither delta nor cumulative: no value, and a reason."""
    _sent(store, tmp_path, _document(_sum("c", [_point(10, asInt="5"), _point(20, asInt="9")], temporality=0)))
    answer = store.metrics("c")
    assert answer.verdict == "no_values"
    assert answer.evidence.reasons == ["1 of 1 metric streams do not say whether they are cumulative"]


def test_what_is_not_there_is_said(store: Store, tmp_path: Path) -> None:
    """A metric that no series has, a group that there is none, windows without length or without end."""
    assert store.metrics().summary == "The store holds no metrics."
    _sent(store, tmp_path, _document(_gauge("q", [1, 2])))
    for wrong in (
        {"metric": "nope"},
        {"by": ("tenant",)},
        {"every_s": 0.0},
        {"every_s": float("nan")},
        {"every_s": 1e-9},
    ):
        with pytest.raises(UsageError):
            store.metrics(**{"metric": "q"} | wrong)  # type: ignore[arg-type]


BOUNDS = [0.1, 0.5, 1.0, 5.0]


def _explicit(values: list[float], bounds: list[float] = BOUNDS) -> dict[str, Any]:
    counts = np.bincount(np.searchsorted(bounds, values), minlength=len(bounds) + 1)
    return {
        "count": str(len(values)),
        "sum": sum(values),
        "explicitBounds": bounds,
        "bucketCounts": [str(n) for n in counts],
    }


def _exponential(values: list[float], scale: int) -> dict[str, Any]:
    """Positive values only: bucket i holds (base^i, base^(i + 1)]."""
    indexes = np.ceil(np.log2(values) * 2.0**scale).astype(int) - 1 if values else np.zeros(0, int)
    first = int(indexes.min()) if len(indexes) else 0
    counts = np.bincount(indexes - first) if len(indexes) else []
    positive = {"offset": first, "bucketCounts": [str(n) for n in counts]}
    return {"count": str(len(values)), "sum": sum(values), "scale": scale, "zeroCount": "0", "positive": positive}


def _histogram(points: list[dict[str, Any]], *, temporality: int = 2, kind: str = "histogram") -> dict[str, Any]:
    return {"name": "h", kind: {"aggregationTemporality": temporality, "dataPoints": points}}


PARTS = st.lists(
    st.lists(st.floats(0.01, 20).map(lambda value: round(value, 3)), max_size=30), min_size=2, max_size=4
).filter(lambda parts: sum(map(len, parts)) > 0)


@settings(max_examples=12, deadline=None)
@given(parts=PARTS, cumulative=st.booleans(), scales=st.lists(st.integers(-1, 4), min_size=4, max_size=4))
@pytest.mark.parametrize("kind", ["histogram", "exponentialHistogram"])
def test_quantiles_lie_within_their_bounds(
    tmp_path_factory: pytest.TempPathFactory, kind: str, parts: list[list[float]], cumulative: bool, scales: list[int]
) -> None:
    """Delta or cumulative, at one scale or as a sender lowers it: counts are exact, true quantiles in range."""
    scales = sorted(scales, reverse=True)
    points = []
    for number, part in enumerate(parts):
        values = list(chain(*parts[: number + 1])) if cumulative else part
        buckets = _explicit(values) if kind == "histogram" else _exponential(values, scales[number])
        points.append(_point(number + 1, start_s=0 if cumulative else number, **buckets))
    document = _document(_histogram(points, temporality=2 if cumulative else 1, kind=kind))
    with Store.open(None) as store:
        row = _row(metrics(_sent(store, tmp_path_factory.mktemp("h"), document).database, "h"))
    values = sorted(chain(*parts))
    assert (row["increase"], row["unsplit_count"]) == (len(values), 0)
    assert row["mean"] == pytest.approx(sum(values) / len(values))
    for quantile, name in ((0.5, "p50"), (0.9, "p90"), (0.99, "p99")):
        true = values[int(np.ceil(quantile * len(values))) - 1]
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        assert low is None or low <= true * (1 + 1e-9)
        assert high is None or true <= high * (1 + 1e-9)


def test_bounds_that_change_leave_the_count_and_no_buckets(store: Store, tmp_path: Path) -> None:
    """Cumulative buckets with other bounds cannot be subtracted: what is not known is counted."""
    points = [_point(1, **_explicit([0.2, 0.3])), _point(2, **_explicit([0.2, 0.3, 0.7], bounds=[0.25, 1.0]))]
    row = _row(_sent(store, tmp_path, _document(_histogram(points))).metrics("h"))
    assert (row["increase"], row["unsplit_count"]) == (3, 1)
    assert (row["p50_low"], row["p50_high"]) == (0.1, 0.5)


def test_an_open_bucket_has_no_upper_end(store: Store, tmp_path: Path) -> None:
    """Above the last bound only a least value is known, unless the sender tells the largest."""
    _sent(store, tmp_path, _document(_histogram([_point(1, **_explicit([9.0] * 4))])))
    row = _row(store.metrics("h"))
    assert (row["p99"], row["p99_low"], row["p99_high"]) == (5.0, 5.0, None)
    assert store.metrics("h").summary.startswith("h was highest on worker-0: p99 about 5")


def test_one_bucket_without_bounds_and_none_at_all(store: Store, tmp_path: Path) -> None:
    """Both are legal; the count is known, the quantile only where the ends are."""
    one = _point(1, count="3", sum=6.0, bucketCounts=["3"], explicitBounds=[])
    none = _point(2, count="5", sum=9.0)
    row = _row(_sent(store, tmp_path, _document(_histogram([one, none], temporality=1))).metrics("h"))
    assert (row["increase"], row["mean"]) == (8, 15 / 8)
    assert (row["p50_low"], row["p50_high"]) == (None, None)


@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 10), st.integers(1, 50)), min_size=1, max_size=12),
    st.lists(st.floats(0, 1), min_size=2, max_size=4).map(sorted),
)
def test_estimates_are_monotonic_and_in_range(buckets: list[tuple[float, float, int]], quantiles: list[float]) -> None:
    """Overlapping buckets of senders with bounds of their own, buckets without width."""
    low = np.array([begin for begin, _, _ in buckets])
    high = low + np.array([width for _, width, _ in buckets])
    found = bucket_quantiles(low, high, np.array([count for _, _, count in buckets]), quantiles)
    for one in found:
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.estimate <= one.high
    assert all(first.estimate <= second.estimate for first, second in pairwise(found))


@pytest.mark.parametrize(
    ("kind", "points"),
    [
        ("exponentialHistogram", [(2**31 - 1, 0, [1]), (-(2**31), 0, [1, 1])]),
        ("exponentialHistogram", [(0, 2**31 - 1, [1, 1, 1])]),
        ("exponentialHistogram", [(0, 0, [2**64 - 1])]),
        ("sum", [-(2**63), 2**63 - 1]),
        ("gauge", ["NaN", "Infinity", "-Infinity"]),
    ],
)
def test_values_at_the_ends_of_their_types_are_an_answer(
    store: Store, tmp_path: Path, kind: str, points: list[Any]
) -> None:
    """Whatever a sender may write: scales, offsets, counts and values beyond what the next type holds."""
    if kind == "exponentialHistogram":
        sent = [
            _point(at, count=str(sum(counts)), sum=1.0, scale=scale, zeroCount="0",
                   positive={"offset": offset, "bucketCounts": [str(count) for count in counts]})
            for at, (scale, offset, counts) in enumerate(points, 1)
        ]  # fmt: skip
        document = _document(_histogram(sent, kind=kind))
    elif kind == "sum":
        document = _document(_sum("h", [_point(at, asInt=str(value)) for at, value in enumerate(points, 1)]))
    else:
        document = _document(_gauge("h", points))
    answer = _sent(store, tmp_path, document).metrics("h")
    assert answer.verdict == "values"
    assert answer.summary.startswith("h ")
    json.dumps(answer.as_dict())
