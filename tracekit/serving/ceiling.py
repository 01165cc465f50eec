"""The last resort against a question that takes memory faster than it can be stopped.

DuckDB looks whether to stop between vectors of rows, and what an expression makes of one vector counts in no limit of
its own: `hex(hex(...))` of a long text, or many texts put together, may take all memory of the machine before the next
look. So where the process has grown beyond a bound while questions run, the system is told to map little more for it.
The next large block is then refused, to whoever is asking for one again and again, which fails with an error and frees
what it held.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from pathlib import Path

_STATM = Path("/proc/self/statm")
_SLACK_BYTES = 192 << 20
"""What may still be mapped: others take small blocks, and theirs were mostly mapped before."""


class Ceiling:
    """A limit of what this process maps, which can be set just above what it has and lifted again.

    Linux only: elsewhere, and where `/proc` is not there, nothing happens.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int] | None = None

    @property
    def is_down(self) -> bool:
        """Whether it is set now."""
        return self._before is not None

    def bring_down(self) -> None:
        """Let the process map little more than it has now; again, where it has less by now, less."""
        with suppress(OSError, ValueError):
            soft, hard = resource.getrlimit(resource.RLIMIT_AS)
            most = int(_STATM.read_text(encoding="ascii").split()[0]) * resource.getpagesize() + _SLACK_BYTES
            if soft == resource.RLIM_INFINITY or most < soft:
                resource.setrlimit(resource.RLIMIT_AS, (most, hard))
            self._before = self._before or (soft, hard)

    def lift(self) -> None:
        """Let the process map what it could before."""
        if self._before is not None:
            resource.setrlimit(resource.RLIMIT_AS, self._before)
            self._before = None
