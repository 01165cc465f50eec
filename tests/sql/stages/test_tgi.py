"""Text Generation Inference: durations that Rust printed, cut out of the handler's span."""

from __future__ import annotations

import pytest

from tests.unit.stages.stored import SERVER, Span, request, store, times
from tracekit.store import Database

MS = 1_000_000
TOLD = {
    "validation_time": "987.6µs",
    "queue_time": "12.3ms",
    "inference_time": "1.25s",
    "time_per_token": "12.5ms",
    "total_time": "1.2632876s",
}
HANDLER = Span(1, 0, 1264 * MS, "generate_stream", kind=SERVER, service="tgi", attributes=TOLD)
WHOLE = "unsplit(eng.decode|eng.prefill)"


@pytest.mark.parametrize("inner", [(), ("async_stream",), ("async_stream", "generate_stream")])
def test_the_durations_follow_each_other(database: Database, inner: tuple[str, ...]) -> None:
    """Validation, queue, inference; spans inside the handler are cut at the same places."""
    below = [Span(index + 2, 0, 1264 * MS, name, parent=index + 1, service="tgi") for index, name in enumerate(inner)]
    store(database, [HANDLER, *below])
    found: dict[str, int] = {}
    for (_, stage, _), self_ns in times(database).items():
        found[stage] = found.get(stage, 0) + self_ns
    assert found == {"fe.preprocess": 987_600, "eng.queue": 12_300_000, WHOLE: 1_250_000_000, "unattributed": 712_400}


def test_the_number_of_tokens_follows_from_the_time_for_each(database: Database) -> None:
    """It includes prefill, so it gives the count and no TPOT."""
    store(database, [HANDLER])
    unit = request(database)
    assert (unit["output_tokens"], unit["first_token_ns"], unit["vantage"], unit["outcome"]) == (
        100,
        None,
        "engine",
        "ok",
    )


@pytest.mark.parametrize("queue", ["12.3 parsecs", "", "9s"])
def test_durations_that_cannot_be_are_a_conflict(database: Database, queue: str) -> None:
    """Unreadable, or longer than the span: the time stays unexplained, and is counted."""
    store(database, [Span(1, 0, 1264 * MS, "generate", kind=SERVER, attributes=TOLD | {"queue_time": queue})])
    assert times(database) == {("e2e", "unattributed", "generate"): 1264 * MS}
    assert request(database)["flags"] == "conflict:durations"
