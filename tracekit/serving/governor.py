"""What may be asked at once, for how long and with how much memory, so that asking never stops receiving.

DuckDB lets one process have the file open for writing, so whoever asks does so in the server's own process, beside the
writer. A process of its own for readers was weighed: it cannot open a file that the writer holds, a copy of the file
is as large as the file, and one that goes round the lock reads blocks that the writer's next checkpoint has given to
other data. So every question runs here, under one wrapper: in one of a few threads that yield to the writer's, on
cursors that can be interrupted, with memory for sorts and joins that is set aside beside the writer's, under the eyes
of a watcher that stops it at its deadline, when its asker has left, or when the process grows too far.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import duckdb

from tracekit.errors import BusyError, QueryError, StoreError
from tracekit.serving.ceiling import Ceiling
from tracekit.serving.memory import resident_bytes
from tracekit.store import Database, WatchedDatabase

Answer = TypeVar("Answer")

_QUIET_S = 0.5
"""How long a commit that lacked memory has it for itself."""

_SETTLE_S = 0.5
"""How long after SQL was stopped for memory an answer is not."""

_TICK_S = 0.02
_POLITENESS = 10
_LACKS_MEMORY = "the query needs more memory than a question may have and was stopped; ask for less at once"


_ROWS_IN_THE_MAKING = """SELECT sum(memory_usage_bytes) FROM duckdb_memory()
WHERE tag NOT IN ('BASE_TABLE', 'METADATA', 'EXTERNAL_FILE_CACHE', 'OBJECT_CACHE')"""


@dataclass(frozen=True, slots=True)
class AskingLimits:
    """What questions may take, all together and each."""

    running: int = 4
    """Questions that run at once."""
    waiting: int = 16
    """Questions that wait for their turn; more are refused."""
    wait_s: float = 45.0
    """Longest wait for a turn."""
    turn_s: float = 15.0
    """While others wait, a question may run so long."""
    time_s: float = 300.0
    """Longest time of one question, its wait not counted."""
    process_bytes: int = 1280 << 20
    """Memory of the whole process above which a question that made it grow is stopped; receiving alone stays below."""
    duckdb_bytes: int = 480 << 20
    """Memory that DuckDB holds for rows in the making above which the same is done; a commit finds the rest."""
    growth_bytes: int = 128 << 20
    """What either may grow by since a question began in any case."""
    runaway_bytes: int = 256 << 20
    """Memory of the process beyond what it may have at which nobody gets large blocks until a question has ended."""
    answers_bytes: int = 0
    """What the process may have more for tracekit's own questions: they take as much as they are asked about."""
    answers_duckdb_bytes: int = 0
    """The same of what DuckDB holds."""
    operator_memory_bytes: int = 64 << 20
    """Memory of one question's sorts, joins and groups; what they need beyond it goes to disk."""
    output_bytes: int = 512 << 20
    """Longest answer."""


@dataclass(frozen=True, slots=True)
class Held:
    """Memory at one moment."""

    process_bytes: int
    duckdb_bytes: int
    """For rows in the making, of whoever asks or writes; blocks of the file are not counted, they give way."""


class Question:
    """One question on its way. Any thread may stop it; then its cursors are interrupted until it has ended."""

    def __init__(self, time_limit_s: float, *, is_sql: bool = False) -> None:
        """`is_sql`: somebody wrote the statement, so that nothing is known of what it needs."""
        self.time_limit_s = time_limit_s
        self.is_sql = is_sql
        self.started_at: float | None = None
        self.began_with = Held(0, 0)
        """What was held when it began."""
        self._stopped: QueryError | BusyError | None = None
        self._cursors: list[duckdb.DuckDBPyConnection] = []
        self._lock = threading.Lock()

    @property
    def stopped(self) -> QueryError | BusyError | None:
        """Why it was stopped; None while it may go on."""
        return self._stopped

    def stop(self, error: QueryError | BusyError) -> None:
        """End it with this error, unless it has been ended with another."""
        with self._lock:
            self._stopped = self._stopped or error
        self.interrupt()

    def interrupt(self) -> None:
        """Interrupt what runs on its cursors now."""
        with self._lock:
            cursors = list(self._cursors)
        for cursor in cursors:
            with suppress(duckdb.Error):
                cursor.interrupt()

    def watch(self, cursor: duckdb.DuckDBPyConnection) -> None:
        """Take a cursor under watch. Raises the error that the question was stopped with."""
        with self._lock:
            self._cursors.append(cursor)
        self.check()

    def check(self) -> None:
        """Raise the error that the question was stopped with, if it was."""
        if self._stopped is not None:
            raise self._stopped


class Governor:
    """Runs the questions of a server in its own threads, within limits."""

    def __init__(self, database: Callable[[], Database], limits: AskingLimits | None = None) -> None:
        self.limits = limits or AskingLimits()
        self._database = database
        self._threads = ThreadPoolExecutor(
            self.limits.running, thread_name_prefix="tracekit-answers", initializer=_yield_to_others
        )
        self._running: list[Question] = []
        self._waiting = 0
        self._closed = False
        self._quiet_until = 0.0
        self._sql_ended_at = 0.0
        self._changed = threading.Condition()
        self._ceiling = Ceiling()
        self._watcher = threading.Thread(target=self._watch, name="tracekit-governor", daemon=True)
        self._watcher.start()

    def ask(
        self, work: Callable[[Database], Answer], *, queued: Callable[[Callable[[], None]], None] | None = None
    ) -> Answer:
        """What `work` makes of the database, for a caller in another thread of this process.

        `queued` is given at once what ends it from another thread, whether it runs or waits for its turn.
        Raises what `work` raises; `QueryError` when it was stopped, `BusyError` when it got no turn.
        """
        question, running = self.submit(lambda _, database: work(database), time_limit_s=self.limits.time_s)
        if queued is not None:
            queued(partial(self._end, question, running))
        try:
            return running.result()
        except CancelledError as error:
            raise question.stopped or _stopping() from error

    def _end(self, question: Question, running: Future[Any]) -> None:
        question.stop(QueryError("nobody waits for the answer any more"))
        self._forget(running)

    async def answer(
        self,
        work: Callable[[Question, Database], Answer],
        *,
        time_limit_s: float,
        has_left: Callable[[], Any],
        is_sql: bool = False,
        watch_s: float = 0.2,
    ) -> Answer:
        """As `ask`, from an event loop; stops when `has_left`, awaited now and then, says that nobody waits."""
        question, running = self.submit(work, time_limit_s=time_limit_s, is_sql=is_sql)
        pending = asyncio.wrap_future(running)
        while not pending.done():
            await asyncio.wait([pending], timeout=watch_s)
            if not pending.done() and await has_left():
                self._end(question, running)
        if running.cancelled():
            raise _stopping()
        return await pending

    def submit(
        self, work: Callable[[Question, Database], Answer], *, time_limit_s: float, is_sql: bool = False
    ) -> tuple[Question, Future[Answer]]:
        """Queue a question. Raises `BusyError` where too many wait."""
        question = Question(min(time_limit_s, self.limits.time_s), is_sql=is_sql)
        with self._changed:
            if self._closed:
                raise _stopping()
            if self._waiting >= self.limits.waiting:
                raise BusyError(f"{len(self._running)} questions run and {self._waiting} wait already; ask again later")
            self._waiting += 1
            self._changed.notify_all()
        return question, self._threads.submit(self._run, question, work, time.monotonic())

    def stop_all(self, *, why: str = "it needed memory that receiving needs", timeout_s: float = 5.0) -> bool:
        """Stop every running question and wait until all have ended; whether they have.

        Meanwhile and for `_QUIET_S` after it none begins: those that wait would take the same memory at once.
        """
        with self._changed:
            self._quiet_until = time.monotonic() + timeout_s
            for question in self._running:
                question.stop(QueryError(f"the query was stopped: {why}; ask for less"))
            have_ended = self._changed.wait_for(lambda: not self._running, timeout=timeout_s)
            self._quiet_until = time.monotonic() + _QUIET_S
            self._changed.notify_all()
            return have_ended

    def close(self, *, timeout_s: float = 2.0) -> None:
        """Take no more questions and stop those there are."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self.stop_all(why="the server is stopping", timeout_s=timeout_s)

    def _forget(self, running: Future[Any]) -> None:
        with self._changed:
            if not running.cancelled() and running.cancel():
                self._waiting -= 1

    def _run(self, question: Question, work: Callable[[Question, Database], Answer], asked_at: float) -> Answer:
        with self._changed:
            while not self._closed and (left_s := self._quiet_until - time.monotonic()) > 0:
                self._changed.wait(left_s)
            self._waiting -= 1
            question.started_at, question.began_with = time.monotonic(), self._held()
            self._running.append(question)
            self._changed.notify_all()
        try:
            if question.started_at - asked_at > self.limits.wait_s:
                raise BusyError(f"no turn came within {self.limits.wait_s:g} s; ask again later")
            return self._answered(question, work)
        finally:
            with self._changed:
                self._running.remove(question)
                self._changed.notify_all()

    def _answered(self, question: Question, work: Callable[[Question, Database], Answer]) -> Answer:
        settings = {"operator_memory_limit": f"{self.limits.operator_memory_bytes}B"}
        database = WatchedDatabase(self._database(), question.watch, settings)
        try:
            question.check()
            return work(question, database)
        except (duckdb.Error, QueryError, StoreError, MemoryError) as error:
            # An interrupted cursor says only that it was interrupted.
            if question.stopped is not None:
                raise question.stopped from error
            raise _told(error) from error

    def _watch(self) -> None:
        while True:
            with self._changed:
                if not self._running:
                    self._ceiling.lift()
                self._changed.wait_for(lambda: self._running or self._closed)
                if self._closed and not self._running:
                    return
                running, waiting = list(self._running), self._waiting
            # Looking takes some memory itself; where there is none just now the next look is soon.
            with suppress(MemoryError):
                self._keep_below_ceiling(running)
                self._end_overdue(running, others_wait=waiting > 0)
                self._end_growing(running)
                for question in running:
                    if question.stopped is not None:
                        question.interrupt()
            time.sleep(_TICK_S)

    def _keep_below_ceiling(self, running: list[Question]) -> None:
        limits = self.limits
        most_bytes = limits.process_bytes + limits.runaway_bytes
        if not all(question.is_sql for question in running):
            most_bytes += limits.answers_bytes
        if resident_bytes() > most_bytes:
            self._ceiling.bring_down()
        else:
            self._ceiling.lift()

    def _end_overdue(self, running: list[Question], *, others_wait: bool) -> None:
        now = time.monotonic()
        for question in running:
            ran_s = now - (question.started_at or now)
            if ran_s > question.time_limit_s:
                question.stop(
                    QueryError(f"the query took longer than {question.time_limit_s:g} s and was stopped; ask for less")
                )
            elif others_wait and len(running) == self.limits.running and ran_s > self.limits.turn_s:
                question.stop(BusyError(f"the query was stopped after {ran_s:.0f} s because others wait; ask for less"))

    def _end_growing(self, running: list[Question]) -> None:
        """Where the process or DuckDB has grown too far, stop one of those that it grew under."""
        held = self._held()
        growing = [each for each in running if self._has_grown(each, held)]
        # What SQL held is free a moment after it was stopped; an answer beside it may then go on.
        is_settled = time.monotonic() - self._sql_ended_at > _SETTLE_S and not any(each.stopped for each in running)
        going_on = [each for each in growing if each.stopped is None and (each.is_sql or is_settled)]
        if going_on:
            stopped = likeliest(going_on)
            stopped.stop(QueryError(_LACKS_MEMORY))
            self._sql_ended_at = time.monotonic() if stopped.is_sql else self._sql_ended_at

    def _has_grown(self, question: Question, held: Held) -> bool:
        """Whether more is held than may be while such a question runs, and much of it came since it began."""
        limits, began_with = self.limits, question.began_with
        process_bytes, duckdb_bytes = limits.process_bytes, limits.duckdb_bytes
        if not question.is_sql:
            process_bytes, duckdb_bytes = (
                process_bytes + limits.answers_bytes,
                duckdb_bytes + limits.answers_duckdb_bytes,
            )
        return held.process_bytes > max(process_bytes, began_with.process_bytes + limits.growth_bytes) or (
            held.duckdb_bytes > max(duckdb_bytes, began_with.duckdb_bytes + limits.growth_bytes)
        )

    def _held(self) -> Held:
        """What is held now; nothing by DuckDB while its file is opened anew."""
        try:
            with closing(self._database().cursor()) as cursor:
                row = cursor.execute(_ROWS_IN_THE_MAKING).fetchone()
        except (duckdb.Error, StoreError, MemoryError):
            row = None
        return Held(resident_bytes(), int(row[0]) if row else 0)


def likeliest(questions: Sequence[Question]) -> Question:
    """Which of several took the memory, as far as can be told: SQL before tracekit's own questions, the last first."""
    return max(questions, key=lambda question: (question.is_sql, question.started_at or 0.0))


def _stopping() -> BusyError:
    return BusyError("the server is stopping; ask when it is back")


def _told(error: duckdb.Error | QueryError | StoreError | MemoryError) -> QueryError | StoreError:
    if isinstance(error, duckdb.OutOfMemoryException | MemoryError):
        return QueryError(_LACKS_MEMORY)
    return QueryError(str(error)) if isinstance(error, duckdb.Error) else error


def _yield_to_others() -> None:
    """Let the threads of whoever receives go first; Linux has priorities of threads."""
    if sys.platform == "linux":
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _POLITENESS)
