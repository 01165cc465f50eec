"""What is to be different in a replay, as people write it: `without=rank:21`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from tracekit.errors import UsageError

Kind = Literal["rank", "host", "operation", "stragglers", "imbalance"]

EXAMPLES = (
    "without=rank:21, without=rank:4,5, without=host:node-3, without=operation:data_load, without=stragglers or "
    "without=imbalance"
)

_OF_ALL = ("stragglers", "imbalance")


@dataclass(frozen=True)
class Change:
    """One change.

    Ranks and hosts become as fast as their peers, operations take no time; of all ranks that straggle, or of all
    pipeline stages, each becomes as the median one.
    """

    kind: Kind
    names: tuple[str, ...] = ()

    @classmethod
    def parsed(cls, text: str) -> Change:
        """The change that a text such as `without=rank:21` means. Raises `UsageError`."""
        verb, _, what = text.strip().partition("=")
        kind, _, names = what.partition(":")
        listed = tuple(name.strip() for name in names.split(",") if name.strip())
        if verb != "without" or kind not in ("rank", "host", "operation", *_OF_ALL):
            raise UsageError(
                f"{text!r} is no change that can be replayed: write {EXAMPLES}", option="without", value=text
            )
        if (kind in _OF_ALL) == bool(names) or (kind == "rank" and not all(name.isdigit() for name in listed)):
            raise UsageError(f"{text!r} does not say which {kind}: write {EXAMPLES}", option="without", value=text)
        return cls(kind, listed)  # type: ignore[arg-type]

    @property
    def text(self) -> str:
        """The change as it is written."""
        return f"without={self.kind}" + (f":{','.join(self.names)}" if self.names else "")

    @property
    def words(self) -> str:
        """The change in a sentence: "without rank 21"."""
        if self.kind == "stragglers":
            return "with every rank as fast as its peers"
        if self.kind == "imbalance":
            return "with every pipeline stage as long as the median one"
        plural = "s" if len(self.names) > 1 else ""
        return f"without {self.kind}{plural} {', '.join(self.names)}"

    def chosen(self, operations: pl.DataFrame) -> pl.Series:
        """Which operations change by themselves. Raises `UsageError` where none does."""
        if self.kind in _OF_ALL:
            return pl.Series([True] * len(operations), dtype=pl.Boolean)
        values = operations[self.kind]
        there = values.unique().drop_nulls()
        names = there.cast(pl.String)
        unknown = sorted(set(self.names) - set(names))
        if unknown:
            known = ", ".join(names.sort()[:10])
            raise UsageError(
                f"no step has an operation of {self.kind} {', '.join(unknown)}; there are {known}", option="without"
            )
        return values.is_in(there.filter(names.is_in(self.names)).implode()).fill_null(value=False)
