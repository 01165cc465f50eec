"""Numbers that the store gave before, by what they were given to: asking it for each batch costs much more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Content: TypeAlias = tuple[Any, ...]

_LIMIT = 1 << 16


class KnownNumbers:
    """The numbers of resources, scopes and series, by kind and by their content as the decoder gives it.

    What comes in another order of attributes is other content with the same number. Numbers that are given
    inside a transaction count as known when it has been committed: an aborted one gives them back to the
    store. Beyond `limit` contents all are forgotten and learned anew. One thread at a time may use it.
    """

    def __init__(self, *, limit: int = _LIMIT) -> None:
        self._limit = limit
        self._committed: dict[Content, int] = {}
        self._new: dict[Content, int] = {}

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """The numbers noted inside the block are known afterwards, unless it raises."""
        self._new = {}
        try:
            yield
            self._keep()
        finally:
            self._new = {}

    def find(self, kind: str, contents: list[Content]) -> list[int] | None:
        """The number of each content; None where one of them is not known."""
        found = [self._number((kind, *content)) for content in contents]
        return None if None in found else [number for number in found if number is not None]

    def note(self, kind: str, contents: list[Content], numbers: list[int]) -> None:
        """Note numbers that the transaction found or gave."""
        self._new |= {(kind, *content): number for content, number in zip(contents, numbers, strict=True)}

    def _number(self, key: Content) -> int | None:
        return self._committed.get(key) or self._new.get(key)

    def _keep(self) -> None:
        if len(self._committed) + len(self._new) > self._limit:
            self._committed = {}
        self._committed |= dict(list(self._new.items())[: self._limit])
