"""Work that differs from rank to rank in every step, each time others: what they are given differs, nobody is slow.

Sequences of different length make forward and backward of the same ranks long together (OSDI 2025 finds a correlation
of 0.9 and more in a fifth of all jobs); noise of the machines strikes one operation at a time.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from tracekit.analysis.stragglers.culprits import LOST_SHARE
from tracekit.schema import StepStage

LEAST_DEVIATION = 0.03
"""Work is uneven where a typical rank lies this far from the median of its role in a typical step, ..."""

LEAST_CORRELATION = 0.8
"""... and its two largest operations do so together."""

LASTING_SHARE = 0.5
"""Not where ranks differ always alike: where what is usual to each is more than this share of the deviation."""

UNEVEN_SCHEMA = {
    "job_id": pl.String,
    "stage": pl.String,
    "operation": pl.String,
    "ranks": pl.Int64,
    "steps": pl.Int64,
    "deviation": pl.Float64,
    "correlation": pl.Float64,
    "waited_ns": pl.Int64,
    "share": pl.Float64,
}

_MAD_TO_SIGMA = 1.4826
_LEAST_CELLS = 32
_ROLE = ["job_id", "attempt", "step", "role"]
_CELL = [*_ROLE, "rank"]


def uneven_work(own: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """Jobs whose ranks compute for different times, now one and now another longest (UNEVEN_SCHEMA).

    own: `job_id`, `attempt`, `step`, `rank`, `role`, `stage`, `operation`, `own_ns`. jobs: `job_id`, `wall_ns`,
    `waited_ns`. `waited_ns` is what the ranks of each role wait for the longest of them in the sum over a step, at most
    what was waited in all.
    """
    computed = own.filter(pl.col("stage") == str(StepStage.COMPUTE))
    found = [
        _of_job(rows, jobs.filter(pl.col("job_id") == rows["job_id"][0]))
        for _, rows in computed.group_by("job_id", maintain_order=True)
    ]
    return pl.DataFrame([row for row in found if row], schema=UNEVEN_SCHEMA)


def uneven_excess(own: pl.DataFrame, uneven: pl.DataFrame) -> pl.DataFrame:
    """How much longer than the median of their role ranks computed in jobs with uneven work.

    Columns: `job_id`, `attempt`, `step`, `rank`, `excess_ns`.
    """
    computed = own.filter(pl.col("stage") == str(StepStage.COMPUTE)).join(uneven, on="job_id", how="semi")
    cells = computed.group_by(_CELL).agg(pl.col("own_ns").sum())
    above_ns = (pl.col("own_ns") - pl.col("own_ns").median().over(_ROLE)).cast(pl.Int64)
    return cells.select("job_id", "attempt", "step", "rank", excess_ns=above_ns).filter(pl.col("excess_ns") > 0)


def _of_job(computed: pl.DataFrame, job: pl.DataFrame) -> dict[str, object] | None:
    cells = _beside_role(computed.group_by(_CELL).agg(pl.col("own_ns").sum()))
    if len(cells) < _LEAST_CELLS:
        return None
    deviation = _deviation(cells["beside"])
    usual = cells.group_by("rank").agg(pl.col("beside").median())["beside"]
    if deviation < LEAST_DEVIATION or _deviation(usual) > LASTING_SHARE * deviation:
        return None
    operations = computed.group_by("operation").agg(pl.col("own_ns").sum()).sort("own_ns", "operation")
    largest = operations["operation"].tail(2).reverse().to_list()
    correlation = _correlation(computed, largest)
    if correlation is None or correlation < LEAST_CORRELATION:
        return None
    behind_ns = int(cells.select((pl.col("own_ns").max().over(_ROLE) - pl.col("own_ns")).sum()).item())
    waited_ns = min(behind_ns, int(job["waited_ns"][0]))
    share = waited_ns / int(job["wall_ns"][0])
    if share < 2 * LOST_SHARE:
        return None
    return {
        "job_id": computed["job_id"][0], "stage": str(StepStage.COMPUTE), "operation": ", ".join(largest),
        "ranks": cells["rank"].n_unique(), "steps": cells.select("attempt", "step").n_unique(), "deviation": deviation,
        "correlation": correlation, "waited_ns": waited_ns, "share": share,
    }  # fmt: skip


def _beside_role(cells: pl.DataFrame) -> pl.DataFrame:
    """Cells of roles with several ranks, and how far each is from the median of its role in the step, as a share."""
    middle = pl.col("own_ns").median().over(_ROLE)
    several = cells.filter((pl.col("rank").n_unique().over(_ROLE) > 1) & (middle > 0))
    return several.with_columns(beside=pl.col("own_ns") / pl.col("own_ns").median().over(_ROLE) - 1)


def _deviation(values: pl.Series) -> float:
    """A robust standard deviation."""
    return _MAD_TO_SIGMA * float((values - values.median()).abs().median() or 0.0)  # type: ignore[operator,arg-type]


def _correlation(computed: pl.DataFrame, operations: list[str]) -> float | None:
    """How far two operations of a rank and step lie together from the median of their role; None for one operation."""
    if len(operations) < 2:
        return None
    sides = [_beside_role(computed.filter(pl.col("operation") == name).select(*_CELL, "own_ns")) for name in operations]
    both = sides[0].join(sides[1], on=_CELL, suffix="_other")
    if len(both) < _LEAST_CELLS:
        return None
    found = np.corrcoef(both["beside"].to_numpy(), both["beside_other"].to_numpy())[0, 1]
    return float(found) if np.isfinite(found) else None
