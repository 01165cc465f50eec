"""Outcomes of requests by what they have in common: model, tenant, host, version, priority."""

from __future__ import annotations

import duckdb
import polars as pl

from tracekit.analysis.requests.goodput_answer import BUCKETS
from tracekit.analysis.temporary import create_table, rows
from tracekit.schema import PRIORITY_KEYS, TENANT_KEYS

VALUE_LIMIT = 50
"""Values of a dimension that stay apart, those with most requests; the others are one row."""

DIMENSION_SCHEMA = {
    "dimension": pl.String,
    "value": pl.String,
    "attempted": pl.Int64,
    "good": pl.Int64,
} | dict.fromkeys(BUCKETS, pl.Int64)


def dimension_frame(cursor: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    """One row a dimension and value (DIMENSION_SCHEMA), dimensions in which requests differ only.

    Reads the table `judged_requests` of the cursor. Requests without a value are the row without one.
    """
    parts = [_by_value(cursor, "model", "goodput/models", {})]
    keys = set(rows(cursor, "goodput/known_keys", {"keys": [*TENANT_KEYS, *PRIORITY_KEYS]})["key"])
    for dimension, candidates in (("tenant", TENANT_KEYS), ("priority", PRIORITY_KEYS)):
        key = next((name for name in candidates if name in keys), None)
        if key is not None:
            parts.append(_by_value(cursor, dimension, "goodput/attribute_values", {"key": key}))
    if _has_several_processes(cursor):
        create_table(cursor, "goodput_servers", "goodput/servers", {})
        parts += [_by_value(cursor, what, "goodput/server_values", {"what": what}) for what in ("host", "version")]
    return pl.concat([pl.DataFrame(schema=DIMENSION_SCHEMA), *(part for part in parts if len(part) > 1)])


def _has_several_processes(cursor: duckdb.DuckDBPyConnection) -> bool:
    return int(cursor.sql("SELECT count(*) FROM base.resources").fetchall()[0][0]) > 1


def _by_value(
    cursor: duckdb.DuckDBPyConnection, dimension: str, query: str, parameters: dict[str, str]
) -> pl.DataFrame:
    create_table(cursor, "request_values", query, parameters)
    counts = rows(cursor, "goodput/value_counts")
    total = pl.col("request_count").sum().over("value")
    rank = total.rank("dense", descending=True)
    # A dimension with thousands of values would be no answer.
    kept = counts.with_columns(
        value=pl.when((rank <= VALUE_LIMIT) | pl.col("value").is_null()).then("value").otherwise(pl.lit("(others)"))
    )
    of_bucket = {
        bucket: pl.col("request_count").filter(pl.col("bucket") == bucket).sum() for bucket in ("good", *BUCKETS)
    }
    table = kept.group_by("value").agg(attempted=pl.col("request_count").sum(), **of_bucket)
    return (
        table.with_columns(dimension=pl.lit(dimension))
        .select(pl.col(name).cast(kind) for name, kind in DIMENSION_SCHEMA.items())
        .sort("attempted", "value", descending=[True, False], nulls_last=True)
    )
