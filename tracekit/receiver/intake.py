"""What both transports share: admission, the queue, and how long a sender may take."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from tracekit.receiver.access import Access
from tracekit.receiver.budget import Budget
from tracekit.receiver.committer import Committer
from tracekit.receiver.counters import Counters
from tracekit.receiver.export import Export
from tracekit.receiver.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Intake:
    """The way of a request into the store, whichever transport it comes by."""

    access: Access
    budget: Budget
    committer: Committer
    counters: Counters
    max_request_bytes: int
    """Largest body after decompression."""
    body_timeout_s: float
    """Longest time that a body may take to arrive."""

    async def stored(self, export: Export) -> Outcome:
        """The answer to a request, once it is durable or refused."""
        self.committer.submit(export)
        return await asyncio.wrap_future(export.answer)
