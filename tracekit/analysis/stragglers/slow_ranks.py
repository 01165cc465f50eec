"""Where a rank's own work took longer than that of its peers, at every length of time from a step to the whole job.

The reference of a rank in a step is the larger of what its role usually takes (the median over ranks and steps) and
what the faster ranks of its role took in that very step. So what strikes all ranks alike makes none of them slow, and a
rank that is slow in every step stands out as clearly as one that is slow in a few. A role is a pipeline coordinate: its
ranks do the same work.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

STEP_DEVIATIONS = 6.0
"""A single step is slow from so many robust standard deviations above its reference."""

RUN_DEVIATIONS = 5.0
"""The mean of a run of steps is: chance averages out, constant differences between accelerators do not."""

COUNTED_DEVIATIONS = 3.0
"""Steps this far above their reference count where a rank has far more of them than its peers."""

# The median absolute deviation of a normal distribution times this is its standard deviation.
_MAD_TO_SIGMA = 1.4826
# A step is long for a role where it is for this quarter of its ranks, too: else those that are slow are named.
_FAST_SHARE = 0.25
# Clocks and scheduling differ by about this much, whatever a small sample says.
_RELATIVE_FLOOR = 0.002
_FLOOR_NS = 20_000.0
# Fewer ranks of a role tell nothing about how much its accelerators differ, ...
_ENOUGH_PEERS = 4
# ... and fewer ranks of a job not enough: accelerators of one model differ by up to this much.
_ENOUGH_RANKS = 8
_RELATIVE_DIFFERENCE = 0.01
# However alike the accelerators of a job seem, a few of them do not show that they differ by less.
_LEAST_DIFFERENCE = 0.005
# A count is beyond chance from so many standard deviations of a Poisson number, and three, above the expected one.
_COUNT_DEVIATIONS = 5.0
_RARE = 0.002

SLOW_SCHEMA = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "step": pl.Int64,
    "role": pl.String,
    "rank": pl.Int64,
    "stage": pl.String,
    "excess_ns": pl.Int64,
}
"""Slow ranks, one row a step and stage; `rank` is null where all ranks of the role were slow together."""


@dataclass(frozen=True, eq=False)
class _Grid:
    """Times of one stage of a job: a row a rank, a column a step; NaN where a rank did not report the step."""

    own_ns: NDArray[np.float64]
    role: NDArray[np.int64]
    is_done: NDArray[np.bool_]
    """By role and step: whether any rank of the role spent time on it."""


def slow_times(own: pl.DataFrame) -> pl.DataFrame:
    """The steps in which ranks, or whole roles, took longer than their reference (SLOW_SCHEMA).

    `own` has a row a rank, step and stage: `job_id`, `attempt`, `step`, `rank`, `role`, `stage`, `own_ns`; a rank
    without a row for a stage spent no time on it, one without any row did not report the step.
    """
    found = [
        _slow_of_stage(job, stage_rows)
        for _, job in own.group_by("job_id", maintain_order=True)
        for _, stage_rows in job.group_by("stage", maintain_order=True)
    ]
    return pl.concat([pl.DataFrame(schema=SLOW_SCHEMA), *found])


def _slow_of_stage(job: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    ranks = job.group_by("rank", maintain_order=True).agg(pl.col("role").first()).sort("role", "rank")
    steps = job.select("attempt", "step").unique().sort("attempt", "step")
    roles = ranks.select("role").unique(maintain_order=True)
    grid = _grid(job, rows, ranks, steps)
    by_rank, by_role = _excess(grid)
    return pl.concat(
        [
            _named(by_rank, ranks.select("rank", "role"), steps, rows),
            _named(by_role, roles.select(pl.lit(None, dtype=ranks.schema["rank"]).alias("rank"), "role"), steps, rows),
        ]
    )


def _grid(job: pl.DataFrame, rows: pl.DataFrame, ranks: pl.DataFrame, steps: pl.DataFrame) -> _Grid:
    ranks, steps = ranks.with_row_index("row"), steps.with_row_index("column")
    own_ns = np.full((ranks.height, steps.height), np.nan)

    def place(frame: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        placed = frame.join(ranks.select("rank", "row"), on="rank", maintain_order="left").join(
            steps, on=["attempt", "step"], maintain_order="left"
        )
        return placed["row"].to_numpy(), placed["column"].to_numpy()

    own_ns[place(job.select("attempt", "step", "rank").unique())] = 0
    own_ns[place(rows)] = rows["own_ns"].to_numpy()
    role = ranks["role"].rle_id().to_numpy().astype(np.int64)
    is_done = np.zeros((int(role.max()) + 1, steps.height), dtype=np.bool_)
    np.logical_or.at(is_done, role, np.nan_to_num(own_ns) > 0)
    own_ns[~is_done[role]] = np.nan
    return _Grid(own_ns, role, is_done)


def _excess(grid: _Grid) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Time above the reference in slow steps, else 0: of ranks beside their role, of roles beside their usual time."""
    role_count = grid.is_done.shape[0]
    members = [np.flatnonzero(grid.role == role) for role in range(role_count)]
    middle = np.stack([_lower_median(grid.own_ns[rows], axis=0) for rows in members])
    of_step = np.stack([_lower_quantile(grid.own_ns[rows], _FAST_SHARE, axis=0) for rows in members])
    usual = np.array([_lower_median(_lower_median(grid.own_ns[rows], axis=1), axis=0) for rows in members])
    # Where all of a role take longer, they differ by more, too.
    stretch = np.fmax(of_step / np.maximum(usual, 1.0)[:, None], 1.0)[grid.role]
    beside = (grid.own_ns - np.fmax(of_step[grid.role], usual[grid.role, None])) / stretch
    size = np.array([len(rows) for rows in members])
    # A median of few holds much of each of them: what is left of a rank beside it varies less than the rank does.
    noise = (1 + 1 / size) * [_typical_deviation(grid.own_ns[rows] - middle[role]) for role, rows in enumerate(members)]
    differ = _differences(beside, members, usual)
    floor = np.maximum(_FLOOR_NS, _RELATIVE_FLOOR * usual)
    noise = np.maximum(noise, floor)
    differ = np.maximum(differ, np.maximum(_FLOOR_NS, _LEAST_DIFFERENCE * usual))
    is_slow = np.concatenate([slow_steps(beside[rows], noise[role], differ[role]) for role, rows in enumerate(members)])
    order = np.argsort(np.concatenate(members), kind="stable")
    role_noise = np.array([_typical_deviation(of_step[[role]]) for role in range(role_count)])
    shift = of_step - usual[:, None]
    is_role_slow = np.concatenate(
        [slow_steps(shift[[role]], max(role_noise[role], floor[role]), differ[role]) for role in range(role_count)]
    )
    return np.where(is_slow[order], beside * stretch, 0), np.where(is_role_slow, shift, 0)


def slow_steps(excess_ns: NDArray[np.float64], noise_ns: float, differ_ns: float) -> NDArray[np.bool_]:
    """Which steps of ranks are slow beyond chance; `excess_ns` has a row a rank, NaN where nothing is known.

    `noise_ns` is the standard deviation of a typical rank from step to step, `differ_ns` that of constant differences
    between ranks. Runs of one, two, four, … steps up to all are looked at, the shortest first, and what a shorter one
    explains does not lift a longer one.
    """
    deviation_ns = float(np.hypot(noise_ns, differ_ns))
    known = ~np.isnan(excess_ns)
    # One very fast step must not hide slow ones beside it.
    left = np.where(known, np.clip(excess_ns, -STEP_DEVIATIONS * deviation_ns, None), 0)
    is_slow = known & (left > STEP_DEVIATIONS * deviation_ns)
    is_slow |= _far_too_many(left, known, is_slow, deviation_ns)
    length = 2
    while length <= excess_ns.shape[1]:
        left = np.where(is_slow, 0, left)
        open_count = _run_sums((known & ~is_slow).astype(np.float64), length)
        needed = RUN_DEVIATIONS * np.hypot(noise_ns * np.sqrt(open_count), differ_ns * open_count)
        is_run = (open_count >= max(2, length // 2)) & (_run_sums(left, length) > needed)
        is_slow |= _covered(is_run, length, excess_ns.shape[1]) & known
        length *= 2
    return is_slow


def _far_too_many(
    left: NDArray[np.float64], known: NDArray[np.bool_], is_slow: NDArray[np.bool_], deviation_ns: float
) -> NDArray[np.bool_]:
    """Steps somewhat slow of ranks that have far more of them than a typical rank has."""
    is_far = known & ~is_slow & (left > COUNTED_DEVIATIONS * deviation_ns)
    known_count = np.maximum(known.sum(axis=1), 1)
    rate = max(float(np.median(is_far.sum(axis=1) / known_count)), _RARE)
    expected = rate * known_count
    is_beyond = is_far.sum(axis=1) > expected + 3 + _COUNT_DEVIATIONS * np.sqrt(expected)
    return is_far & is_beyond[:, None]


def _run_sums(values: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    """Sums of each run of `length` columns."""
    summed = np.cumsum(np.pad(values, ((0, 0), (1, 0))), axis=1)
    return summed[:, length:] - summed[:, :-length]


def _covered(is_run: NDArray[np.bool_], length: int, columns: int) -> NDArray[np.bool_]:
    """The columns that lie in any of the runs, which start where `is_run` says."""
    starts = np.zeros((is_run.shape[0], columns + 1), dtype=np.int64)
    starts[:, : is_run.shape[1]] += is_run
    starts[:, length : length + is_run.shape[1]] -= is_run
    return np.cumsum(starts, axis=1)[:, :columns] > 0


def _lower_median(values: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    """The median of the known values, the lower of two; NaN where none is known."""
    return _lower_quantile(values, 0.5, axis)


def _lower_quantile(values: NDArray[np.float64], quantile: float, axis: int) -> NDArray[np.float64]:
    """A quantile of the known values, the lower of two; NaN where none is known."""
    in_order = np.sort(values, axis=axis)
    count = (~np.isnan(values)).sum(axis=axis, keepdims=True)
    at = (np.maximum(count - 1, 0) * quantile).astype(np.int64)
    return np.take_along_axis(in_order, at, axis=axis).squeeze(axis)


def _typical_deviation(values: NDArray[np.float64]) -> float:
    """The robust standard deviation over steps of a typical row."""
    middle = _lower_median(values, axis=1)
    each = _lower_median(np.abs(values - middle[:, None]), axis=1)
    known = each[~np.isnan(each)]
    return _MAD_TO_SIGMA * float(np.median(known)) if len(known) else 0.0


def _differences(
    beside: NDArray[np.float64], members: list[NDArray[np.int64]], usual: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The robust standard deviation of constant differences between the ranks of each role.

    At least that of the job, in proportion to the role's usual time: a role of few ranks says little.
    """
    level = _lower_median(beside, axis=1)
    relative = np.concatenate([level[rows] / max(usual[role], 1.0) for role, rows in enumerate(members)])
    own = np.array([_spread(level[rows]) if len(rows) >= _ENOUGH_PEERS else 0.0 for rows in members])
    pooled = _spread(relative)
    if len(relative) < _ENOUGH_RANKS:
        pooled = max(pooled, _RELATIVE_DIFFERENCE)
    return np.maximum(own, pooled * usual)


def _spread(values: NDArray[np.float64]) -> float:
    """The robust standard deviation of a few values; the fewer, the larger it may really be."""
    known = values[~np.isnan(values)]
    if not len(known):
        return 0.0
    # Lower medians: where half of a few are slow, the others say what is usual.
    middle = _lower_median(known, axis=0)
    return (1 + 2 / len(known)) * _MAD_TO_SIGMA * float(_lower_median(np.abs(known - middle), axis=0))


def _named(excess_ns: NDArray[np.float64], who: pl.DataFrame, steps: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """The slow cells of a grid as rows (SLOW_SCHEMA)."""
    at, column = np.nonzero(np.nan_to_num(excess_ns) > 0)
    return (
        pl.concat([who[at], steps[column]], how="horizontal")
        .select(
            pl.lit(rows["job_id"][0]).alias("job_id"),
            pl.col("attempt"),
            pl.col("step"),
            pl.col("role"),
            pl.col("rank"),
            pl.lit(rows["stage"][0]).alias("stage"),
            pl.Series("excess_ns", np.rint(excess_ns[at, column]).astype(np.int64)),
        )
        .cast(pl.Schema(SLOW_SCHEMA))
    )
