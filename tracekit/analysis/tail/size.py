"""Is it slow, or is there more to do? The excess split into more tokens and more time for each token.

With N tokens a unit (mean) and t nanoseconds a token (total time over total tokens), a mean time is N t, and

    size      = (N_tail - N_baseline) (t_tail + t_baseline) / 2
    per token = (N_tail + N_baseline) / 2 (t_tail - t_baseline)

sum to the difference exactly. It needs no classes, so it also answers where tail and baseline share none.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.analysis.tail.cohorts import Cohort
from tracekit.analysis.tail.comparison import Comparison
from tracekit.schema import Window

SIZE_SCHEMA = {
    "unit_window": pl.String,
    "tokens": pl.String,
    "tail_tokens": pl.Float64,
    "baseline_tokens": pl.Float64,
    "tail_ns_per_token": pl.Float64,
    "baseline_ns_per_token": pl.Float64,
    "excess_ns": pl.Int64,
    "size_ns": pl.Int64,
    "per_token_ns": pl.Int64,
}

_TOKENS = {Window.TTFT: "input_tokens", Window.DECODE: "output_tokens"}


def size_frame(comparison: Comparison, operations: pl.DataFrame) -> pl.DataFrame:
    """One row a window (SIZE_SCHEMA); `size_ns + per_token_ns = excess_ns`.

    Prompt tokens stand for the work before the first token, generated tokens for the work after it. A window
    without such a count, or with a unit whose count is unknown, has nulls. Empty for tpot and step.
    """
    metric = comparison.selection.metric
    if not metric.depends_on or metric.is_per_token:
        return pl.DataFrame(schema=SIZE_SCHEMA)
    windows = operations.group_by("unit_window", maintain_order=True).agg(
        pl.col("tail_mean_ns", "baseline_mean_ns", "excess_ns").sum()
    )
    rows = [
        _row(window, comparison.tail, comparison.reference)
        for window in windows.sort("unit_window").iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=SIZE_SCHEMA)


def _row(window: dict[str, int | str], tail: Cohort, baseline: Cohort) -> dict[str, object]:
    tokens = _TOKENS.get(Window(str(window["unit_window"])))
    row: dict[str, object] = {"unit_window": window["unit_window"], "excess_ns": window["excess_ns"]}
    tail_count, baseline_count = _mean_tokens(tail, tokens), _mean_tokens(baseline, tokens)
    if tail_count is None or baseline_count is None:
        return {name: row.get(name) for name in SIZE_SCHEMA}
    tail_each = int(window["tail_mean_ns"]) / tail_count
    baseline_each = int(window["baseline_mean_ns"]) / baseline_count
    size_ns = round((tail_count - baseline_count) * (tail_each + baseline_each) / 2)
    return row | {
        "tokens": tokens,
        "tail_tokens": tail_count,
        "baseline_tokens": baseline_count,
        "tail_ns_per_token": tail_each,
        "baseline_ns_per_token": baseline_each,
        "size_ns": size_ns,
        "per_token_ns": int(window["excess_ns"]) - size_ns,
    }


def _mean_tokens(cohort: Cohort, tokens: str | None) -> float | None:
    if tokens is None:
        return None
    counts: np.ndarray = getattr(cohort.units, tokens)[cohort.positions]
    return float(counts.mean()) if (counts > 0).all() else None
