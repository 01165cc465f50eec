"""Data that the schema refuses costs itself only: the request is found that holds it, then the record."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tracekit.errors import StoreError
from tracekit.records import RECORD_TABLES, SIGNALS, Batch, Reason, selected
from tracekit.store.columns import numbers
from tracekit.store.connection import is_refusal
from tracekit.store.writing import Reject, WriteCounts

# Each refusal is a transaction that is rolled back. A document that has had so many is not searched further.
_MOST_REFUSALS = 40
_SEVERAL = -1
_SIGNAL_OF = dict(zip(RECORD_TABLES, (0, 1, 1, 1, 2), strict=True))


@dataclass(frozen=True)
class _Records:
    """Some records of a batch, ascending by document: the table, row and document of each."""

    tables: NDArray[np.int8]
    rows: NDArray[np.int64]
    documents: NDArray[np.int64]

    @classmethod
    def of(cls, batch: Batch) -> _Records:
        counts = [getattr(batch, name).num_rows for name in RECORD_TABLES]
        documents = np.concatenate([_documents(batch, name) for name in RECORD_TABLES])
        tables = np.repeat(np.arange(len(counts), dtype=np.int8), counts)
        return cls(tables, np.concatenate([np.arange(count) for count in counts]), documents)._at(
            np.argsort(documents, kind="stable")
        )

    def batch(self, whole: Batch) -> Batch:
        rows = {name: np.sort(self.rows[self.tables == place]) for place, name in enumerate(RECORD_TABLES)}
        return selected(whole, rows)

    @property
    def is_of_one_document(self) -> bool:
        return bool(self.documents[0] == self.documents[-1])

    def halves(self) -> tuple[_Records, _Records]:
        """Two parts, cut between documents where there are several."""
        middle = self.rows.size // 2
        if not self.is_of_one_document:
            middle = int(np.searchsorted(self.documents, self.documents[middle], side="left"))
            middle = middle or int(np.searchsorted(self.documents, self.documents[0], side="right"))
        return self._at(slice(middle)), self._at(slice(middle, None))

    def _at(self, places: slice | NDArray[np.intp]) -> _Records:
        return _Records(self.tables[places], self.rows[places], self.documents[places])


@dataclass(frozen=True, slots=True)
class Isolated:
    """What became of a batch that was refused as a whole."""

    counts: WriteCounts
    """Of what was stored; `rejects` are the conflicts."""
    refused: list[Reject]
    """What the schema refuses, by document and signal."""


def isolate(batch: Batch, write: Callable[[Batch], WriteCounts]) -> Isolated:
    """Store what the schema takes of a batch; `write` stores a batch in a transaction of its own.

    Raises `StoreError` only where the store itself cannot be written.
    """
    counts, refused, refusals = WriteCounts(), [], Counter[int]()
    waiting = [_Records.of(batch)]
    while waiting:
        records = waiting.pop()
        try:
            counts = _sum(counts, write(records.batch(batch)))
        except StoreError as error:
            if not is_refusal(error):
                raise
            document = int(records.documents[0]) if records.is_of_one_document else _SEVERAL
            refusals[document] += 1
            if records.rows.size == 1 or (document != _SEVERAL and refusals[document] > _MOST_REFUSALS):
                refused += _refused(records, str(error.__cause__))
            else:
                waiting += reversed(records.halves())
    return Isolated(counts, refused)


def _sum(left: WriteCounts, right: WriteCounts) -> WriteCounts:
    return WriteCounts(
        spans=left.spans + right.spans,
        metric_points=left.metric_points + right.metric_points,
        logs=left.logs + right.logs,
        duplicates=left.duplicates + right.duplicates,
        rejects=(*left.rejects, *right.rejects),
    )


def _documents(batch: Batch, name: str) -> NDArray[np.int64]:
    """The document of each row of a table of records."""
    table = getattr(batch, name)
    if "document_row" in table.column_names:
        return numbers(table["document_row"]).astype(np.int64)
    of_stream = numbers(batch.metric_streams["document_row"]).astype(np.int64)
    return of_stream[numbers(table["stream_row"]).astype(np.int64)]


def _refused(records: _Records, message: str) -> list[Reject]:
    """A reject for each signal of refused records, all of one document."""
    signals = np.array([_SIGNAL_OF[name] for name in RECORD_TABLES])[records.tables]
    return [
        Reject(
            kind="rejected",
            signal=SIGNALS[int(signal)],
            reason=Reason.REFUSED_BY_STORE.word,
            record_count=int(np.count_nonzero(signals == signal)),
            first_offset=None,
            example=f"the store does not take the record: {message.partition(chr(10))[0]}",
            document_row=int(records.documents[0]),
        )
        for signal in np.unique(signals)
    ]
