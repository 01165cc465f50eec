"""Rows of a waterfall: operations in the order of their tree, each with its depth."""

from __future__ import annotations

import polars as pl

# Path elements sort as text: this many digits hold the place of every sibling.
_PLACE_DIGITS = 7


def in_tree_order(nodes: pl.DataFrame) -> pl.DataFrame:
    """The nodes, parents before children and siblings by start, with `depth` and `row` (0, 1, …).

    `nodes` has `node`, `parent` (null or a node that is not there: a root) and `start_ns`. Works level
    by level. A node that no root reaches (a cycle) is appended after all others, at depth 0, so that
    none is lost.
    """
    ranked = nodes.sort("start_ns", "node").with_row_index("place").with_columns(pl.col("place").cast(pl.Int64))
    padded = pl.col("place").cast(pl.String).str.zfill(_PLACE_DIGITS)
    is_root = pl.col("parent").is_null() | ~pl.col("parent").is_in(ranked["node"].implode())
    level = ranked.filter(is_root).with_columns(padded.alias("path"), pl.lit(0).alias("depth"))
    levels = []
    while level.height:
        levels.append(level)
        above = level.select(pl.col("node").alias("parent"), pl.col("path").alias("above"), "depth")
        level = (
            ranked.join(above, on="parent", how="inner")
            .with_columns(pl.concat_str("above", padded).alias("path"), (pl.col("depth") + 1).alias("depth"))
            .drop("above")
            .select(level.columns)
        )
    reached = pl.concat(levels) if levels else level
    lost = ranked.join(reached, on="node", how="anti").with_columns(
        pl.concat_str(pl.lit("~"), padded).alias("path"), pl.lit(0).alias("depth")
    )
    ordered = pl.concat([reached, lost.select(reached.columns)]).sort("path")
    return ordered.drop("path", "place").with_columns(pl.int_range(pl.len()).alias("row"))
