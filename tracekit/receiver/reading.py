"""How many gRPC calls may have their message read at once, and which of them has to give way.

A message may be as large as a request can be, and its size is not known before it is there: so few are read at once.
A call that sends nothing must not keep the others from it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tracekit.receiver.outcome import Refusal, RefusedError, refused_for_now

_AT_ONCE = 16
# A message that was sent is here in less; who sends slowly gives way only where all places are taken.
_PATIENCE_S = 0.25


@dataclass(eq=False, slots=True)
class _Place:
    """One call that is being read."""

    task: asyncio.Task[object]
    since: float = field(default_factory=time.monotonic)
    gave_way: bool = False


class ReadingPlaces:
    """Places for calls whose message is being read; belongs to one event loop.

    Who comes last gets the next place first, so that a crowd of calls without a message delays nobody else.
    """

    def __init__(self, at_once: int = _AT_ONCE) -> None:
        self._at_once = at_once
        self._taken: list[_Place] = []
        self._waiting: list[asyncio.Future[None]] = []
        self._clearing: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place inside the block. Raises `RefusedError` (try again later) where the call had to give way."""
        await self._turn()
        task = asyncio.current_task()
        assert task is not None
        mine = _Place(task)
        self._taken.append(mine)
        try:
            yield
        except asyncio.CancelledError:
            if not mine.gave_way:
                raise
            task.uncancel()
            raise RefusedError(
                refused_for_now(Refusal.OVERLOADED, "the message did not come while others waited; send again later")
            ) from None
        finally:
            self._taken.remove(mine)
            self._let_in()

    async def _turn(self) -> None:
        while len(self._taken) >= self._at_once:
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            self._clear_soon()
            try:
                await turn
            finally:
                if turn in self._waiting:
                    self._waiting.remove(turn)

    def _let_in(self) -> None:
        while self._waiting:
            turn = self._waiting.pop()
            if not turn.done():
                turn.set_result(None)
                return

    def _clear_soon(self) -> None:
        if self._clearing is None and self._waiting:
            oldest = min(self._taken, key=lambda place: place.since)
            left_s = max(oldest.since + _PATIENCE_S - time.monotonic(), 0.0)
            self._clearing = asyncio.get_running_loop().call_later(left_s, self._clear)

    def _clear(self) -> None:
        """End as many of the calls that have had a place for long as others wait for one."""
        self._clearing = None
        due_at = time.monotonic() - _PATIENCE_S
        late = sorted((each for each in self._taken if not each.gave_way), key=lambda place: place.since)
        for place in [each for each in late if each.since <= due_at][: len(self._waiting)]:
            place.gave_way = True
            place.task.cancel()
        self._clear_soon()
