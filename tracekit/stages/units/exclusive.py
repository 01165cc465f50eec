"""Exclusive time of operations and of parts inside them, cut into the windows of their unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tracekit.kernels import kernel
from tracekit.partition import Array, Partition, owned_segments
from tracekit.stages.units.operations import Parts

WINDOWS = 3
"""Windows of a unit at most: to the first token, decode, after the last token."""

NO_PART = -1
"""Value of `Pieces.part` for the time of a span itself."""


@dataclass(frozen=True, eq=False)
class Exclusive:
    """Exclusive nanoseconds by row (or part) and window: `span_ns[row, window]`, `part_ns[part, window]`.

    Time of a part is not in the time of its span. Over the rows and parts of a key each window sums to its
    length.
    """

    span_ns: NDArray[np.int64]
    part_ns: NDArray[np.int64]


class _Layout(NamedTuple):
    """Cuts `[key, 0..3]` between windows; parts of row r are `first_part[r]` up to `first_part[r + 1]`."""

    cut_ns: Array
    first_part: Array
    part_start_ns: Array
    part_end_ns: Array


def exclusive(partition: Partition, parts: Parts, cut_ns: NDArray[np.int64]) -> Exclusive:
    """Exclusive time of every row and part of the primary trees.

    A part has the time of its span that lies in the part's interval and that no child owns. Parts of one
    span follow each other: where two overlap the earlier one has the time. `cut_ns[key, w]` to
    `cut_ns[key, w + 1]` is window `w` of the key.
    """
    layout = _layout(partition, parts, cut_ns)
    result = Exclusive(
        span_ns=np.zeros((partition.row_count, WINDOWS), dtype=np.int64),
        part_ns=np.zeros((len(parts.row), WINDOWS), dtype=np.int64),
    )
    _account(
        partition.key,
        partition.holder,
        partition.is_primary,
        partition.window_start_ns,
        partition.window_end_ns,
        layout,
        result.span_ns,
        result.part_ns,
    )
    return result


@dataclass(frozen=True, eq=False)
class Pieces:
    """Owned segments cut into pieces of one window and one part each, sorted by key and time, none empty.

    Columns, int64: `row` (span, or `<missing>` node), `part` (number of the part, `NO_PART` for the span's
    own time), `window`, `start_ns`, `end_ns`.
    """

    row: NDArray[np.int64]
    part: NDArray[np.int64]
    window: NDArray[np.int64]
    start_ns: NDArray[np.int64]
    end_ns: NDArray[np.int64]


def owned_pieces(partition: Partition, parts: Parts, cut_ns: NDArray[np.int64]) -> Pieces:
    """What `exclusive` counts, as intervals: the pieces of a row, part and window sum to its figure."""
    layout = _layout(partition, parts, cut_ns)
    owned = owned_segments(partition)
    parts_of = np.diff(layout.first_part)[owned.row]
    found = np.empty((5, int(WINDOWS * (2 * parts_of + 1).sum())), dtype=np.int64)
    count = _cut(owned.row, owned.start_ns, owned.end_ns, partition.key, layout, found)
    return Pieces(*found[:, :count])


def _layout(partition: Partition, parts: Parts, cut_ns: NDArray[np.int64]) -> _Layout:
    shift_ns = partition.shift_ns[parts.placed_by]
    layout = _Layout(
        cut_ns=cut_ns,
        first_part=np.searchsorted(parts.row, np.arange(partition.row_count + 1)),
        part_start_ns=_shifted(parts.start_ns, shift_ns),
        part_end_ns=_shifted(parts.end_ns, shift_ns),
    )
    _separate(layout.first_part, layout.part_start_ns, layout.part_end_ns)
    return layout


def _shifted(times_ns: NDArray[np.int64], shift_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    # The open edges of a part stay where they are: adding to them would overflow.
    is_open = (times_ns == np.iinfo(np.int64).min) | (times_ns == np.iinfo(np.int64).max)
    return np.where(is_open, times_ns, times_ns + shift_ns)


@kernel
def _separate(first_part: Array, start_ns: Array, end_ns: Array) -> None:
    for row in range(first_part.shape[0] - 1):
        for part in range(first_part[row] + 1, first_part[row + 1]):
            start_ns[part] = max(start_ns[part], end_ns[part - 1])
            end_ns[part] = max(end_ns[part], start_ns[part])


@kernel
def _account(
    key: Array,
    parent: Array,
    is_primary: Array,
    window_start_ns: Array,
    window_end_ns: Array,
    layout: _Layout,
    span_ns: Array,
    part_ns: Array,
) -> None:
    for row in range(key.shape[0]):
        start_ns, end_ns = window_start_ns[row], window_end_ns[row]
        if not is_primary[row] or end_ns <= start_ns:
            continue
        for window in range(WINDOWS):
            from_ns = max(start_ns, layout.cut_ns[key[row], window])
            to_ns = min(end_ns, layout.cut_ns[key[row], window + 1])
            if from_ns < to_ns:
                _add(layout, span_ns, part_ns, row, window, from_ns, to_ns, 1)
                if parent[row] >= 0:
                    _add(layout, span_ns, part_ns, parent[row], window, from_ns, to_ns, -1)


@kernel
def _add(
    layout: _Layout,
    span_ns: Array,
    part_ns: Array,
    row: int,
    window: int,
    from_ns: int,
    to_ns: int,
    sign: int,
) -> None:
    """Give (sign 1) or take (sign -1) an interval to a row, its parts first."""
    rest_ns = to_ns - from_ns
    for part in range(layout.first_part[row], layout.first_part[row + 1]):
        inside_ns = min(to_ns, layout.part_end_ns[part]) - max(from_ns, layout.part_start_ns[part])
        if inside_ns > 0:
            part_ns[part, window] += sign * inside_ns
            rest_ns -= inside_ns
    span_ns[row, window] += sign * rest_ns


@kernel
def _cut(row: Array, start_ns: Array, end_ns: Array, key: Array, layout: _Layout, found: Array) -> int:
    count = 0
    for at in range(row.shape[0]):
        for window in range(WINDOWS):
            now_ns = max(start_ns[at], layout.cut_ns[key[row[at]], window])
            until_ns = min(end_ns[at], layout.cut_ns[key[row[at]], window + 1])
            for part in range(layout.first_part[row[at]], layout.first_part[row[at] + 1]):
                part_start_ns = min(max(now_ns, layout.part_start_ns[part]), until_ns)
                part_end_ns = min(until_ns, layout.part_end_ns[part])
                if part_end_ns > part_start_ns:
                    count = _append(found, count, row[at], NO_PART, window, now_ns, part_start_ns)
                    count = _append(found, count, row[at], part, window, part_start_ns, part_end_ns)
                    now_ns = part_end_ns
            count = _append(found, count, row[at], NO_PART, window, now_ns, until_ns)
    return count


@kernel
def _append(found: Array, at: int, row: int, part: int, window: int, start_ns: int, end_ns: int) -> int:
    """Add a piece unless it is empty; returns the number of pieces."""
    if start_ns >= end_ns:
        return at
    found[0, at], found[1, at], found[2, at] = row, part, window
    found[3, at], found[4, at] = start_ns, end_ns
    return at + 1
