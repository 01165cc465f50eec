"""An iterator that runs ahead in a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")

# A thread that waits for a terminal or a pipe cannot be stopped; it ends with the process.
_JOIN_S = 5.0


@dataclass(frozen=True, slots=True)
class _End:
    error: BaseException | None = None


def ahead(items: Iterator[Item]) -> Generator[Item]:
    """The items in order, the next one being made by a thread while the caller uses one.

    Two items exist at a time. An error of the iterator is raised here. Leaving early stops the thread.
    """
    worker = _Worker(items)
    worker.start()
    try:
        while not isinstance(item := worker.finished.get(), _End):
            worker.may_make.release()
            yield item
            # The caller's item must not live on here while the next one is waited for.
            del item
        if item.error is not None:
            raise item.error
    finally:
        worker.is_unwanted.set()
        worker.may_make.release()
        worker.join(_JOIN_S)


class _Worker(threading.Thread, Generic[Item]):
    def __init__(self, items: Iterator[Item]) -> None:
        super().__init__(name="tracekit-ahead", daemon=True)
        self.finished: queue.SimpleQueue[Item | _End] = queue.SimpleQueue()
        self.may_make = threading.Semaphore(1)
        self.is_unwanted = threading.Event()
        self._items = items

    def run(self) -> None:
        try:
            while self._is_wanted():
                self.finished.put(next(self._items))
        except StopIteration:
            self.finished.put(_End())
        except BaseException as error:
            self.finished.put(_End(error))

    def _is_wanted(self) -> bool:
        self.may_make.acquire()
        return not self.is_unwanted.is_set()
