"""How far a build is, in bytes of its sources."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracekit.ingest import Source

Progress = Callable[[int, int], None]


class Shares:
    """Half of the bytes of a source are done when it is decoded, the others with the parts."""

    def __init__(self, progress: Progress | None, sources: Sequence[Source]) -> None:
        self._progress = progress
        self._sizes = [source.size_bytes for source in sources]
        self._done = 0.0

    def decoded(self, place: int) -> None:
        """The source at a place is decoded."""
        self._add(self._sizes[place] / 2)

    def of_parts(self, part_count: int) -> Callable[[int], None]:
        """What to call when one of so many parts is built."""
        return lambda _: self._add(sum(self._sizes) / 2 / part_count)

    def _add(self, size: float) -> None:
        self._done += size
        if self._progress is not None:
            self._progress(round(self._done), max(round(self._done), sum(self._sizes)))
