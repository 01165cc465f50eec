"""From slow steps to the ranks, hosts and pipeline stages that are named, with all that they cost."""

from __future__ import annotations

import polars as pl

from tracekit.schema import UNATTRIBUTED

LOST_SHARE = 0.005
"""What is named lost at least this share of the time of its job, ..."""

RUN_SHARE = 0.02
"""... or this share of the time of the steps that it was slow in, however long the job is."""

HICCUP_SHARE = 0.05
"""Fewer than `PERSISTENT_STEPS` slow steps are a hiccup, and named only if they lost this share of the job."""

PERSISTENT_STEPS = 3
"""Slow steps from which on a rank is slow and not unlucky, ..."""

CERTAIN_STEPS = 6
"""... and from which on what it lost is weighed against these steps alone."""

SPREAD_RATIO = 4
"""A rank is named for a stage where it lost this many times what the typical rank of the job lost there."""

IDLE_RATIO = 2
"""Time that nothing explains is idle, and not slowness, where others waited for less than a half of `most_ns`."""

STEP_GAP = 2
"""Steps of one run are at most this far apart: one between them may be missing."""

GAP_STAGE = "unattributed between steps"
"""Stands for time between two steps that no span covers: it holds up all that the rank does after it."""

CHARGED_SCHEMA = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "step": pl.Int64,
    "step_at": pl.Int64,
    "step_count": pl.Int64,
    "rank": pl.Int64,
    "pipeline_stage": pl.Int64,
    "place": pl.String,
    "stage": pl.String,
    "own_ns": pl.Int64,
    "waited_ns": pl.Int64,
    "most_ns": pl.Int64,
    "step_wall_ns": pl.Int64,
}
"""Slow steps with what they cost.

`step_at` counts the steps there are, whose numbers may have gaps; the attempt has `step_count`. `place` is what was
slow as one: a host or a pipeline stage, else the rank; null for all ranks together. `most_ns` is the waiting that the
excess causes if nothing else holds anybody: itself once for each rank outside the place. `step_wall_ns` is the time of
all ranks in the step.
"""

_WHO = ["job_id", "attempt", "place", "rank", "pipeline_stage", "stage"]
_STEP = ["job_id", "attempt", "step"]


def charged(slow: pl.DataFrame, ranks: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """Slow steps by who is named for them, with the waiting of the others (CHARGED_SCHEMA).

    slow: rows of `slow_ranks.slow_times`. ranks: a row a rank and step: `job_id`, `attempt`, `step`, `rank`, `role`,
    `host` (null where unknown), `step_ns`. waits: `job_id`, `attempt`, `step`, `rank`, `is_unexplained`,
    `waited_ns`: the waiting of others for the rank while it worked, and while nothing explains what it did.

    All ranks that are slow in the same step are slow together, and who held whom is not known: their waiting is
    charged to nobody. Else a wait is charged to the slow stages of the rank that was waited for in proportion to
    their excess, at most what the excess can have held up: itself once for each other rank.
    """
    placed = _placed(slow, ranks)
    together = placed.filter("is_together").group_by(*_STEP, "stage").agg(own_ns=pl.col("excess_ns").sum())
    parts = [
        _with_waits(placed.filter(~pl.col("is_together")), waits),
        together.with_columns(waited_ns=pl.lit(0, dtype=pl.Int64), most_ns=pl.lit(0, dtype=pl.Int64)),
    ]
    walls = ranks.group_by(_STEP).agg(step_wall_ns=pl.col("step_ns").sum())
    walls = walls.with_columns(
        step_at=pl.col("step").rank("dense").over("job_id", "attempt"), step_count=pl.len().over("job_id", "attempt")
    )
    return (
        pl.concat(parts, how="diagonal")
        .join(walls, on=_STEP)
        .select(pl.col(name).cast(kind) for name, kind in CHARGED_SCHEMA.items())
    )


def _placed(slow: pl.DataFrame, ranks: pl.DataFrame) -> pl.DataFrame:
    """Slow ranks, a row each, with `place`, `pipeline_stage` where that is named instead of them, `is_together`."""
    sized = ranks.with_columns(
        rank_count=pl.len().over(_STEP),
        host_rank_count=pl.len().over(*_STEP, "host"),
        role_rank_count=pl.len().over(*_STEP, "role"),
        role_count=pl.col("role").n_unique().over(_STEP),
        role_host_count=pl.col("host").n_unique().over(*_STEP, "role"),
    )
    alone = slow.filter(pl.col("rank").is_not_null()).join(sized, on=[*_STEP, "rank", "role"])
    whole = slow.filter(pl.col("rank").is_null()).drop("rank").join(sized, on=[*_STEP, "role"])
    is_all = pl.col("role").n_unique().over(*_STEP, "stage") == pl.col("role_count")
    is_one_host = (pl.col("role_host_count") == 1) & (pl.col("host_rank_count") == pl.col("role_rank_count"))
    is_stage = (pl.col("role_rank_count") > 1) & ~is_one_host & (pl.col("role") != "")
    roles = whole.with_columns(
        is_together=is_all & (pl.col("rank_count") > 1),
        pipeline_stage=pl.when(is_stage).then(pl.col("role").cast(pl.Int64, strict=False)),
    )
    slow_ranks = pl.concat([alone.with_columns(is_together=pl.lit(value=False)), roles], how="diagonal")
    on_host = pl.len().over(*_STEP, "stage", "host") >= pl.col("host_rank_count")
    is_whole_host = pl.col("host").is_not_null() & on_host & (pl.col("host_rank_count") > 1)
    stage = pl.concat_str(pl.lit("pipeline stage "), "pipeline_stage")
    return slow_ranks.with_columns(
        place=pl.coalesce(stage, pl.when(is_whole_host).then("host"), pl.col("rank").cast(pl.String))
    )


def _with_waits(placed: pl.DataFrame, waits: pl.DataFrame) -> pl.DataFrame:
    """The waiting for each rank shared to its slow stages; a pipeline stage's ranks are summed."""
    who = [*_STEP, "rank", "is_unexplained"]
    total = pl.col("excess_ns").sum().over(who)
    bearable = pl.min_horizontal(pl.col("waited_ns").fill_null(0), total * (pl.col("rank_count") - 1).cast(pl.Int64))
    is_host = pl.col("place") == pl.col("host")
    inside = pl.when(is_host.fill_null(value=False)).then("host_rank_count").otherwise(1).cast(pl.Int64)
    outside = pl.col("rank_count").cast(pl.Int64) - inside
    outside_stage = pl.col("rank_count").cast(pl.Int64) - pl.col("role_rank_count").cast(pl.Int64)
    shared = (
        placed.with_columns(is_unexplained=pl.col("stage") == UNATTRIBUTED)
        .join(waits, on=who, how="left")
        .sort(*who, "stage")
        .with_columns(bearable=bearable, total=total, until=pl.col("excess_ns").cum_sum().over(who))
        # Shares of a whole by their running sum: they add up to it exactly.
        .with_columns(upto=(pl.col("bearable").cast(pl.Int128) * pl.col("until") // pl.col("total")).cast(pl.Int64))
        .with_columns(
            waited_ns=pl.col("upto") - pl.col("upto").shift(1, fill_value=0).over(who),
            most_ns=pl.when(pl.col("pipeline_stage").is_null())
            .then(pl.col("excess_ns") * outside)
            .otherwise(pl.col("excess_ns") * outside_stage // pl.col("role_rank_count").cast(pl.Int64)),
            rank=pl.when(pl.col("pipeline_stage").is_null()).then("rank"),
        )
    )
    return shared.group_by(*_STEP, "rank", "pipeline_stage", "place", "stage", maintain_order=True).agg(
        own_ns=pl.col("excess_ns").sum(), waited_ns=pl.col("waited_ns").sum(), most_ns=pl.col("most_ns").sum()
    )


def culprits(cost: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """Who is named: a row a run of steps, small runs of the same culprit in one row; the costliest first.

    cost: CHARGED_SCHEMA. jobs: `job_id`, `wall_ns`. Columns: those of `_WHO`, `steps`, `first_step`, `last_step`,
    `own_ns`, `waited_ns`, `lost_ns` (their sum), `share` (of the job's time).
    """
    holding = cost.filter(~_is_idle())
    runs = _runs(holding.join(_concentrated(cost, jobs), on=["job_id", "place", "stage"], nulls_equal=True), jobs)
    named = runs.filter(_is_large())
    rest = runs.join(named, on=[*_WHO, "run"], how="anti", nulls_equal=True).with_columns(run=pl.lit(-1))
    scattered = _summed(rest, jobs).filter(_is_large())
    return (
        pl.concat([named, scattered], how="diagonal")
        .drop("run", "run_wall_ns")
        .sort("lost_ns", *_WHO, "first_step", descending=[True, *[False] * (len(_WHO) + 1)])
    )


def spread(cost: pl.DataFrame, named: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """What many ranks lost now and then, by stage, without anybody who stands out.

    Columns: `job_id`, `stage`, `ranks` (how many), `steps`, `own_ns`, `waited_ns`, `lost_ns`, `share`.
    """
    left = cost.filter(pl.col("rank").is_not_null() & ~_is_idle()).join(
        named, on=["job_id", "place", "stage"], how="anti", nulls_equal=True
    )
    summed = left.group_by("job_id", "stage").agg(
        ranks=pl.col("rank").n_unique(),
        steps=pl.struct("attempt", "step").n_unique(),
        own_ns=pl.col("own_ns").sum(),
        waited_ns=pl.col("waited_ns").sum(),
    )
    return (
        _with_loss(summed, jobs)
        .filter((pl.min_horizontal("ranks", "steps") >= PERSISTENT_STEPS) & (pl.col("share") >= 2 * LOST_SHARE))
        .sort("lost_ns", "job_id", "stage", descending=[True, False, False])
    )


def excess_by_operation(own: pl.DataFrame, slow: pl.DataFrame) -> pl.DataFrame:
    """In which operations the time of slow steps lies above what they usually take in the role.

    own: `job_id`, `attempt`, `step`, `rank`, `role`, `stage`, `operation`, `own_ns`. Columns: `job_id`, `rank`, `role`,
    `stage`, `operation`, `excess_ns`.
    """
    cells = own.group_by("job_id", "role").agg(cells=pl.struct("attempt", "step", "rank").n_unique())
    usual = (
        own.group_by("job_id", "role", "stage", "operation")
        .agg(pl.col("own_ns").median(), done=pl.len())
        .join(cells, on=["job_id", "role"])
        # What ranks do now and then usually takes them no time.
        .with_columns(usual_ns=pl.when(2 * pl.col("done") > pl.col("cells")).then("own_ns").otherwise(0))
        .select("job_id", "role", "stage", "operation", "usual_ns")
    )
    cell = [*_STEP, "role", "stage"]
    of_ranks = own.join(slow.filter(pl.col("rank").is_not_null()), on=[*cell, "rank"], how="semi")
    of_roles = own.join(slow.filter(pl.col("rank").is_null()), on=cell, how="semi")
    return (
        pl.concat([of_ranks, of_roles])
        .unique()
        .join(usual, on=["job_id", "role", "stage", "operation"])
        .group_by("job_id", "rank", "role", "stage", "operation")
        .agg(excess_ns=(pl.col("own_ns") - pl.col("usual_ns")).sum())
    )


def with_operations(named: pl.DataFrame, excess: pl.DataFrame) -> pl.DataFrame:
    """`named` with `operation`: the operations with a fifth of the excess or more, the largest first, by comma."""
    keyed = named.with_row_index("at")
    who = [name for name in ("rank", "pipeline_stage") if name in named.columns]
    candidates = keyed.select("at", "job_id", "stage", *who).join(
        excess.rename({"rank": "of_rank"}), on=["job_id", "stage"], how="left"
    )
    if who:
        is_rank = pl.col("rank") == pl.col("of_rank")
        is_role = pl.col("pipeline_stage").cast(pl.String) == pl.col("role")
        is_everyone = pl.all_horizontal(pl.col(name).is_null() for name in who)
        candidates = candidates.filter(is_rank.fill_null(False) | is_role.fill_null(False) | is_everyone)
    largest = (
        candidates.group_by("at", "operation")
        .agg(pl.col("excess_ns").sum())
        .filter(pl.col("excess_ns") >= pl.max_horizontal(pl.col("excess_ns").sum().over("at") / 5, 1))
        .sort("excess_ns", "operation", descending=[True, False])
        .group_by("at", maintain_order=True)
        .agg(pl.col("operation").str.join(", "))
    )
    return keyed.join(largest, on="at", how="left", maintain_order="left").drop("at")


def _is_idle() -> pl.Expr:
    """Whether a place had time that nothing explains while hardly anybody waited for it: it was idle, not slow.

    Only where it was so in most steps: what sets in and ends again is measured by the steps without it.
    """
    where = ["job_id", "attempt", "place", "stage"]
    is_usual = 2 * pl.col("step").n_unique().over(where) > pl.col("step_count")
    most_ns, waited_ns = pl.col("most_ns").sum().over(where), pl.col("waited_ns").sum().over(where)
    is_held = IDLE_RATIO * waited_ns >= most_ns
    return pl.col("stage").is_in([UNATTRIBUTED, GAP_STAGE]) & pl.col("place").is_not_null() & is_usual & ~is_held


def _concentrated(cost: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    """Places that lost far more in a stage than the typical rank of their job did: `job_id`, `place`, `stage`."""
    lost = cost.group_by("job_id", "stage", "place").agg(
        lost_ns=(pl.col("own_ns") + pl.col("waited_ns")).sum(),
        members=pl.col("rank").n_unique().clip(lower_bound=1),
    )
    # Ranks that lost nothing have no row: the typical one of all ranks is found by counting from the largest.
    typical = (
        lost.filter(pl.col("place").is_not_null())
        .join(jobs.select("job_id", "rank_count"), on="job_id")
        .with_columns(each_ns=pl.col("lost_ns") // pl.col("members"))
        .sort("each_ns", descending=True)
        .with_columns(ahead=pl.col("members").cum_sum().over("job_id", "stage"))
        .filter(pl.col("ahead") > pl.col("rank_count") // 2)
        .group_by("job_id", "stage")
        .agg(typical_ns=pl.col("each_ns").first())
    )
    stands_out = pl.col("lost_ns") > SPREAD_RATIO * pl.col("typical_ns").fill_null(0) * pl.col("members")
    return (
        lost.join(typical, on=["job_id", "stage"], how="left")
        .filter(stands_out | pl.col("place").is_null())
        .select("job_id", "place", "stage")
    )


def _runs(cost: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    is_new = (pl.col("step_at").diff().over(_WHO, order_by="step_at") > STEP_GAP).fill_null(value=False)
    return _summed(
        cost.with_columns(
            run=is_new.cast(pl.Int32).cum_sum().over(_WHO, order_by="step_at"),
            steps=pl.lit(1, dtype=pl.Int64),
            first_step="step",
            last_step="step",
            run_wall_ns="step_wall_ns",
        ),
        jobs,
    )


def _summed(rows: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    runs = rows.group_by(*_WHO, "run").agg(
        pl.col("steps").sum(),
        pl.col("first_step").min(),
        pl.col("last_step").max(),
        pl.col("own_ns", "waited_ns", "run_wall_ns").sum(),
    )
    return _with_loss(runs, jobs)


def _with_loss(rows: pl.DataFrame, jobs: pl.DataFrame) -> pl.DataFrame:
    lost = rows.join(jobs.select("job_id", "wall_ns"), on="job_id").with_columns(
        lost_ns=pl.col("own_ns") + pl.col("waited_ns")
    )
    return lost.with_columns(share=pl.col("lost_ns") / pl.col("wall_ns")).drop("wall_ns")


def _is_large() -> pl.Expr:
    """Whether what a place lost in a run is worth a name; ranks of one host count together.

    Where all ranks were slow together, a single step is no chance.
    """
    together = ["job_id", "attempt", "place", "stage", "run"]
    lost_ns, share = pl.col("lost_ns").sum().over(together), pl.col("share").sum().over(together)
    persists = (pl.col("steps") >= PERSISTENT_STEPS) | pl.col("place").is_null()
    is_episode = (pl.col("steps") >= CERTAIN_STEPS) & (lost_ns >= RUN_SHARE * pl.col("run_wall_ns"))
    return (persists & (share >= LOST_SHARE)) | is_episode | (share >= HICCUP_SHARE)
