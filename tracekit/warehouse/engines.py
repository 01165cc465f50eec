"""Where the tasks of a build run: processes of this machine, or a cluster."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import connection
from typing import Protocol, TypeVar

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

    def run(
        self, work: Callable[[Task], Result], tasks: Sequence[Task], *, done: Callable[[int], None] | None = None
    ) -> list[Result]:
        """The result of each task, in order; `done` is called with the place of each that ends.

        A task whose process is killed runs again. An error of a task is raised here.
        """
        ...


class LocalEngine:
    """Processes of this machine, as many as there are processors to use."""

    def __init__(self, worker_count: int | None = None) -> None:
        self._worker_count = worker_count or len(os.sched_getaffinity(0))

    @property
    def worker_count(self) -> int:
        """Processes at once."""
        return self._worker_count

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
            with suppress(BrokenProcessPool):
                self._run_missing(work, tasks, results, done)
            if len(results) == len(tasks):
                return [results[place] for place in range(len(tasks))]
        raise StoreError(
            f"worker processes were ended from outside {_ATTEMPTS} times, perhaps for lack of memory; "
            "nothing was changed, build again with more --partitions"
        )

    def _run_missing(
        self,
        work: Callable[[Task], Result],
        tasks: Sequence[Task],
        results: dict[int, Result],
        done: Callable[[int], None] | None,
    ) -> None:
        missing = [place for place in range(len(tasks)) if place not in results]
        context = multiprocessing.get_context("spawn")
        workers = min(self._worker_count, len(missing))
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool:
            places: dict[Future[Result], int] = {pool.submit(work, tasks[place]): place for place in missing}
            for future in as_completed(places):
                results[places[future]] = future.result()
                _tell(done, places[future])


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
