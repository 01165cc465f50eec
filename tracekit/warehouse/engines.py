"""Where the tasks of a build run: processes of this machine, or a cluster."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import connection
from typing import Protocol, Self, TypeVar

from tracekit.errors import StoreError

Task = TypeVar("Task")
Result = TypeVar("Result")
_ATTEMPTS = 3


class Engine(Protocol):
    """Runs functions of this package on tasks; both and the results can be pickled."""

    @property
    def worker_count(self) -> int:
        """Tasks that run at once."""
        ...

    @property
    def thread_count(self) -> int:
        """Processors that a task may use."""
        ...

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], *, done: Callable[[int], None] | None = None
    ) -> list[Result]:
        """The result of each task, in order; `done` is called with the place of each that ends.

        A task whose process is killed runs again. An error of a task is raised here.
        """
        ...

    def __enter__(self) -> Self:
        """The engine, which ends with the block."""
        ...

    def __exit__(self, *error: object) -> None: ...


class LocalEngine:
    """Processes of this machine, as many as there are processors to use; use it as a context manager, or `close()` it.

    They start with the first tasks, and stay for those that follow.
    """

    def __init__(self, worker_count: int | None = None) -> None:
        self._processors = len(os.sched_getaffinity(0))
        self._worker_count = worker_count or self._processors
        self._pool: ProcessPoolExecutor | None = None

    @property
    def worker_count(self) -> int:
        """Processes at once."""
        return self._worker_count

    @property
    def thread_count(self) -> int:
        """Processors for each of them."""
        return max(1, self._processors // self._worker_count)

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], *, done: Callable[[int], None] | None = None
    ) -> list[Result]:
        """See `Engine.run`. One task alone runs in this process."""
        results: dict[int, Result] = {}
        if len(tasks) == 1 or self._worker_count == 1:
            for place, task in enumerate(tasks):
                results[place] = work(task)
                _tell(done, place)
            return list(results.values())
        for _ in range(_ATTEMPTS):
            if len(results) < len(tasks):
                self._run_missing(work, tasks, results, done)
        if len(results) < len(tasks):
            raise StoreError(
                f"worker processes were ended from outside {_ATTEMPTS} times, perhaps for lack of memory; "
                "nothing was changed, build again with more --partitions"
            )
        return [results[place] for place in range(len(tasks))]

    def _run_missing(
        self,
        work: Callable[[Task], Result],
        tasks: Sequence[Task],
        results: dict[int, Result],
        done: Callable[[int], None] | None,
    ) -> None:
        """Run the tasks that have no result yet, as far as no process is killed."""
        missing = [place for place in range(len(tasks)) if place not in results]
        pool = self._started()
        try:
            places: dict[Future[Result], int] = {pool.submit(work, tasks[place]): place for place in missing}
            for future in as_completed(places):
                results[places[future]] = future.result()
                _tell(done, places[future])
        except BrokenProcessPool:
            self.close()

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self._worker_count, mp_context=context, initializer=_end_with_parent)
        return self._pool

    def close(self) -> None:
        """End the processes; tasks that have not begun are dropped."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _tell(done: Callable[[int], None] | None, place: int) -> None:
    if done is not None:
        done(place)


def _end_with_parent() -> None:
    """Let this worker end when the process that started it is gone, also where that was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_wait_for, args=(parent.sentinel,), daemon=True).start()


def _wait_for(sentinel: int) -> None:
    connection.wait([sentinel])
    os._exit(1)
