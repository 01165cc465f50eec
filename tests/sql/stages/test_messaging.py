"""Celery's tasks: a unit of their own, together with the attempts that follow a failed one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.unit.stages.stored import CLIENT, CONSUMER, ERROR, PRODUCER, Span, store
from tracekit.stages import update_units
from tracekit.store import Database

GENAI = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "large"}
SUBMIT = Span(1, 0, 5, "submit", service="web")
SEND = Span(2, 1, 4, "apply_async/task", parent=1, kind=PRODUCER, service="web")
RUN = Span(3, 100, 200, "run/task", parent=2, kind=CONSUMER, service="worker")
CALL = Span(4, 110, 190, "openai.chat", parent=3, kind=CLIENT, service="worker", attributes=GENAI)
AGAIN = Span(5, 195, 198, "apply_async/task", parent=3, kind=PRODUCER, service="worker")
SECOND = Span(6, 300, 400, "run/task", parent=5, kind=CONSUMER, service="worker")
SECOND_CALL = replace(CALL, id=7, start=310, end=390, parent=6)


def units(database: Database) -> list[tuple[str, str, int]]:
    update_units(database)
    return database.sql("SELECT name, outcome, end_ns - start_ns FROM units ORDER BY start_ns").rows()


def stages(database: Database, name: str) -> dict[str, int]:
    rows = database.sql(
        "SELECT stage, sum(self_ns)::BIGINT FROM base.unit_stages JOIN base.units USING (unit_id) "
        "WHERE name = $name GROUP BY stage HAVING sum(self_ns) != 0",
        name=name,
    )
    return dict(rows.rows())


def test_a_task_is_a_unit_and_its_sender_another(database: Database) -> None:
    """Nobody waited for the task; nothing of it is cut off."""
    store(database, [SUBMIT, SEND, RUN, CALL])
    assert units(database) == [("submit", "ok", 5), ("run/task", "ok", 100)]
    assert stages(database, "run/task") == {"worker:run/task": 20, "upstream": 80}


@pytest.mark.parametrize(("status", "outcome"), [(0, "ok"), (ERROR, "failed")])
def test_a_task_that_was_tried_again_ends_as_its_last_attempt(database: Database, status: int, outcome: str) -> None:
    """One unit from the first attempt to the end of the last; all before the last is retry."""
    failed = replace(CALL, status=ERROR)
    last = [replace(SECOND, status=status), replace(SECOND_CALL, status=status)]
    store(database, [SUBMIT, SEND, RUN, failed, AGAIN, *last])
    assert units(database) == [("submit", "ok", 5), ("run/task", outcome, 300)]
    assert stages(database, "run/task") == {"retry": 200, "worker:run/task": 20, "upstream": 80}


def test_two_messages_of_one_sender_are_two_units(database: Database) -> None:
    """A batch that is sent in one request is worked on apart."""
    other = [replace(SEND, id=12), replace(RUN, id=13, parent=12, start=120, end=150)]
    store(database, [SUBMIT, SEND, RUN, CALL, *other])
    assert units(database) == [("submit", "ok", 5), ("run/task", "ok", 100), ("run/task", "ok", 30)]
