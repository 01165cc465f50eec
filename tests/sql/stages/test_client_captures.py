"""Captures that `tests/captures/clients.py` made: how requests end, who has the time, what failed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tracekit
from tracekit.api import Store

CAPTURES = Path(__file__).resolve().parents[2] / "captures"

EXPECTED = {
    "openai_openinference": {"ok": 37, "unknown": 3, "rejected": 3, "failed": 3},
    "anthropic_openinference": {"ok": 34, "rejected": 3, "failed": 3},
    "anthropic_openllmetry": {"ok": 34, "rejected": 3, "failed": 3},
    "openai_agents": {"ok": 18, "rejected": 3, "failed": 3},
    "flask_requests": {"ok": 18, "rejected": 3, "failed": 3},
}
SLOWED = {
    "openai_openinference": ("upstream", 8), "anthropic_openinference": ("upstream", 8),
    "anthropic_openllmetry": ("upstream", 8), "openai_agents": ("upstream", 4),
    "flask_requests": ("upstream", 4),
}  # fmt: skip
FIRST_CAUSES = {
    "openai_openinference": "first cause openai.InternalServerError",
    "anthropic_openinference": "behind anthropic.messages.create",
    "anthropic_openllmetry": "behind anthropic.messages.create",
    "openai_agents": "in upstream",
    "flask_requests": "behind POST, which reaches 127.0.0.1:",
}


@pytest.fixture(scope="module", params=EXPECTED)
def capture(request: pytest.FixtureRequest) -> Iterator[tuple[str, Store]]:
    with tracekit.open(None) as store:
        store.ingest(CAPTURES / f"{request.param}.jsonl.gz")
        yield str(request.param), store


def test_units_end_as_was_injected(capture: tuple[str, Store]) -> None:
    name, store = capture
    assert dict(store.sql("SELECT outcome, count(*) FROM units GROUP BY outcome").rows()) == EXPECTED[name]


def test_the_stage_that_was_slowed_down_has_the_second(capture: tuple[str, Store]) -> None:
    name, store = capture
    found = store.sql(
        "SELECT stage, count(DISTINCT unit_id) FROM unit_stages INNER JOIN units USING (unit_id) "
        "WHERE outcome = 'ok' AND self_ns >= 1000000000 GROUP BY stage"
    )
    assert found.rows() == [SLOWED[name]]


def test_the_first_cause_is_the_call_of_the_model(capture: tuple[str, Store]) -> None:
    name, store = capture
    answer = store.request_failures()
    assert (answer.failed, answer.rejected) == (3, 3)
    assert FIRST_CAUSES[name] in answer.summary


def test_streams_have_a_first_token(capture: tuple[str, Store]) -> None:
    name, store = capture
    streamed = {"openai_openinference": 19, "anthropic_openinference": 16, "anthropic_openllmetry": 16}.get(name, 0)
    assert store.sql("SELECT count(first_token_ns) FROM units").item() == streamed
