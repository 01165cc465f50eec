"""Small traces for the tests of the partition: random dirty ones, and tables of rows with names."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from tests.unit.partition.oracle import Row
from tracekit.partition import Forest


@st.composite
def dirty_traces(draw: st.DrawFn) -> list[Row]:
    """One trace of up to ten rows with every defect that the partition has to bear."""
    size = draw(st.integers(1, 10))
    tiebreaks = draw(st.permutations(range(size)))
    return [_row(draw, tiebreaks[at], size) for at in range(size)]


def _row(draw: st.DrawFn, tiebreak: int, size: int) -> Row:
    return Row(
        start=draw(st.integers(0, 40)),
        end=draw(st.integers(0, 60)),
        parent=draw(st.sampled_from([-2, -1, *range(size)])),
        tiebreak=tiebreak,
        missing_id=draw(st.integers(1, 2)),
        blocking=draw(st.sampled_from([True, True, True, False])),
        waits_for=draw(st.sampled_from([-1, -1, *range(size)])),
    )


def random_trace(random: np.random.Generator) -> list[Row]:
    """One trace of up to fourteen rows, mostly a tree whose children fit, with some of every defect."""
    size = int(random.integers(1, 15))
    tiebreaks = random.permutation(size)
    rows = []
    for at in range(size):
        start, length = int(random.integers(0, 50)), int(random.integers(-2, 30))
        kind = random.random()
        parent = -1 if at == 0 or kind < 0.05 else -2 if kind < 0.13 else int(random.integers(0, at))
        if random.random() < 0.05:
            parent = int(random.integers(0, size))
        waits_for = int(random.integers(0, size)) if random.random() < 0.15 else -1
        is_root = at == 0 and random.random() < 0.8
        rows.append(
            Row(
                start=0 if is_root else start,
                end=60 if is_root else start + length,
                parent=parent,
                tiebreak=int(tiebreaks[at]),
                missing_id=int(random.integers(1, 3)),
                blocking=random.random() > 0.08,
                waits_for=waits_for,
            )
        )
    return rows


def forest_of(traces: list[list[Row]]) -> Forest:
    """The traces one after the other, as columns; trace i has key i."""
    offsets = np.cumsum([0, *(len(trace) for trace in traces)])
    rows = [(key, int(offsets[key]), row) for key, trace in enumerate(traces) for row in trace]
    return Forest.from_columns(
        key=[key for key, _, _ in rows],
        parent=[row.parent + offset if row.parent >= 0 else row.parent for _, offset, row in rows],
        missing_parent_id=[row.missing_id if row.parent == -2 else 0 for _, _, row in rows],
        start_ns=[row.start for _, _, row in rows],
        end_ns=[row.end for _, _, row in rows],
        blocking=[row.blocking for _, _, row in rows],
        tiebreak=[row.tiebreak for _, _, row in rows],
        waits_for=[row.waits_for + offset if row.waits_for >= 0 else -1 for _, offset, row in rows],
    )


def named_forest(*rows: tuple, links: dict[str, str] | None = None, kinds: dict[str, str] | None = None) -> Forest:
    """A trace of rows `(name, parent name or None, start, end)`; a parent that no row has is an absent one.

    Names in their order break ties. `links` names what a row waited for. `kinds` marks clients,
    servers, producers and consumers; a consumer below a producer does not block it.
    """
    names = [row[0] for row in rows]
    kinds, links = kinds or {}, links or {}
    parents = [-1 if row[1] is None else names.index(row[1]) if row[1] in names else -2 for row in rows]
    absent = sorted({row[1] for row, parent in zip(rows, parents, strict=True) if parent == -2})
    detached = [kinds.get(row[1]) == "producer" and kinds.get(row[0]) == "consumer" for row in rows]
    return Forest.from_columns(
        key=[0] * len(rows),
        parent=parents,
        missing_parent_id=[absent.index(row[1]) + 1 if row[1] in absent else 0 for row in rows],
        start_ns=[row[2] for row in rows],
        end_ns=[row[3] for row in rows],
        tiebreak=[sorted(names).index(name) for name in names],
        blocking=[not is_detached for is_detached in detached],
        waits_for=[names.index(links[name]) if name in links else -1 for name in names],
        is_client=[kinds.get(name) == "client" for name in names],
        is_server=[kinds.get(name) == "server" for name in names],
    )
