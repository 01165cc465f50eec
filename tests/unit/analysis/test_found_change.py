"""When a store changed: the whole of an incident, and incidents in calls that few requests make."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.unit.analysis.rows import MS, Request, Step
from tracekit.analysis import changed_metrics, tail
from tracekit.analysis.tail.change import _Episode, _whole
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]
SECOND = 1_000_000_000


def _request(number: int, draw: random.Random, *, screen_ms: float | None) -> Request:
    stages = [("e2e", "app", round(draw.lognormvariate(5, 0.5) * MS))]
    if screen_ms is not None:
        stages.append(("e2e", "screen", round(screen_ms * draw.lognormvariate(0, 0.4) * MS)))
    return Request(stages, start_ns=number * SECOND)


def test_longer_calls_of_one_request_in_ten_are_found(store: Write) -> None:
    """Calls of 20 ms take 200 ms in the last third; what all requests take swings by more than that."""
    draw = random.Random(4)
    units = [_request(n, draw, screen_ms=(200 if n >= 600 else 20) if n % 10 == 3 else None) for n in range(900)]
    database = store(units)
    answer = tail(database, "e2e")
    assert changed_metrics(database, ["step", "e2e"]).rows()[0] == ("step", 0)
    assert changed_metrics(database, ["e2e"])["episode_count"].item() > 0
    assert answer.change_series == "screen"
    assert answer.change_start_ns is not None
    assert abs(answer.change_start_ns / SECOND - 600) < 30
    assert (answer.verdict, answer.stages[0, "stage"]) == ("stage_slower", "screen")


def test_calls_that_stay_as_they_are_are_no_change(store: Write) -> None:
    """The same calls all the time: nothing is found."""
    draw = random.Random(5)
    units = [_request(n, draw, screen_ms=20 if n % 10 == 3 else None) for n in range(900)]
    database = store(units)
    assert tail(database, "e2e").change_start_ns is None
    assert changed_metrics(database, ["e2e"]).rows() == [("e2e", 0)]


def test_the_longest_episode_that_holds_the_clearest_is_taken() -> None:
    """The end of a growing queue stands out most among high ranks; its beginning belongs to the incident."""
    episodes = {
        "metric": _Episode(65, 108, 2.1),
        "metric above 0.9": _Episode(95, 108, 13.5),
        "metric above 0.98": _Episode(103, 108, 2.0),
    }
    assert _whole("metric above 0.9", episodes) == "metric"
    assert _whole("metric above 0.9", episodes | {"metric": _Episode(65, 108, 0.9)}) == "metric above 0.9"
