"""Group commit: one thread writes everything that waits in one transaction, then answers all of it."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence

from tracekit.errors import StoreError
from tracekit.receiver.counters import Counters
from tracekit.receiver.export import Export
from tracekit.receiver.groups import write_group
from tracekit.receiver.held_store import HeldStore
from tracekit.receiver.outcome import Outcome, Refusal, Refused, refused_for_now

_log = logging.getLogger(__name__)

_IDLE_S = 1.0


class Committer:
    """Takes export requests from any thread and answers each when it is durable.

    While a transaction runs, requests gather; the next one takes all of them up to `group_bytes`, so that
    commits grow with the load and one request alone does not wait.
    """

    def __init__(
        self,
        store: HeldStore,
        counters: Counters,
        *,
        group_bytes: int,
        after_commit: Callable[[], None] = lambda: None,
    ) -> None:
        self._store = store
        self._counters = counters
        self._group_bytes = group_bytes
        self._after_commit = after_commit
        self._waiting: deque[Export] = deque()
        self._changed = threading.Condition()
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="tracekit-committer", daemon=True)

    def start(self) -> None:
        """Start the thread that writes."""
        self._thread.start()

    def submit(self, export: Export) -> None:
        """Queue a request; its `answer` is set when the data is durable, or refused."""
        with self._changed:
            if not self._is_closing and self._store.is_usable:
                self._waiting.append(export)
                self._changed.notify()
                return
        self._answer([export], [self._not_now()])

    def close(self) -> None:
        """Refuse what comes from now on, write what waits, and stop."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()

    def _not_now(self) -> Refused:
        why = "the server is stopping" if self._is_closing else f"the store cannot be written: {self._store.fault}"
        return refused_for_now(Refusal.UNAVAILABLE, f"{why}; send again later")

    def _run(self) -> None:
        while (group := self._next_group()) is not None:
            if group:
                self._commit(group)
            self._recover()

    def _next_group(self) -> list[Export] | None:
        """Everything that waits, up to the group's bytes; empty after a while without any, None at the
        end."""
        with self._changed:
            if not self._waiting and not self._is_closing:
                self._changed.wait(timeout=_IDLE_S)
            if not self._waiting:
                return None if self._is_closing else []
            group = [self._waiting.popleft()]
            size_bytes = len(group[0].payload)
            while self._waiting and size_bytes + len(self._waiting[0].payload) <= self._group_bytes:
                group.append(self._waiting.popleft())
                size_bytes += len(group[-1].payload)
            return group

    def _commit(self, group: Sequence[Export]) -> None:
        started = time.perf_counter()
        outcomes: Sequence[Outcome]
        try:
            outcomes = self._written(group)
        except Exception:
            # Whatever happens, everybody gets an answer, and this thread goes on.
            _log.exception("a group of %d requests could not be handled", len(group))
            outcomes = [self._not_now()] * len(group)
        self._counters.observe_commit(time.perf_counter() - started)
        self._answer(group, outcomes)
        self._after_commit()

    def _written(self, group: Sequence[Export]) -> Sequence[Outcome]:
        try:
            written = write_group(self._store.database, group)
        except StoreError as error:
            _log.error("cannot store what arrives: %s", error)
            self._store.fail(str(error))
            return [self._not_now()] * len(group)
        except Exception:
            # One request that trips a defect of ours must not take those down that arrived beside it.
            if len(group) > 1:
                return [outcome for export in group for outcome in self._written([export])]
            _log.exception("a request of %d bytes cannot be handled", len(group[0].payload))
            return [Refused(Refusal.INTERNAL, "this request cannot be handled; the server's log says why")]
        self._counters.add_written(written)
        return written.outcomes

    def _answer(self, group: Sequence[Export], outcomes: Sequence[Outcome]) -> None:
        for export, outcome in zip(group, outcomes, strict=True):
            self._counters.add_answer(export, outcome)
            # A sender that has gone away has cancelled its answer; its data is stored all the same.
            if export.answer.set_running_or_notify_cancel():
                export.answer.set_result(outcome)

    def _recover(self) -> None:
        if not self._store.is_usable:
            self._store.reopen()
