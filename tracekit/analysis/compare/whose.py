"""Whose is what takes longer in a comparison: the same question as of a tail (`whose`), asked of the two sides."""

from __future__ import annotations

from contextlib import closing
from functools import partial

import duckdb
import numpy as np
import polars as pl

from tracekit.analysis.compare.sides import ComparedSide
from tracekit.analysis.measured import BASELINE, SELECTION
from tracekit.analysis.selection import CALLS_UNIT_LIMIT
from tracekit.analysis.tail.differences import comparable_attributes
from tracekit.analysis.tail.whose import STAGE_LIMIT, WHOSE_SCHEMA, ranked_values
from tracekit.analysis.tail.whose_swing import FEWEST_BLOCKS, MOST_BLOCKS
from tracekit.analysis.temporary import create_table, rows
from tracekit.store import Database

_MILLION = 1_000_000


def compared_whose(
    databases: tuple[Database, Database], sides: list[ComparedSide], names: list[str], stages: list[str]
) -> pl.DataFrame:
    """Values whose served requests have more of the excess of one of `stages` than the others (WHOSE_SCHEMA).

    `names`: the stages that the numbers of the sides mean. Times are those of whole requests, whatever the mix.
    """
    if not stages or any(side.served.is_empty() for side in sides):
        return pl.DataFrame(schema=WHOSE_SCHEMA)
    numbers = {name: names.index(name) for name in stages[:STAGE_LIMIT]}
    times = [_times(side, numbers) for side in sides]
    usual = times[0].group_by("stage").agg(usual_ns=pl.col("self_ns").sum() // pl.len())
    members = [
        _with_logs(part, usual, _blocks(sides, number, part), side=(BASELINE, SELECTION)[number])
        for number, part in enumerate(times)
    ]
    with closing(databases[0].cursor()) as before, closing(databases[1].cursor()) as after:
        cursors = (before, after)
        for cursor, part in zip(cursors, members, strict=True):
            cursor.register("tail_whose", part)
            _describe(cursor)
        queried: list[tuple[str, dict[str, str]]] = [("tail/whose_columns", {}), ("tail/whose_hosts", {})]
        queried += [("tail/whose_attribute", {"attribute": key}) for key in _attributes(after)]
        groups = [
            pl.concat([rows(cursor, name, parameters) for cursor in cursors]).sort(
                "dimension", "value", "stage", "side"
            )
            for name, parameters in queried
        ]
    return ranked_values(groups)


def _times(side: ComparedSide, numbers: dict[str, int]) -> pl.DataFrame:
    """Time of every looked-at request in each stage: `unit_id`, `start_ns`, `stage`, `self_ns`."""
    served, every = side.served, side.times(None)
    starts = served["start_ns"].to_numpy()
    # As if by lot, and by what a request is: its number depends on what arrived first.
    drawn = (starts ^ served["e2e_ns"].to_numpy()) // 1000 * 2_654_435_761 % _MILLION
    chosen = np.flatnonzero(np.abs(drawn) < _MILLION * CALLS_UNIT_LIMIT / max(len(served), 1))
    parts = []
    for stage, number in numbers.items():
        own = every.stage == number
        self_ns = np.zeros(len(served), dtype=np.int64)
        np.add.at(self_ns, every.position[own], every.self_ns[own])
        described = served[chosen].select("unit_id", "start_ns", stage=pl.lit(stage))
        parts.append(described.with_columns(self_ns=self_ns[chosen]))
    return pl.concat(parts)


def _blocks(sides: list[ComparedSide], number: int, times: pl.DataFrame) -> np.ndarray:
    """The block of time of each row: those before in blocks as long as the time after, where there are enough."""
    if number == 1:
        return np.zeros(len(times), dtype=np.int64)
    lengths = [int(np.ptp(side.units["start_ns"].to_numpy())) + 1 for side in sides]
    block_ns = max(min(lengths[1], lengths[0] // FEWEST_BLOCKS), lengths[0] // MOST_BLOCKS) + 1
    return (times["start_ns"].to_numpy() - sides[0].units["start_ns"][0]) // block_ns


def _with_logs(times: pl.DataFrame, usual: pl.DataFrame, block: np.ndarray, *, side: int) -> pl.DataFrame:
    """Rows of `tail_whose`, as `tail/whose_units.sql` makes them of one store."""
    ratio = pl.col("self_ns") / pl.col("usual_ns").clip(lower_bound=1)
    return (
        times.with_columns(block=block)
        .join(usual, on="stage", maintain_order="left")
        .select(
            "unit_id",
            "block",
            "stage",
            "self_ns",
            side=pl.lit(side),
            log_ratio=(_MILLION * ratio.log1p()).round().cast(pl.Int64),
        )
    )


def _describe(cursor: duckdb.DuckDBPyConnection) -> None:
    """Make the tables of hosts and attributes of the requests in `tail_whose`."""
    cursor.execute(
        "CREATE OR REPLACE TEMP TABLE tail_members AS SELECT DISTINCT unit_id, 0 AS band, 0 AS bin FROM tail_whose"
    )
    cursor.execute("CREATE OR REPLACE TEMP TABLE tail_sampled AS SELECT unit_id FROM tail_members")
    create_table(cursor, "tail_hosts", "tail/unit_hosts", {"rest_band": 0})
    create_table(cursor, "tail_attributes", "tail/attribute_rows", {"rest_band": 0, "block_count": 1})


def _attributes(cursor: duckdb.DuckDBPyConnection) -> list[str]:
    """Keys of attributes that few enough values of the requests after have."""
    asked = partial(rows, cursor)
    return list(comparable_attributes(lambda name, **parameters: asked(name, parameters))[0])
