"""A commit that lacks memory has it for itself for a moment: questions that wait do not take it at once."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tracekit.errors import BusyError, QueryError
from tracekit.receiver import ReceiverSettings
from tracekit.serving.governor import AskingLimits, Governor, Question
from tracekit.store import Database

QUIET_S = 0.5


def served(folder: Path) -> Database:
    """A store that questions may be asked of, as the server opens it."""
    tuning = ReceiverSettings().tuning(folder / "store.duckdb")
    return Database.serve(folder / "store.duckdb", row_group_rows=10_240, tuning=tuning)


def test_those_that_wait_begin_after_a_moment_of_quiet(tmp_path: Path) -> None:
    """The one that runs is stopped; the next one begins when a commit has had its time."""
    begun: list[float] = []
    with served(tmp_path) as database:
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


def test_what_somebody_wrote_goes_before_our_own_questions(tmp_path: Path) -> None:
    """Where memory lacks and several grew, older SQL is stopped before a newer answer."""
    has_begun = threading.Semaphore(0)
    ended: list[str] = []

    def count(question: Question, database: Database) -> int:
        has_begun.release()
        return int(database.sql("SELECT count(*) FROM range(100_000_000_000)").item())

    with served(tmp_path) as database:
        governor = Governor(lambda: database)
        running = {}
        for name, is_sql in (("sql", True), ("answer", False)):
            _, running[name] = governor.submit(count, time_limit_s=60, is_sql=is_sql)
            running[name].add_done_callback(lambda done, name=name: ended.append(name))
            assert has_begun.acquire(timeout=10)
        governor.limits = AskingLimits(process_bytes=0, growth_bytes=-(1 << 40))
        told = {name: str(each.exception(timeout=20)) for name, each in running.items()}
        governor.close()
    assert ended == ["sql", "answer"]
    assert all("more memory" in each for each in told.values()), told
