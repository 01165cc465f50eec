"""Captures of real exporters, each with what was injected: units, how they ended, and who took the time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tracekit
from tracekit.api import Store

OUTCOMES = {
    "litellm-1.108.7-otel-v1": {"ok": 58, "rejected": 4, "failed": 4, "aborted": 3},
    "litellm-1.108.7-otel-v2": {"ok": 58, "rejected": 4, "failed": 4, "aborted": 3},
    "fastapi-httpx-3-services": {"ok": 51, "rejected": 3, "failed": 3, "aborted": 3},
    "openinference-langchain-0.1.80-langgraph": {"ok": 48, "failed": 7, "rejected": 2},
    "celery-openllmetry": {"ok": 48, "rejected": 3, "failed": 3},
    "openllmetry-openai-0.62.4": {"ok": 53, "rejected": 3, "failed": 3, "unknown": 5},
}
"""Units that call a model, by how they ended: streams and plain calls, limits, errors, clients that left."""

SLOW = {
    "litellm-1.108.7-otel-v2": ({"upstream": 10}, 1_000_000_000),
    "fastapi-httpx-3-services": ({"model-server:POST /v1/chat/completions": 11}, 1_000_000_000),
    "openinference-langchain-0.1.80-langgraph": ({"langgraph:search_docs": 10, "upstream": 0}, 1_000_000_000),
    "celery-openllmetry": ({"upstream": 6, "worker:run/summarise": 4, "retry": 4}, 1_000_000_000),
    "openllmetry-openai-0.62.4": ({"upstream": 10}, 1_000_000_000),
}
"""How many units have a stage of this many nanoseconds or more: those that were slowed down."""


@pytest.fixture(scope="module", params=OUTCOMES)
def capture(request: pytest.FixtureRequest, shared_data: Path) -> Iterator[tuple[str, Store]]:
    name = str(request.param)
    path = shared_data / "exporters" / f"{name}.jsonl.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    with tracekit.open(None) as store:
        store.ingest(path)
        yield name, store


def test_units_end_as_was_injected(capture: tuple[str, Store]) -> None:
    """Background work, health checks and whoever only sends a message call no model."""
    name, store = capture
    found = store.sql("SELECT outcome, count(*) FROM units WHERE vantage != 'service' GROUP BY outcome")
    assert dict(found.rows()) == OUTCOMES[name]


def test_tail_asks_about_units_that_call_a_model(capture: tuple[str, Store]) -> None:
    """All others are left out, and counted."""
    name, store = capture
    others = store.sql("SELECT count(*) FROM units WHERE vantage = 'service'").item()
    answer = store.tail("e2e")
    left_out = {reason: count for _, reason, count in answer.left_out.rows()}
    assert left_out.get("without a call of a model", 0) == others
    assert answer.count == OUTCOMES[name]["ok"]


def test_the_stage_that_was_slowed_down_has_the_time(capture: tuple[str, Store]) -> None:
    """In as many units as were slowed down, and in no others."""
    name, store = capture
    if name not in SLOW:
        pytest.skip("the first requests of this proxy take as long as those that were slowed down")
    counts, least_ns = SLOW[name]
    found = store.sql(
        "SELECT stage, count(*) FROM (SELECT unit_id, stage, sum(self_ns) AS self_ns FROM base.unit_stages "
        "JOIN base.units USING (unit_id) WHERE outcome = 'ok' GROUP BY ALL) "
        "WHERE self_ns >= $least_ns GROUP BY stage",
        least_ns=least_ns,
    )
    assert dict(found.rows()) == {stage: count for stage, count in counts.items() if count}


def test_the_model_that_answered_is_named(capture: tuple[str, Store]) -> None:
    """Not that of a fallback's first attempt."""
    _, store = capture
    models = store.sql("SELECT DISTINCT model FROM units WHERE vantage != 'service' AND outcome = 'ok'")
    assert not {"fb", "fake-500"} & set(models["model"].to_list())
