"""What the flattening of every signal shares: the rows of events, the bytes behind them, and what is set
aside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pyarrow as pa

from tracekit.otlp.rejects import RejectLog, Verdict
from tracekit.otlp.tables import columns
from tracekit.otlp.tables.attributes import Source
from tracekit.otlp.tables.json_columns import JsonColumn, attribute_column, body_column
from tracekit.otlp.tables.rows import Rows
from tracekit.otlp.wire.fields import CODE
from tracekit.records import Reason


@dataclass(frozen=True)
class Reading:
    """Events in rows, ready to become tables."""

    source: Source
    rows: Rows
    log: RejectLog
    entry_count: int
    faults: np.ndarray
    """Events of the faults that the walker noted inside records."""

    def verdict(self, record: str, *, outside: Iterable[str] = ()) -> Verdict:
        """A verdict over a record type that holds the walker's faults in each record, but none inside
        others.
        """
        verdict = self.open_verdict(record)
        if len(self.faults) == 0:
            return verdict
        faults, rows = self._faults_inside(self.rows.entries(record), self.loose_faults(outside))
        faults, rows = (
            faults[::-1],
            rows[::-1],
        )  # where a row has several, the first is assigned last and stays
        verdict.reason[rows] = self.source.events["aux"][faults] >> 16
        verdict.code[rows] = self.source.events["aux"][faults] & 0xFFFF
        verdict.position[rows] = self.source.events["value"][faults]
        return verdict

    def open_verdict(self, record: str) -> Verdict:
        """A verdict over a record type that holds nothing yet."""
        return Verdict.of(self.source.events["value"][self.rows.entries(record)])

    def _faults_inside(self, entries: np.ndarray, faults: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The faults inside the records at sorted events, and the row of each."""
        rows = np.searchsorted(entries, faults, side="right") - 1
        inside = rows >= 0
        inside[inside] = faults[inside] < self.source.events["aux"][entries[rows[inside]]]
        return faults[inside], rows[inside]

    def loose_faults(self, records: Iterable[str]) -> np.ndarray:
        """Events of the faults that lie in none of the records of these types."""
        loose = self.faults
        for record in records if len(loose) else ():
            loose = np.setdiff1d(loose, self._faults_inside(self.rows.entries(record), loose)[0])
        return loose

    def text(self, field: str, verdict: Verdict, *, is_valid: np.ndarray | None = None) -> pa.ChunkedArray:
        """A string field as a column; rows whose text is not UTF-8 are rejected."""
        column, invalid = columns.strings(
            self.source.buffer, self.rows.number(field), self.rows.size(field), is_valid=is_valid
        )
        verdict.reject(invalid, Reason.INVALID_UTF8, CODE[field])
        return column

    def attributes(self, field: str, verdict: Verdict) -> tuple[pa.ChunkedArray, np.ndarray]:
        """An attribute list as a column of JSON, and per row the number of keys that came again."""
        found = self.attribute_column(field, verdict)
        return found.column, found.repeated

    def attribute_column(self, field: str, verdict: Verdict, *, groups: np.ndarray | None = None) -> JsonColumn:
        """An attribute list as a column of JSON, with the keys that rows of each group have."""
        found = attribute_column(self.source, self.rows.entries(field.split(".")[0]), field, groups=groups)
        verdict.reject(found.invalid, Reason.INVALID_UTF8, CODE[field])
        verdict.reject(found.too_large, Reason.TOO_LARGE, CODE[field])
        return found

    def body(self, field: str, verdict: Verdict) -> tuple[pa.ChunkedArray, np.ndarray]:
        """A value of any type as a column of JSON, and per row the number of keys that came again."""
        found = body_column(self.source, self.rows.entries(field.split(".")[0]), field)
        verdict.reject(found.invalid, Reason.INVALID_UTF8, CODE[field])
        verdict.reject(found.too_large, Reason.TOO_LARGE, CODE[field])
        return found.column, found.repeated

    def small(self, field: str, kind: pa.DataType, verdict: Verdict, *, is_valid: np.ndarray | None = None) -> pa.Array:
        """An integer field in a narrower column; rows that do not fit are rejected."""
        values = self.rows.number(field)
        limits = np.iinfo(kind.to_pandas_dtype())
        verdict.reject((values < limits.min) | (values > limits.max), Reason.NUMBER_OUT_OF_RANGE, CODE[field])
        return columns.cast_numbers(values, kind, is_valid=is_valid)

    def time(self, field: str, verdict: Verdict, *, needed: bool) -> np.ndarray:
        """A time in nanoseconds; rows beyond 63 bits are rejected and, where the time is needed, rows with
        0.
        """
        values = self.rows.number(field)
        verdict.reject(values < 0, Reason.TIME_OUT_OF_RANGE, CODE[field])
        if needed:
            verdict.reject(values == 0, Reason.TIME_ZERO, CODE[field])
        return values

    def repeated(self, field: str) -> tuple[np.ndarray, np.ndarray]:
        """Events of a repeated number or string, and `offsets[row]` into them of the record's rows."""
        events = self.source.events[: self.entry_count]
        entries = np.flatnonzero(events["code"] == CODE[field])
        counts = np.bincount(events["parent"][entries], minlength=self.rows.length(field.split(".")[0]))
        return entries, np.concatenate([[0], np.cumsum(counts)])

    def text_lists(self, field: str) -> list[list[str]]:
        """A repeated string field, row by row, as Python lists; for rare fields only."""
        entries, offsets = self.repeated(field)
        events = self.source.events
        found, _ = columns.strings(self.source.buffer, events["value"][entries], events["aux"][entries])
        texts = found.to_pylist()
        return [texts[start:end] for start, end in pairwise(offsets)]

    def ids(self, field: str, *, size_bytes: int) -> np.ndarray:
        """The ids as `[row, word]`, zero where absent or of another size."""
        return columns.id_words(
            self.source.buffer, self.rows.number(field), self.rows.size(field), size_bytes=size_bytes
        )

    def has_wrong_size(self, field: str, *, size_bytes: int) -> np.ndarray:
        """Rows whose id is neither empty nor of the right size."""
        size = self.rows.size(field)
        return (size > 0) & (size != size_bytes)

    def note_wrong_size(
        self, signal: str, field: str, reason: Reason, verdict: Verdict, documents: np.ndarray, *, size_bytes: int = 8
    ) -> None:
        """Notes the ids of kept records that are no ids and were left out; `documents` is per row."""
        rows = np.flatnonzero(self.has_wrong_size(field, size_bytes=size_bytes) & verdict.is_kept)
        self.log.add(
            signal, reason, kind="note", documents=documents[rows], positions=verdict.position[rows],
            codes=np.full(len(rows), CODE[field]),
        )  # fmt: skip

    def note_repeated(self, signal: str, field: str, repeated: np.ndarray, documents: np.ndarray) -> None:
        """Notes the attributes that were set aside because their key came again; all arrays are per row."""
        rows = np.flatnonzero(repeated)
        if len(rows) == 0:
            return
        entries = self.rows.entries(field.split(".")[0])[rows]
        self.log.add(
            signal,
            Reason.DUPLICATE_ATTRIBUTE_KEY,
            kind="note",
            documents=documents[rows],
            positions=self.source.events["value"][entries],
            codes=np.full(len(rows), CODE[field]),
            counts=repeated[rows],
        )


def kept_rows(table: pa.Table, is_kept: np.ndarray) -> pa.Table:
    """The rows that are kept; the same table if all are."""
    return table if is_kept.all() else table.filter(pa.array(is_kept))


def reject_parents(
    parents_verdict: Verdict, verdict: Verdict, parents: np.ndarray, *, rows: np.ndarray | None = None
) -> None:
    """Rejects the records that hold a rejected row (of `rows`, if given): a record is stored whole or not
    at all.
    """
    rejected = np.flatnonzero(verdict.reason) if rows is None else rows[verdict.reason[rows] > 0]
    pairs = verdict.reason[rejected].astype(np.int64) << 16 | verdict.code[rejected]
    for pair in np.unique(pairs):
        parents_verdict.reject(parents[rejected[pairs == pair]], Reason(int(pair >> 16)), int(pair & 0xFFFF))
