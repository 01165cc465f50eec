"""What an operation would take if its rank were like its peers: those of its role, in the same step."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.analysis.replay.observed import ObservedSteps

QUARTILES = {"low": 0.25, "median": 0.5, "high": 0.75}
"""Where among its peers a rank is put: the median, and the quartiles on both sides of it for the bound."""


def references(
    steps: ObservedSteps, is_changed: NDArray[np.bool_], values_ns: NDArray[np.int64], *, all_are_peers: bool = False
) -> tuple[dict[str, NDArray[np.int64]], int]:  # fmt: skip
    """`values_ns` with those of changed operations as their peers', at each of `QUARTILES`; how many have no peers.

    Peers are the operations of the same role in the same step that do not change themselves, or all of them. An
    operation of its own that fewer than half of the peers have at all takes no time. Where no peer took part in the
    step, the rank's own operations of this role stand for them.
    """
    table = steps.operations.select(
        "role", "role_in_step", "step", "rank", "pipeline_stage", "member_count"
    ).with_columns(value=pl.Series(values_ns), is_changed=pl.Series(is_changed))
    peers = table if all_are_peers else table.filter(~pl.col("is_changed"))
    quantiles = [pl.col("value").quantile(at, "lower").cast(pl.Int64).alias(name) for name, at in QUARTILES.items()]
    by_role = peers.group_by("role_in_step").agg(*quantiles, doing=pl.col("rank").n_unique())
    ranks = peers.group_by("step", "pipeline_stage").agg(taking_part=pl.col("rank").n_unique())
    found = (
        table.filter("is_changed")
        .join(by_role, on="role_in_step", how="left", maintain_order="left")
        .join(ranks, on=["step", "pipeline_stage"], how="left", nulls_equal=True, maintain_order="left")
    )
    is_extra = (pl.col("member_count") == 1) & (2 * pl.col("doing").fill_null(0) < pl.col("taking_part"))
    own = pl.col("value").median().cast(pl.Int64).over("role", "rank")
    without_peers = pl.col("median").is_null() & ~is_extra.fill_null(value=False)
    by_quartile = {}
    for name in QUARTILES:
        values = values_ns.copy()
        best = pl.when(is_extra).then(pl.lit(0, pl.Int64)).otherwise(pl.coalesce(name, own))
        values[is_changed] = found.select(best).to_series().to_numpy()
        by_quartile[name] = values
    return by_quartile, int(found.select(without_peers.sum()).item())
