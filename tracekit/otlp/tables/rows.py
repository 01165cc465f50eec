"""Events to one row per record: each scalar field of a record type becomes an array over its rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tracekit.kernels import index, outlined
from tracekit.otlp.wire.fields import CODE, NAMES, PLAN, RECORDS, Plan

_LISTS = {"KeyValue", "AnyValue"}
_IS_LIST = np.isin(PLAN.fields["record"], [RECORDS.index(name) for name in _LISTS])
_IS_COLUMN = (PLAN.fields["record"] < 0) & ~(PLAN.fields["repeated"] & (PLAN.fields["child"] < 0))
_COLUMNS: dict[int, list[int]] = {
    number: [code for code, path in enumerate(NAMES) if path.split(".")[0] == name and _IS_COLUMN[code]]
    for number, name in enumerate(RECORDS)
    if name not in _LISTS
}


@dataclass(frozen=True)
class Rows:
    """The records by type; fields are asked for by their names in `fields.CODE`."""

    count: np.ndarray
    """`[record type]`: number of rows."""
    entry: np.ndarray
    parent: np.ndarray
    code: np.ndarray
    first: np.ndarray
    """`[record type]`: where its rows begin in the three arrays above."""
    values: np.ndarray
    sizes: np.ndarray
    base: np.ndarray
    """`[code]`: where the field's column begins in the two arrays above, -1 if it has none."""

    def number(self, field: str) -> np.ndarray:
        """The field's numbers as int64 (0 where absent), or the first bytes of its slices."""
        return self.values[self._span(field)]

    def size(self, field: str) -> np.ndarray:
        """The sizes in bytes of the field's slices; -1 where the field is absent."""
        return self.sizes[self._span(field)]

    def is_set(self, field: str) -> np.ndarray:
        """Whether the field is there."""
        return self.size(field) >= 0

    def entries(self, record: str) -> np.ndarray:
        """Event of each row of a record type."""
        return self.entry[self._rows(record)]

    def parents(self, record: str) -> np.ndarray:
        """Row of the record around each row."""
        return self.parent[self._rows(record)]

    def codes(self, record: str) -> np.ndarray:
        """The field by which the record around holds each row."""
        return self.code[self._rows(record)]

    def length(self, record: str) -> int:
        """Number of rows of a record type."""
        return int(self.count[RECORDS.index(record)])

    def _span(self, field: str) -> slice:
        base = self.base[CODE[field]]
        return slice(base, base + self.length(field.split(".")[0]))

    def _rows(self, record: str) -> slice:
        first = self.first[RECORDS.index(record)]
        return slice(first, first + self.length(record))


def pivot(events: np.ndarray, entry_count: int, row_counts: np.ndarray) -> Rows:
    """Sorts the first `entry_count` entries into rows; `row_counts` is per record type."""
    count = row_counts.copy()
    count[[RECORDS.index(name) for name in _LISTS]] = 0
    first = np.concatenate([[0], np.cumsum(count)])
    base = np.full(len(NAMES), -1, np.int64)
    cell_count = 0
    for number, codes in _COLUMNS.items():
        base[codes] = cell_count + np.arange(len(codes)) * count[number]
        cell_count += len(codes) * int(count[number])
    rows = Rows(
        count=count,
        first=first[:-1],
        base=base,
        entry=np.empty(first[-1], np.int64),
        parent=np.empty(first[-1], np.int32),
        code=np.empty(first[-1], np.int16),
        values=np.zeros(cell_count, np.int64),
        sizes=np.full(cell_count, -1, np.int32),
    )
    next_row = rows.first.copy()
    _fill(
        PLAN,
        events,
        entry_count,
        _IS_LIST,
        next_row,
        base,
        rows.entry,
        rows.parent,
        rows.code,
        rows.values,
        rows.sizes,
    )
    return rows


@outlined
def _fill(
    plan: Plan,
    events: np.ndarray,
    entry_count: int,
    is_list: np.ndarray,
    next_row: np.ndarray,
    base: np.ndarray,
    entries: np.ndarray,
    parents: np.ndarray,
    codes: np.ndarray,
    values: np.ndarray,
    sizes: np.ndarray,
) -> None:
    entry = 0
    while entry < entry_count:
        code = events[index(entry)].code
        if is_list[index(code)]:
            entry = events[index(entry)].aux
            continue
        record = plan.fields[index(code)].record
        if record >= 0:
            row = next_row[index(record)]
            next_row[index(record)] = row + 1
            entries[index(row)], parents[index(row)], codes[index(row)] = (
                entry,
                events[index(entry)].parent,
                code,
            )
        elif base[index(code)] >= 0:
            cell = base[index(code)] + events[index(entry)].parent
            values[index(cell)], sizes[index(cell)] = events[index(entry)].value, events[index(entry)].aux
        entry += 1
