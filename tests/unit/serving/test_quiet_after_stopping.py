"""A commit that lacks memory has it for itself for a moment: questions that wait do not take it at once."""

from __future__ import annotations

import threading
import time

import pytest

from tracekit.errors import BusyError, QueryError
from tracekit.serving.governor import AskingLimits, Governor
from tracekit.store import Database

QUIET_S = 0.5


def test_those_that_wait_begin_after_a_moment_of_quiet() -> None:
    """The one that runs is stopped; the next one begins when a commit has had its time."""
    begun: list[float] = []
    with Database.open(None) as database:
        governor = Governor(lambda: database, AskingLimits(running=1))
        has_begun = threading.Event()

        def count(asked: Database) -> int:
            has_begun.set()
            begun.append(time.monotonic())
            return int(asked.sql("SELECT count(*) FROM range(100_000_000_000)").item())

        stopped: list[type[BaseException]] = []

        def ask_for_long() -> None:
            with pytest.raises((QueryError, BusyError)) as caught:
                governor.ask(count)
            stopped.append(caught.type)

        askers = [threading.Thread(target=ask_for_long) for _ in range(2)]
        for asker in askers:
            asker.start()
        assert has_begun.wait(10)
        assert governor.stop_all()
        freed_at = time.monotonic()
        while len(begun) < 2 and time.monotonic() < freed_at + 10:
            time.sleep(0.01)
        governor.close()
        for asker in askers:
            asker.join()
    assert begun[1] - freed_at >= 0.9 * QUIET_S
    assert len(stopped) == 2
