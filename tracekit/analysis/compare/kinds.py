"""The sides of a comparison with their requests classed by an attribute that tells that other ones came (`kinds`)."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from functools import partial

import duckdb
import polars as pl

from tracekit.analysis.compare.same_mix import class_keys
from tracekit.analysis.compare.sides import ComparedSide
from tracekit.analysis.tail.kinds import UNIT_LIMIT, longest_kind
from tracekit.analysis.temporary import create_table, rows
from tracekit.store import Database


def sides_by_kind(database: Database, sides: list[ComparedSide]) -> tuple[str, list[ComparedSide]] | None:
    """The attribute and the sides classed by it too; None where no attribute explains what takes longer.

    Both sides are of one store.
    """
    members = _numbered(pl.concat([_members(side, is_after=number == 1) for number, side in enumerate(sides)]))
    with closing(database.cursor()) as cursor:
        cursor.register("compared_members", members)
        one_in = max(max(len(side.served) for side in sides) // UNIT_LIMIT, 1)
        create_table(cursor, "tail_attributes", "compare/attributes", {"one_in": one_in})
        asked = partial(rows, cursor)
        attribute = longest_kind(lambda name, **parameters: asked(name, parameters))
        return None if attribute is None else (attribute, [_divided(cursor, side, attribute) for side in sides])


def _members(side: ComparedSide, *, is_after: bool) -> pl.DataFrame:
    served = side.served.select("unit_id", "start_ns", value_ns="e2e_ns", is_tail=pl.lit(is_after))
    return pl.concat([served, class_keys(side.served, "e2e", 1)], how="horizontal")


def _numbered(members: pl.DataFrame) -> pl.DataFrame:
    """The requests with the number of their class."""
    keys = members.select(pl.exclude("unit_id", "start_ns", "value_ns", "is_tail")).columns
    classes = members.select(keys).unique().sort(keys).with_row_index("class_id")
    return members.join(classes, on=keys, nulls_equal=True).select(pl.exclude(keys), pl.col("population"))


def _divided(cursor: duckdb.DuckDBPyConnection, side: ComparedSide, attribute: str) -> ComparedSide:
    """The side with populations of their own for each value of the attribute."""
    cursor.register("compared_members", side.units.select("unit_id", "population"))
    kinds = rows(cursor, "compare/kinds", {"attribute": attribute})
    units, served = (
        part.drop("population").join(kinds, on="unit_id", how="left", maintain_order="left")
        for part in (side.units, side.served)
    )
    return replace(side, units=units, served=served)
