"""Which operations are the same part of a step on different ranks."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.replay.sorting import bounds, dense
from tracekit.kernels import kernel
from tracekit.partition import Array


def in_roles(rows: pl.DataFrame, meeting: NDArray[np.int64]) -> pl.DataFrame:
    """Operations with their `meeting`, its `member_count`, `sequence`, `role`, `role_in_step` and `place`, from 0 each.

    rows: sorted by stretch and rank, texts as categories. Alike are operations of one name with as many members: the
    collectives of a mesh share names, not sizes; `sequence` is the number of an operation among those alike of its rank
    and step. A role is a pipeline stage, a name, a number of members and a sequence: ranks with operations of one role
    are peers. `role_in_step` has the step besides; `place` is a pipeline stage in a step.
    """
    sizes = np.bincount(meeting)[meeting]
    size, size_count = dense(sizes)
    kind, kind_count = dense(_numbers(rows["operation"].to_physical()) * size_count + size)
    sequence = _sequences(rows, kind, kind_count)
    stage, _ = dense(_numbers(rows["pipeline_stage"]))
    step, _ = dense(_numbers(rows["step"]))
    role, role_count = dense((stage * kind_count + kind) * (int(sequence.max(initial=0)) + 1) + sequence)
    role_in_step, _ = dense(step * role_count + role)
    place, _ = dense(step * (int(stage.max(initial=0)) + 1) + stage)
    return rows.with_columns(
        meeting=pl.Series(meeting),
        member_count=pl.Series(sizes, dtype=pl.Int64),
        sequence=pl.Series(sequence),
        role=pl.Series(role),
        role_in_step=pl.Series(role_in_step),
        place=pl.Series(place),
    )


def _numbers(column: pl.Series) -> NDArray[np.int64]:
    """Integers; one below all others stands for null."""
    return column.cast(pl.Int64).fill_null((column.min() or 0) - 1).to_numpy()  # type: ignore[operator]


def _sequences(rows: pl.DataFrame, kind: NDArray[np.int64], kind_count: int) -> NDArray[np.int64]:
    columns = [_numbers(rows["stretch_number"]), _numbers(rows["rank"]), _numbers(rows["step"])]
    order = np.arange(len(rows))
    parts = bounds(*columns)
    named = pl.DataFrame([column[parts[:-1]] for column in columns], schema=["stretch", "rank", "step"])
    if named.n_unique() < len(named):
        # Steps of a rank overlap.
        order = np.lexsort(tuple(reversed(columns)))
        parts = bounds(*(column[order] for column in columns))
    sequence = np.empty(len(rows), np.int64)
    _count_alike(parts, order, kind, np.zeros(kind_count, np.int64), sequence)
    return sequence


@kernel
def _count_alike(parts: Array, order: Array, kind: Array, seen: Array, sequence: Array) -> None:
    """Into `sequence[row]`: how many rows of its kind come before it in its part, which is a stretch of `order`."""
    for part in range(len(parts) - 1):
        for at in range(parts[part], parts[part + 1]):
            sequence[order[at]] = seen[kind[order[at]]]
            seen[kind[order[at]]] += 1
        for at in range(parts[part], parts[part + 1]):
            seen[kind[order[at]]] = 0
