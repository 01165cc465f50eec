"""Answers of the app: asked once for all who wait, ended when the last one leaves."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

import tracekit as tk

ENDLESS = "SELECT sum(hash(a.range + b.range)) FROM range(10_000_000) AS a, range(10_000_000) AS b"


class LeftError(Exception):
    """What Streamlit raises where a page is left."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "store.duckdb"
    tk.open(found).close()
    return found


def opener(path: Path) -> partial[AbstractContextManager[tk.Store]]:
    return partial(tk.open, path, read_only=True)


def test_a_question_is_asked_once_for_all_who_wait_and_who_come_later(path: Path) -> None:
    from investigation.asking import Answers

    answers, asked, go = Answers(), [], threading.Event()

    def ask(store: tk.Store) -> int:
        asked.append(store)
        go.wait()
        return int(store.sql("SELECT 42").item())

    with ThreadPoolExecutor(2) as pages:
        waiting = [pages.submit(answers.answer, "question", opener(path), ask) for _ in range(2)]
        go.set()
        assert [each.result() for each in waiting] == [42, 42]
    assert answers.answer("question", opener(path), ask) == 42
    assert len(asked) == 1


def test_an_error_is_told_and_not_kept(path: Path) -> None:
    from investigation.asking import Answers

    answers = Answers()
    for _ in range(2):
        with pytest.raises(tk.QueryError, match="nothing_like_it"):
            answers.answer("question", opener(path), lambda store: store.sql("FROM nothing_like_it"))
    assert answers.answer("question", opener(path), lambda store: store.sql("SELECT 1").item()) == 1


def test_the_last_one_who_leaves_ends_the_question(path: Path) -> None:
    """It would run for hours; who left first changes nothing for who still waits."""
    from investigation.asking import Answers

    answers, began, ended = Answers(), threading.Event(), threading.Event()

    def ask(store: tk.Store) -> None:
        began.set()
        try:
            store.sql(ENDLESS)
        finally:
            ended.set()

    leaving = [threading.Event(), threading.Event()]

    def look(leaves: threading.Event) -> None:
        if leaves.is_set():
            raise LeftError

    with ThreadPoolExecutor(2) as pages:
        waiting = [
            pages.submit(answers.answer, "endless", opener(path), ask, look=partial(look, leaves)) for leaves in leaving
        ]
        began.wait()
        leaving[0].set()
        with pytest.raises(LeftError):
            waiting[0].result()
        assert not waiting[1].done()
        assert not ended.is_set()
        leaving[1].set()
        with pytest.raises(LeftError):
            waiting[1].result()
        assert ended.wait(60)


def test_a_question_that_everybody_left_before_its_turn_is_not_asked(path: Path) -> None:
    """Nor is what it would have answered kept: who asks again is answered."""
    from investigation.asking import Answers

    answers, go, left = Answers(), threading.Event(), list[int]()

    def look() -> None:
        raise LeftError

    def wait_for_go(store: tk.Store) -> None:
        go.wait()

    with ThreadPoolExecutor(8) as pages:
        taken = [pages.submit(answers.answer, number, opener(path), wait_for_go) for number in range(8)]
        while len([thread for thread in threading.enumerate() if "tracekit-asking" in thread.name]) < 8:
            pass
        with pytest.raises(LeftError):
            answers.answer("question", opener(path), lambda store: left.append(1), look=look)
        go.set()
        for each in taken:
            each.result()
    assert answers.answer("question", opener(path), lambda store: 42) == 42
    assert not left


def test_what_is_kept_is_bounded(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The answer that was looked at longest ago goes first."""
    from investigation import asking

    monkeypatch.setattr(asking, "_MOST_KEPT", 2)
    answers, asked = asking.Answers(), list[int]()

    def ask(number: int, store: tk.Store) -> int:
        asked.append(number)
        return number

    for number in (1, 2, 1, 3, 1, 2):
        assert answers.answer(number, opener(path), partial(ask, number)) == number
    assert asked == [1, 2, 3, 2]
