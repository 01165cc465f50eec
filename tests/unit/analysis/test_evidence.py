"""What an answer says of its data is never better than what the whole store is known to lack."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from tests.unit.analysis.rows import Request, Step
from tracekit.analysis import Evidence, quality, stragglers, tail
from tracekit.store import Database

Write = Callable[[Sequence[Request | Step]], Database]
RANKING = ["good", "usable", "poor", "refused"]
CLEAN = [("ttft", "eng.queue", 100)]


def _arrived(
    database: Database, *, signal: str | None = "traces", error: str | None = None, rejected: int = 0
) -> Database:
    """The store after one file of 90 spans arrived, and what of it did not."""
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO base.ingests VALUES (1, 'file', 'json', 1, 90, 0, 0, 0, $rejected, $error)",
            {"rejected": rejected, "error": error},
        )
        cursor.execute("INSERT INTO base.built_through VALUES (1)")
        if rejected:
            cursor.execute(
                "INSERT INTO base.ingest_rejects VALUES (1, 'rejected', $signal, 'time_zero', $count, 0, NULL)",
                {"signal": signal, "count": rejected},
            )
    return database


def _evidence(database: Database) -> Evidence:
    found = tail(database, "ttft", quantile=0).evidence
    assert RANKING.index(found.verdict) >= RANKING.index(quality(database).verdict)
    return found


def test_clean_units_bear_an_answer(store: Write) -> None:
    """Nothing is wrong, nothing is said."""
    found = _evidence(_arrived(store([Request(CLEAN)] * 20)))
    assert (found.verdict, found.reasons) == ("good", [])


def test_a_file_that_failed_may_have_held_some_of_the_units(store: Write) -> None:
    """What was not read is missing from every answer."""
    found = _evidence(_arrived(store([Request(CLEAN)] * 20), error="cut off"))
    assert (found.verdict, found.reasons) == ("usable", ["1 of 1 files could not be read to the end"])


@pytest.mark.parametrize(("rejected", "verdict"), [(5, "usable"), (60, "poor")])
@pytest.mark.parametrize("signal", ["traces", None])
def test_refused_spans_are_missing_from_the_units(
    store: Write, rejected: int, verdict: str, signal: str | None
) -> None:
    """Records that were refused, and could have been spans, weaken an answer as they weaken the store."""
    found = _evidence(_arrived(store([Request(CLEAN)] * 20), rejected=rejected, signal=signal))
    assert found.verdict == verdict
    assert "records were refused: the time is 0 or missing (time_zero)" in found.reasons[0]


def test_refused_metrics_do_not_concern_requests(store: Write) -> None:
    """A metric point that was refused takes nothing from a trace."""
    database = _arrived(store([Request(CLEAN)] * 20), rejected=5, signal="metrics")
    assert tail(database, "ttft", quantile=0).evidence.verdict == "good"
    assert quality(database).verdict == "usable"


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (Request(CLEAN, flags="extra_roots"), "1 of 20 units have further root spans"),
        (Request([("ttft", "unattributed", 5000)]), "of unit time (5 µs) is explained by no span"),
        (Request(CLEAN, outcome="unknown"), "1 of 20 units have no known outcome"),
        (Request(CLEAN, conflict_count=1), "1 of 20 units report values that cannot be"),
    ],
)
def test_what_weakens_the_store_weakens_the_answer(store: Write, request_: Request, reason: str) -> None:
    """Each check of `quality` that concerns the units of an answer is among its reasons."""
    found = _evidence(_arrived(store([*[Request(CLEAN)] * 19, request_])))
    assert found.verdict == "usable"
    assert reason in found.reasons[0]


def test_defects_of_other_units_are_no_concern(store: Write) -> None:
    """The answer stands on the units that were asked for."""
    database = store([*[Request(CLEAN)] * 19, Request(CLEAN, flags="extra_roots", model="other")])
    assert tail(database, "ttft", quantile=0, where="model = 'm'").evidence.verdict == "good"


def test_steps_without_all_their_ranks_are_told(store: Write) -> None:
    """A world of three of which two ranks reported: who was waited for may be the third."""
    steps = [Step(step, rank, [("step.compute", 100)]) for step in range(12) for rank in (0, 1)]
    database = _arrived(store(steps))
    with database.transaction() as cursor:
        cursor.execute(
            "INSERT INTO base.resources (resource_id, identity_hash, job_id, attempt, rank, world_size, "
            "dropped_attributes_count) VALUES (1, 1, 'job', 0, 0, 3, 0)"
        )
    for found in (tail(database, "step", quantile=0).evidence, stragglers(database).evidence):
        assert found.verdict == quality(database).verdict == "poor"
        assert found.reasons == ["12 of 12 training steps lack ranks of their world"]
