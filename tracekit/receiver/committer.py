"""Group commit: everything that waits is written in one transaction, then all of it is answered."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from tracekit.receiver.counters import Counters
from tracekit.receiver.export import Export
from tracekit.receiver.faults import Fault, fault_of, is_unusable_after
from tracekit.receiver.groups import ReadGroup, joined, read_group, write_group
from tracekit.receiver.held_store import HeldStore
from tracekit.receiver.outcome import Outcome, Refusal, Refused, refused_for_now
from tracekit.receiver.setting_aside import set_aside
from tracekit.receiver.waiting import Taken, WaitingRequests

_log = logging.getLogger(__name__)

_IDLE_S = 1.0
# A question that took the memory has ended by then.
_TRIES = 4


class Committer:
    """Takes export requests from any thread and answers each when it is durable.

    One thread decodes what comes while another writes what came before. A commit takes all that has been decoded by
    then, about `group_bytes` at most, so that commits grow with the load and one request alone does not wait.
    """

    def __init__(
        self,
        store: HeldStore,
        counters: Counters,
        *,
        group_bytes: int,
        after_commit: Callable[[], None] = lambda: None,
        written: Callable[[int, float], None] = lambda size_bytes, seconds: None,
        free_memory: Callable[[], object] = lambda: None,
    ) -> None:
        self._store = store
        self._counters = counters
        self._observe_written = written
        self._after_commit = after_commit
        self._free_memory = free_memory
        self._waiting = WaitingRequests(group_bytes=group_bytes)
        self._reader = threading.Thread(target=self._read, name="tracekit-reader", daemon=True)
        self._writer = threading.Thread(target=self._write, name="tracekit-committer", daemon=True)

    def start(self) -> None:
        """Start the threads that read and write."""
        self._reader.start()
        self._writer.start()

    def submit(self, export: Export) -> None:
        """Queue a request; its `answer` is set when the data is durable, or refused."""
        if not self._store.is_usable or not self._waiting.add(export):
            self._answer([export], [self._not_now()])

    def close(self) -> None:
        """Refuse what comes from now on, write what waits, and stop."""
        self._waiting.close()
        self._reader.join()
        self._writer.join()

    def _not_now(self) -> Refused:
        is_closing = self._waiting.is_closed
        why = "the server is stopping" if is_closing else f"the store cannot be written: {self._store.fault}"
        return refused_for_now(Refusal.UNAVAILABLE, f"{why}; send again later")

    def _read(self) -> None:
        while (group := self._waiting.next_group()) is not None:
            taken_at_s = time.perf_counter()
            self._waiting.add_read(Taken(group, _read_if_possible(group), taken_at_s))

    def _write(self) -> None:
        while (taken := self._waiting.take_read(timeout_s=_IDLE_S)) is not None:
            if taken:
                self._commit(_together(taken))
            self._recover()

    def _commit(self, taken: Taken) -> None:
        started = time.perf_counter()
        outcomes: Sequence[Outcome]
        try:
            outcomes = self._written(taken.exports, taken.read)
        except Exception:
            # Whatever happens, everybody gets an answer, and this thread goes on.
            _log.exception("a group of %d requests could not be handled", len(taken.exports))
            outcomes = [self._not_now()] * len(taken.exports)
        self._counters.observe_commit(time.perf_counter() - taken.taken_at_s)
        self._observe_written(taken.size_bytes, time.perf_counter() - started)
        self._answer(taken.exports, outcomes)
        self._after_commit()

    def _written(self, group: Sequence[Export], read: ReadGroup | None = None) -> Sequence[Outcome]:
        for tries_left in reversed(range(_TRIES)):
            try:
                written = write_group(self._store.database, read or read_group(group))
                self._store.check_in_place()
            except Exception as error:
                fault = fault_of(error)
                if fault is Fault.MEMORY and tries_left:
                    # Whoever asks gives way to what arrives.
                    self._free_memory()
                    if self._is_open_after(error):
                        continue
                if fault is Fault.DATA and self._is_open_after(error):
                    return self._apart(group, error)
                return self._not_stored(group, error)
            self._counters.add_written(written)
            return written.outcomes
        raise AssertionError("the last try has no other way out")

    def _apart(self, group: Sequence[Export], error: Exception) -> Sequence[Outcome]:
        """The answers of a group that cannot be written as one: what one request trips costs only that request."""
        if len(group) > 1:
            half = len(group) // 2
            return [*self._written(group[:half]), *self._written(group[half:])]
        _log.warning("a request of %d bytes is refused by the store", len(group[0].payload), exc_info=error)
        try:
            written = set_aside(self._store.database, group[0], error)
        except Exception as again:
            # Nothing can be written, so it was not the request's fault.
            return self._not_stored(group, again)
        self._counters.add_written(written)
        return written.outcomes

    def _not_stored(self, group: Sequence[Export], error: Exception) -> Sequence[Outcome]:
        _log.error("cannot store what arrives: %s", error)
        self._store.fail(str(error))
        return [self._not_now()] * len(group)

    def _is_open_after(self, error: Exception) -> bool:
        """Whether the store can be used after this error, opened anew where DuckDB wants that."""
        if not is_unusable_after(error):
            return self._store.is_usable
        self._store.fail(str(error))
        return self._store.reopen(at_once=True)

    def _answer(self, group: Sequence[Export], outcomes: Sequence[Outcome]) -> None:
        for export, outcome in zip(group, outcomes, strict=True):
            self._counters.add_answer(export, outcome)
            # A sender that has gone away has cancelled its answer; its data is stored all the same.
            if export.answer.set_running_or_notify_cancel():
                export.answer.set_result(outcome)

    def _recover(self) -> None:
        if not self._store.is_usable:
            self._store.reopen()


def _together(groups: list[Taken]) -> Taken:
    """Groups that are written in one transaction."""
    exports = [export for taken in groups for export in taken.exports]
    read = [taken.read for taken in groups if taken.read is not None]
    is_all_read = len(read) == len(groups)
    return Taken(exports, joined(read) if is_all_read else None, groups[0].taken_at_s)


def _read_if_possible(group: list[Export]) -> ReadGroup | None:
    try:
        return read_group(group)
    except Exception:
        _log.exception("a group of %d requests cannot be decoded together", len(group))
        return None
