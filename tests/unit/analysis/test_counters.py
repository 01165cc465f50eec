"""Counters beside the stage that they explain: where they stood when the slow requests began."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.unit.stages.stored import SERVER, Span
from tests.unit.stages.stored import store as store_spans
from tracekit.analysis import TailAnswer
from tracekit.api import Store
from tracekit.stages import update_units

S = 1_000_000_000
T0 = 1_767_225_600 * S
SLOW = range(60, 80)


def _gauge(name: str, host: str, readings: list[tuple[float, float]]) -> dict[str, Any]:
    points = [{"timeUnixNano": str(T0 + round(at_s * S)), "asDouble": value} for at_s, value in readings]
    resource = {"attributes": [{"key": "host.name", "value": {"stringValue": host}}]}
    metric = {"name": name, "gauge": {"dataPoints": points}}
    return {"resourceMetrics": [{"resource": resource, "scopeMetrics": [{"scope": {}, "metrics": [metric]}]}]}


def _asked(folder: Path, *documents: dict[str, Any], **options: Any) -> TailAnswer:
    """A request a second for two minutes, those of one third of a minute queued for 2 s, with these gauges."""
    spans = []
    for second in range(120):
        begin, wait = T0 + second * S, 2 * S if second in SLOW else S // 100
        trace, end = second + 1, begin + wait + S // 10
        spans += [
            Span(2 * second + 1, begin, end, "chat", trace=trace, kind=SERVER,
                 attributes={"tracekit.stage": "gw.ingress"}),
            Span(2 * second + 2, begin, begin + wait, "queue", trace=trace, parent=2 * second + 1,
                 attributes={"tracekit.stage": "eng.queue"}),
        ]  # fmt: skip
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    with Store.open(None) as store:
        store_spans(store.database, spans)
        update_units(store.database)
        if documents:
            store.ingest(path)
        return store.tail("e2e", baseline="body", quantile=0.85, **options)


def _readings(high: float, low: float) -> list[tuple[float, float]]:
    return [(at_s - 0.5, high if at_s in SLOW else low) for at_s in range(120)]


def test_the_fullest_cache_is_told_beside_the_queue(tmp_path: Path) -> None:
    """Of two workers the one whose cache was full when the slow ones began."""
    answer = _asked(
        tmp_path,
        _gauge("vllm:kv_cache_usage_perc", "worker-0", _readings(0.5, 0.5)),
        _gauge("vllm:kv_cache_usage_perc", "worker-1", _readings(0.99, 0.5)),
    )
    assert answer.counters.select("host_name", "tail_mean", "rest_mean", "is_higher").rows() == [
        ("worker-1", pytest.approx(0.99), pytest.approx(0.5), True),
        ("worker-0", pytest.approx(0.5), pytest.approx(0.5), False),
    ]
    told = "When they began, kv_cache.usage stood at 99.0% on worker-1, for the others at 50.0%."
    assert told in answer.summary


@pytest.mark.parametrize(
    "documents",
    [
        [],
        # Not higher; of another stage; too old to say anything of these requests; nobody's name.
        [_gauge("vllm:kv_cache_usage_perc", "worker-1", _readings(0.55, 0.5))],
        [_gauge("vllm:num_requests_running", "worker-1", _readings(90, 5))],
        [_gauge("vllm:num_requests_waiting", "worker-1", [(-500.0, 50.0)])],
        [_gauge("my.gauge", "worker-1", _readings(90, 5))],
    ],
)
def test_what_says_nothing_of_the_stage_is_not_told(tmp_path: Path, documents: list[dict[str, Any]]) -> None:
    """Counters stand beside an answer, they never fill it."""
    assert "When they began" not in _asked(tmp_path, *documents).summary


def test_counters_do_not_change_the_answer(tmp_path: Path) -> None:
    """The split, the verdict and the differences are the same without them."""
    with_counters = _asked(tmp_path, _gauge("vllm:num_requests_waiting", "worker-1", _readings(30, 0))).as_dict()
    without = _asked(tmp_path).as_dict()
    kept = without.keys() - {"counters", "summary"}
    assert {name: with_counters[name] for name in kept} == {name: without[name] for name in kept}
