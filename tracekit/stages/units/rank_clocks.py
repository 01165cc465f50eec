"""Clocks of hosts beside each other: a collective ends on all its ranks at the same time, up to what it leaves.

Only where the ends say so beyond doubt is a clock corrected: by far more than they differ among themselves, and in
several collectives, or by more than the whole step is long: nobody leaves a collective that late.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.stages.units.collectives import INSTANCE, parts_of

DOUBTFUL_NS = 1_000_000
"""Hosts less than this apart are left alone: ranks leave a collective this far apart for other reasons."""

_CONSISTENT = 4
"""A host is off by more than so many times what its ends differ among themselves."""

_MINIMUM_MEETINGS = 3
_MOST_SOLVED = 512
# A sender may leave long before the receiver has come, the root of a broadcast before the others.
_ONE_SIDED = r"(?i)send|recv|receive|p2p|broadcast|^(nccl:)?(reduce|gather|scatter)$"
_SHIFTS = {"step_no": pl.Int64, "rank": pl.Int64, "shift_ns": pl.Int64}


def clock_shifts(rows: pl.DataFrame) -> pl.DataFrame:
    """What to add to the times of ranks to have a step on one clock: `step_no`, `rank`, `shift_ns`; none for none.

    rows: as of `match_collectives`, with `host` (a number, null where unknown: the rank is its own host then).
    """
    hosted = rows.with_columns(at=pl.coalesce(pl.col("host"), pl.col("rank").cast(pl.Int64).reinterpret(signed=False)))
    ends = _host_ends(hosted.filter("is_collective"))
    doubtful = ends.group_by("step_no").agg(_is_doubtful().any()).filter("apart_ns")["step_no"]
    if doubtful.is_empty():
        return pl.DataFrame(schema=_SHIFTS)
    asked = ends.filter(pl.col("step_no").is_in(doubtful.implode())).join(_lengths(hosted), on="step_no", how="left")
    found = [_solved(step) for _, step in asked.group_by("step_no")]
    ranks = hosted.select("step_no", "rank", "at").unique()
    return (
        ranks.join(pl.concat(found), on=["step_no", "at"])
        .unique(["step_no", "rank"], keep="none")
        .select(pl.col(name).cast(kind) for name, kind in _SHIFTS.items())
        .filter(pl.col("shift_ns") != 0)
    )


def _lengths(rows: pl.DataFrame) -> pl.DataFrame:
    """How long each step takes on a typical rank: `step_no`, `step_ns`."""
    length_ns = pl.col("end_ns") - pl.col("start_ns")
    return rows.filter("is_step").group_by("step_no").agg(step_ns=length_ns.median())


def _is_doubtful() -> pl.Expr:
    return pl.col("apart_ns").abs() > DOUBTFUL_NS


def _host_ends(collectives: pl.DataFrame) -> pl.DataFrame:
    """When each host left each collective of several hosts, and how far that is from the middle of them."""
    left = (
        parts_of(collectives)
        .filter(~pl.col("collective_name").str.contains(_ONE_SIDED))
        .group_by(*INSTANCE, "at")
        .agg(pl.col("end_ns").median())
        .filter(pl.len().over(INSTANCE) > 1)
    )
    return left.with_columns(apart_ns=pl.col("end_ns") - pl.col("end_ns").median().over(INSTANCE))


def _solved(step: pl.DataFrame) -> pl.DataFrame:
    """The shifts of the hosts of one step: `step_no`, `at`, `shift_ns`.

    The end of a collective on a host is the time of the collective and how far the host's clock is ahead: least
    squares over all collectives, so that hosts which never meet are compared across those that they both met.
    """
    step = step.sort(INSTANCE)
    hosts = step["at"].unique().sort()
    host = step["at"].replace_strict(hosts, np.arange(len(hosts)), return_dtype=pl.Int64).to_numpy()
    met = step.select(pl.struct(INSTANCE).rle_id().alias("met"))["met"].to_numpy().astype(np.int64)
    end_ns = (step["end_ns"] - step["end_ns"].min()).to_numpy()
    ahead_ns = _ahead(host, met, end_ns, len(hosts))
    told_ns = end_ns - ahead_ns[host]
    left_ns = told_ns - (np.bincount(met, told_ns) / np.bincount(met))[met]
    spread_ns = np.array([np.median(np.abs(left_ns[host == at])) for at in range(len(hosts))])
    step_ns = step["step_ns"].fill_null(float("inf"))[0]
    is_seen = np.bincount(host, minlength=len(hosts)) >= _MINIMUM_MEETINGS
    is_off = (np.abs(ahead_ns) > np.maximum(DOUBTFUL_NS, _CONSISTENT * spread_ns)) & (
        is_seen | (np.abs(ahead_ns) > step_ns)
    )
    return pl.DataFrame(
        {
            "step_no": pl.Series([step["step_no"][0]] * len(hosts), dtype=pl.Int64),
            "at": hosts,
            "shift_ns": np.where(is_off, -np.rint(ahead_ns), 0).astype(np.int64),
        }
    )


def _ahead(
    host: NDArray[np.int64], met: NDArray[np.int64], end_ns: NDArray[np.float64], host_count: int
) -> NDArray[np.float64]:
    """How far each clock is ahead of the median one; of very many the mean over what it took part in."""
    if host_count > _MOST_SOLVED:
        apart_ns = end_ns - (np.bincount(met, end_ns) / np.bincount(met))[met]
        mean_ns = np.bincount(host, apart_ns, host_count) / np.bincount(host, minlength=host_count)
        return mean_ns - np.median(mean_ns)
    design = np.zeros((len(host), host_count))
    design[np.arange(len(host)), host] = 1.0
    size = np.bincount(met).astype(np.float64)[:, None]
    means = np.zeros((len(size), host_count))
    np.add.at(means, met, design)
    middle_ns = np.bincount(met, end_ns) / size[:, 0]
    apart_ns = end_ns - middle_ns[met]
    solved = np.linalg.lstsq(design - (means / size)[met], apart_ns, rcond=None)[0].astype(np.float64)
    return solved - np.float64(np.median(solved))
