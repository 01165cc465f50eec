"""The last resort: nobody gets large blocks while a question has run away, and everybody does after it."""

from __future__ import annotations

import mmap
import resource
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.serving.test_memory_of_questions import served
from tracekit.errors import QueryError
from tracekit.serving.ceiling import Ceiling
from tracekit.serving.governor import AskingLimits, Governor, Question
from tracekit.store import Database

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound what a process maps")

LARGE_BYTES = 1 << 30


def large_block_is_given() -> bool:
    """Whether the system maps a large block; nothing is written to it."""
    try:
        mmap.mmap(-1, LARGE_BYTES).close()
    except OSError:
        return False
    return True


@pytest.fixture
def ceiling() -> Iterator[Ceiling]:
    """One that is lifted whatever happens."""
    made = Ceiling()
    yield made
    made.lift()


def test_a_large_block_is_refused_while_it_is_down(ceiling: Ceiling) -> None:
    """A small one is not; what is given back cannot be had again; afterwards the limit is what it was."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with mmap.mmap(-1, LARGE_BYTES):
        ceiling.bring_down()
    assert large_block_is_given()
    ceiling.bring_down()
    assert (ceiling.is_down, large_block_is_given()) == (True, False)
    mmap.mmap(-1, 1 << 20).close()
    ceiling.lift()
    assert (ceiling.is_down, large_block_is_given()) == (False, True)
    assert resource.getrlimit(resource.RLIMIT_AS) == before


@pytest.mark.parametrize("is_sql", [True, False])
def test_it_is_down_while_a_question_runs_that_made_the_process_too_large(tmp_path: Path, is_sql: bool) -> None:
    """SQL and tracekit's own questions alike, each at its own bound, and it is lifted when they have ended."""

    def wait_until_it_is_down(question: Question, database: Database) -> bool:
        deadline = time.monotonic() + 20
        while large_block_is_given() and time.monotonic() < deadline:
            time.sleep(0.01)
        return not large_block_is_given()

    with served(tmp_path) as database:
        no_end = AskingLimits(process_bytes=0, runaway_bytes=0, growth_bytes=1 << 40)
        governor = Governor(lambda: database, no_end)
        assert governor.submit(wait_until_it_is_down, time_limit_s=60, is_sql=is_sql)[1].result(timeout=40)
        deadline = time.monotonic() + 20
        while not large_block_is_given():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        governor.close()


def test_what_own_questions_may_take_is_no_runaway(tmp_path: Path) -> None:
    """The bound lies above what they get where a machine has more memory."""
    has_looked = threading.Event()

    def look(question: Question, database: Database) -> bool:
        has_looked.wait(0.2)
        return large_block_is_given()

    with served(tmp_path) as database:
        limits = replace(AskingLimits(process_bytes=0, runaway_bytes=0, growth_bytes=1 << 40), answers_bytes=1 << 40)
        governor = Governor(lambda: database, limits)
        assert governor.submit(look, time_limit_s=60)[1].result(timeout=40)
        governor.close()


def test_an_expression_that_finds_no_memory_fails_with_a_sentence(tmp_path: Path, ceiling: Ceiling) -> None:
    """Two thousand texts of a megabyte in one vector, which no look between vectors sees: the store stays usable."""
    text = "||".join(["v"] * 64)
    statement = f"SELECT max(length({text})) FROM (SELECT repeat('x', 16000) || range AS v FROM range(20000))"
    with served(tmp_path) as database:
        governor = Governor(lambda: database, AskingLimits(process_bytes=1 << 40))
        ceiling.bring_down()
        with pytest.raises(QueryError, match="more memory than a question may have"):
            governor.submit(lambda question, asked: asked.sql(statement), time_limit_s=60)[1].result(timeout=60)
        ceiling.lift()
        assert database.sql("SELECT count(*) AS count FROM spans")["count"][0] == 0
        governor.close()
