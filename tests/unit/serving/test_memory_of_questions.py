"""Memory that questions hold: what is stopped for it, and that a commit has it for itself for a moment."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.errors import BusyError, QueryError
from tracekit.receiver import ReceiverSettings
from tracekit.serving.governor import AskingLimits, Governor, Question, likeliest
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


def question(started_at: float, *, is_sql: bool) -> Question:
    begun = Question(60, is_sql=is_sql)
    begun.started_at = started_at
    return begun


def test_what_somebody_wrote_is_stopped_before_our_own_questions() -> None:
    """And of those the last, where memory lacks and several grew."""
    older, newer, own = question(1, is_sql=True), question(2, is_sql=True), question(3, is_sql=False)
    assert likeliest([older, newer, own]) is newer
    assert likeliest([older, own]) is older
    assert likeliest([own]) is own


def test_questions_are_stopped_before_a_commit_lacks_memory(tmp_path: Path) -> None:
    """DuckDB holds rows for a question beyond what it may: the question ends, with a sentence."""
    with served(tmp_path) as database:
        governor = Governor(lambda: database, AskingLimits(duckdb_bytes=100 << 20, growth_bytes=50 << 20))
        with pytest.raises(QueryError, match="more memory than a question may have"):
            governor.ask(lambda asked: asked.sql("SELECT list(range) FROM range(1_000_000_000)").height)
        governor.close()


def test_an_answer_has_a_moment_after_sql_was_stopped_for_memory(tmp_path: Path) -> None:
    """What the SQL held is free then, and nothing else has to end for it."""
    has_begun = threading.Semaphore(0)
    ended_at: dict[str, float] = {}

    def count(question: Question, database: Database) -> int:
        has_begun.release()
        return int(database.sql("SELECT count(*) FROM range(100_000_000_000)").item())

    with served(tmp_path) as database:
        governor = Governor(lambda: database)
        running = {}
        for name, is_sql in (("sql", True), ("answer", False)):
            _, running[name] = governor.submit(count, time_limit_s=60, is_sql=is_sql)
            running[name].add_done_callback(lambda done, name=name: ended_at.update({name: time.monotonic()}))
            assert has_begun.acquire(timeout=10)
        governor.limits = AskingLimits(process_bytes=0, growth_bytes=-(1 << 40))
        told = {name: str(each.exception(timeout=20)) for name, each in running.items()}
        governor.close()
    assert ended_at["answer"] - ended_at["sql"] > 0.4
    assert all("more memory" in each for each in told.values()), told


def test_our_own_questions_may_take_more_where_there_is_more(tmp_path: Path) -> None:
    """What they take goes by what they are asked about; of what somebody wrote nothing is known."""
    goes_on = threading.Event()

    def wait(question: Question, database: Database) -> str:
        while not goes_on.wait(0.01):
            question.check()
        return "answered"

    with served(tmp_path) as database:
        room_bytes = 1 << 40
        limits = AskingLimits(process_bytes=0, duckdb_bytes=0, growth_bytes=-room_bytes)
        limits = replace(limits, answers_bytes=room_bytes, answers_duckdb_bytes=room_bytes)
        governor = Governor(lambda: database, limits)
        running = [governor.submit(wait, time_limit_s=60, is_sql=is_sql)[1] for is_sql in (True, False)]
        with pytest.raises(QueryError, match="more memory than a question may have"):
            running[0].result(timeout=20)
        time.sleep(2 * QUIET_S)
        goes_on.set()
        assert running[1].result(timeout=20) == "answered"
        governor.close()
