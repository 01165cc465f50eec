"""Where queues, caches and batches stood when the slow requests began: counters beside the stage that they explain.

Nothing is proved by that: a full cache may be why requests wait, or the same load may be behind both. So counters are
told beside an answer and never change it.
"""

from __future__ import annotations

import polars as pl

from tracekit.analysis.tail.comparison import Comparison
from tracekit.schema import UnitKind

OLDEST_READING_NS = 120 * 1_000_000_000
"""A reading that is older when a request begins says nothing of it: twice the usual minute between readings."""

HIGHER_SHARE = 0.1
"""A share (a cache's usage) that stands higher by less is not worth a sentence."""

HIGHER_FACTOR = 1.5
"""A count (requests that wait) that is higher by less, or by less than one, is not worth a sentence."""

COUNTER_SCHEMA = {
    "stage": pl.String, "metric": pl.String, "unit": pl.String, "sender_name": pl.String, "host_name": pl.String,
    "tail_mean": pl.Float64, "rest_mean": pl.Float64, "tail_largest": pl.Float64, "tail_count": pl.Int64,
    "rest_count": pl.Int64, "is_higher": pl.Boolean,
}  # fmt: skip


def counter_frame(comparison: Comparison) -> pl.DataFrame:
    """Gauges by stage and host (COUNTER_SCHEMA), those that stand higher for the tail first; empty for steps.

    `is_higher`: higher for the tail than for what it is compared with by `HIGHER_SHARE` or `HIGHER_FACTOR`.
    """
    if comparison.selection.metric.unit_kind != UnitKind.REQUEST:
        return pl.DataFrame(schema=COUNTER_SCHEMA)
    found = comparison.rows("tail/counters", rest_band=comparison.layout.rest, oldest_ns=OLDEST_READING_NS)
    more, is_share = pl.col("tail_mean") - pl.col("rest_mean"), (pl.col("unit") == "1").fill_null(value=False)
    is_more = (pl.col("tail_mean") >= HIGHER_FACTOR * pl.col("rest_mean")) & (more >= 1)
    is_higher = pl.when(is_share).then(more >= HIGHER_SHARE).otherwise(is_more).fill_null(value=False)
    ratio = pl.col("tail_mean") / pl.col("rest_mean")
    return (
        found.with_columns(is_higher=is_higher)
        .sort(
            "is_higher",
            # Sums of doubles end differently by their order; that decides nothing.
            ratio.round(9),
            "stage",
            "metric",
            "host_name",
            descending=[True, True, False, False, False],
            nulls_last=True,
        )
        .select(pl.col(name).cast(kind) for name, kind in COUNTER_SCHEMA.items())
    )
