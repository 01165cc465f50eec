"""What was not stored as it came: marked record by record, reported by document and reason."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from tracekit.otlp.wire.fields import NAMES, json_name
from tracekit.records import ADVICE, REJECTS, Reason

Kind = Literal["rejected", "note"]


def example(reason: Reason, code: int) -> str:
    """A sentence for people: the field, if one is at fault, and what to do."""
    if code == 0:
        return ADVICE[reason]
    return f"{NAMES[code].split('.')[0]} field {json_name(code)}: {ADVICE[reason]}"


@dataclass(frozen=True)
class Verdict:
    """Which rows of a record type cannot be stored, and why. The first fault found of a row counts."""

    reason: np.ndarray
    """`[row]`: number of the reason, 0 for a row that is fine."""
    code: np.ndarray
    """`[row]`: the field at fault, 0 if it is no single field."""
    position: np.ndarray
    """`[row]`: byte of the buffer to report."""

    @classmethod
    def of(cls, positions: np.ndarray) -> Verdict:
        """Nothing against any row; `positions` are the rows' first bytes in the buffer."""
        count = len(positions)
        return cls(np.zeros(count, np.uint8), np.zeros(count, np.int16), positions.astype(np.int64))

    def reject(self, where: np.ndarray, reason: Reason, code: int = 0) -> None:
        """Rejects the rows (a mask or row numbers) that are still fine."""
        rows = np.flatnonzero(where) if where.dtype == np.bool_ else where
        if len(rows) == 0:
            return
        rows = rows[self.reason[rows] == 0]
        self.reason[rows] = reason
        self.code[rows] = code

    def inherit(self, outer: Verdict, parents: np.ndarray) -> None:
        """Rejects the rows whose parent row is rejected in `outer`, for the same reason."""
        rows = np.flatnonzero((self.reason == 0) & (outer.reason[parents] != 0))
        self.reason[rows] = outer.reason[parents[rows]]
        self.code[rows] = outer.code[parents[rows]]

    @property
    def is_kept(self) -> np.ndarray:
        """`[row]`: whether the row is stored."""
        return self.reason == 0


@dataclass
class RejectLog:
    """Collects what a call set aside; `table` is the report."""

    bounds: np.ndarray
    """First byte of each document in the buffer, and the end of the last."""
    offsets: np.ndarray
    """Byte offset of each document in its source."""
    is_frame: np.ndarray
    """Whether a document's bytes are not those of its source, so that only its own offset can be told."""
    rows: list[tuple[object, ...]] = field(default_factory=list)

    def add(
        self, signal: str | None, reason: Reason, *, kind: Kind, documents: np.ndarray, positions: np.ndarray,
        codes: np.ndarray | None = None, counts: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        """Notes findings of one reason: the document, the byte in the buffer, the field and the number of
        each.
        """
        if len(documents) == 0:
            return
        rows, first, inverse = np.unique(documents, return_index=True, return_inverse=True)
        weights = np.ones(len(documents), np.int64) if counts is None else counts.astype(np.int64)
        totals = np.zeros(len(rows), np.int64)
        np.add.at(totals, inverse, weights)
        for document, place, total in zip(rows, first, totals, strict=True):
            code = 0 if codes is None else int(codes[place])
            offset = self.source_offset(int(document), int(positions[place]))
            self.rows.append((signal, kind, reason.word, int(total), int(document), offset, example(reason, code)))

    def add_verdict(self, signal: str, verdict: Verdict, documents: np.ndarray) -> None:
        """Notes the rejected rows of a record type; `documents` is per row."""
        for number in np.unique(verdict.reason[verdict.reason > 0]):
            rows = np.flatnonzero(verdict.reason == number)
            self.add(
                signal, Reason(number), kind="rejected", documents=documents[rows],
                positions=verdict.position[rows], codes=verdict.code[rows],
            )  # fmt: skip

    def source_offset(self, document: int, position: int) -> int:
        """Byte offset in the document's source of a byte of the buffer."""
        inside = 0 if self.is_frame[document] else position - int(self.bounds[document])
        return int(self.offsets[document]) + inside

    def table(self) -> pa.Table:
        """The report, ordered by document."""
        ordered = sorted(self.rows, key=lambda row: (row[4], row[1], row[2], row[0] or ""))
        return pa.table([list(column) for column in zip(*ordered, strict=True)] or [[]] * len(REJECTS), schema=REJECTS)
