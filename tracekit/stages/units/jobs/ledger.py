"""The ledger of a job: every nanosecond of every requested accelerator in exactly one leaf.

Each process of an attempt has its own line of instants, from the attempt's beginning to its end; what lies
between two of them is one leaf, and inside the kept steps their stages. Lines are exact, so sums are.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

import polars as pl

from tracekit.stages.units.jobs.extremes import least, most
from tracekit.stages.units.jobs.life import Attempt, of_scheduler
from tracekit.stages.units.jobs.places import PLACE, covered

STEP = "step"
"""Kept steps whose inside nothing tells."""

LEAF_SCHEMA = pl.Schema({"leaf": pl.String, "accelerators": pl.Int64, "each_ns": pl.Int64, "is_derived": pl.Boolean})
_QUEUE_OR_GANG = "unsplit(job.queue|job.gang_wait)"
_QUEUE_OR_IDLE = "unsplit(job.queue|job.degraded_idle)"
_STEP_OR_LOST = "unsplit(step|job.lost_work)"
_STEP_OR_POST = "unsplit(step|job.post)"


def attempt_leaves(
    attempt: Attempt, *, accelerators: int, step_stages: pl.DataFrame, grants: pl.DataFrame, held: pl.DataFrame
) -> pl.DataFrame:
    """Leaves of one attempt (LEAF_SCHEMA): `accelerators` spent `each_ns` in `leaf`; derived where no span tells it.

    `sum(accelerators * each_ns)` is the number of accelerators of the job times the attempt's length.
    """
    world = min(accelerators, _world(attempt, accelerators))
    lines = _lines(attempt, world)
    parts = [
        _granting(attempt, world, grants, held),
        _outside(attempt, accelerators - world, held),
        _instants(attempt, lines),
        _inside_steps(attempt, lines, step_stages),
    ]
    rows = pl.concat([part.select(list(LEAF_SCHEMA)).cast(LEAF_SCHEMA) for part in parts])
    return (
        rows.filter(pl.col("each_ns") != 0, pl.col("accelerators") != 0)
        .group_by("leaf", "each_ns", "is_derived")
        .agg(pl.col("accelerators").sum())
        .select(list(LEAF_SCHEMA))
        .sort("leaf", "each_ns", "is_derived")
    )


def _world(attempt: Attempt, accelerators: int) -> int:
    """Accelerators in the running world: told, else those whose processes were seen, else all."""
    return attempt.world_size or int(attempt.members["weight"].sum()) or accelerators


def _lines(attempt: Attempt, world: int) -> pl.DataFrame:
    """The members of the attempt with their instants, and one line for accelerators whose processes told nothing.

    Adds `m0_ns` … `m3_ns` (all granted, process, first step, end of the kept steps) to the columns of `places`.
    """
    members = _fitted(attempt.members, world)
    unseen = world - int(members["weight"].sum())
    lines = members.with_columns(is_seen=pl.lit(value=True))
    if unseen:
        nobody = {"attempt": attempt.number, "weight": unseen, "own_steps": 0, "is_seen": False}
        lines = pl.concat([lines, pl.DataFrame([nobody])], how="diagonal_relaxed")
    return _with_instants(attempt, lines)


def _fitted(members: pl.DataFrame, world: int) -> pl.DataFrame:
    """Processes never stand for more accelerators than the world has: the last ones stand for less."""
    before = pl.col("weight").cum_sum() - pl.col("weight")
    left = (pl.lit(world) - before).clip(lower_bound=0)
    return members.sort("rank").with_columns(weight=pl.min_horizontal(pl.col("weight").cast(pl.Int64), left))


def _with_instants(attempt: Attempt, lines: pl.DataFrame) -> pl.DataFrame:
    cap, typical = attempt.stopped_ns, pl.col
    first = pl.col("first_ns").cast(pl.Int64)
    untold = attempt.progress.first_step is not None
    usual_first = first.median().cast(pl.Int64) if untold else pl.lit(None, dtype=pl.Int64)
    known = lines.with_columns(
        is_derived=typical("process_ns").is_null(),
        process_ns=pl.coalesce(pl.col("process_ns").cast(pl.Int64), pl.col("process_ns").median().cast(pl.Int64)),
        load_ns=pl.coalesce(pl.col("load_ns").cast(pl.Int64), pl.col("load_ns").median().cast(pl.Int64), pl.lit(0)),
        first_ns=pl.coalesce(first, usual_first, pl.lit(_first_progress_ns(attempt), dtype=pl.Int64)),
    )
    kept = known.join(_own_kept(attempt, known), on="rank", how="left").with_columns(
        kept_ns=pl.coalesce("own_kept_ns", pl.lit(_kept_ns(attempt), dtype=pl.Int64))
    )
    m0 = pl.lit(attempt.all_granted_ns, dtype=pl.Int64)
    return (
        kept.with_columns(m0_ns=pl.min_horizontal(m0, pl.lit(cap)))
        .with_columns(m1_ns=_between(pl.coalesce("process_ns", "first_ns", pl.lit(cap)), "m0_ns", cap))
        .with_columns(m2_ns=_between(pl.coalesce("first_ns", pl.lit(cap)), "m1_ns", cap))
        .with_columns(m3_ns=_between(pl.coalesce("kept_ns", "m2_ns"), "m2_ns", cap))
    )


def _between(value: pl.Expr, low: str, high: int) -> pl.Expr:
    return pl.min_horizontal(pl.max_horizontal(value, pl.col(low)), pl.lit(high, dtype=pl.Int64))


def _first_progress_ns(attempt: Attempt) -> int | None:
    """Start of the first summed steps, or the end of preparation where something was made after it."""
    sums = least(attempt.spans.filter(pl.col("phase") == "steps")["start_ns"])
    made = attempt.progress.made_step is not None
    return sums if sums is not None or not made else most(attempt.members["prepared_ns"])


def _kept_ns(attempt: Attempt) -> int | None:
    """When the last kept step of the attempt and its save were done, as its summaries tell."""
    progress = attempt.progress
    if progress.made_step is None:
        return None
    if attempt.kept_before is None or attempt.kept_before > progress.made_step:
        return progress.last_ns if attempt.is_failed else attempt.stopped_ns
    if progress.first_step is not None and attempt.kept_before <= progress.first_step:
        return None
    done = progress.done_ns(attempt.kept_before - 1)
    return None if done is None else done[0]


def _kept_steps(attempt: Attempt) -> pl.DataFrame:
    """Step spans of the attempt that were kept, each cut where the one before on its rank still ran."""
    steps = attempt.spans.filter(pl.col("phase") == "step", pl.col("step").is_not_null(), pl.col("rank").is_not_null())
    if attempt.kept_before is not None:
        steps = steps.filter(pl.col("step") < attempt.kept_before)
    if attempt.is_failed:
        steps = steps.filter(~pl.col("is_error"))
    before_ns = pl.col("end_ns").cum_max().shift(1).over("rank")
    return steps.sort("rank", "start_ns", "end_ns").with_columns(
        from_ns=pl.min_horizontal(
            pl.max_horizontal("start_ns", before_ns.fill_null(pl.col("start_ns"))), pl.col("end_ns")
        ),
        until_ns=pl.min_horizontal("end_ns", pl.lit(attempt.stopped_ns)),
    )


def _own_kept(attempt: Attempt, lines: pl.DataFrame) -> pl.DataFrame:
    """When each rank with steps of its own ended the last kept one and the save behind it: `rank`, `own_kept_ns`."""
    if not lines["own_steps"].sum():
        return pl.DataFrame(schema={"rank": lines.schema["rank"], "own_kept_ns": pl.Int64})
    kept = _kept_steps(attempt).group_by("rank").agg(steps_ns=pl.col("end_ns").max())
    saves = _own_beside(attempt).group_by("rank").agg(beside_ns=pl.col("end_ns").max())
    ranks = lines.filter(pl.col("own_steps") > 0).select("rank", "first_ns")
    ends = ranks.join(kept, on="rank", how="left").join(saves, on="rank", how="left")
    # No step was kept: the kept part ends where it begins.
    own = pl.when(pl.col("steps_ns").is_null()).then("first_ns").otherwise(pl.max_horizontal("steps_ns", "beside_ns"))
    return ends.select("rank", own_kept_ns=own)


def _own_beside(attempt: Attempt) -> pl.DataFrame:
    """Saves and other work of ranks, kept steps only, wherever they lie."""
    beside = attempt.spans.filter(pl.col("phase").is_in(["save", "custom"]), pl.col("rank").is_not_null())
    number = pl.coalesce("step", "last_step")
    if attempt.kept_before is None:
        return beside
    return beside.filter(number.is_null() | (number < attempt.kept_before))


def _granting(attempt: Attempt, world: int, grants: pl.DataFrame, held: pl.DataFrame) -> pl.DataFrame:
    """From the attempt's beginning until all accelerators were granted: queue, then waiting for the rest."""
    begun_ns, all_ns = attempt.begun_ns, min(attempt.all_granted_ns, attempt.stopped_ns)
    ids = of_scheduler(attempt.spans, "queue")["span_id"]
    told = grants.filter(pl.col("span_id").is_in(ids.implode()))
    if int(told["accelerators"].sum()) == world:
        return _granted_at(told, begun_ns, all_ns)
    own = _own_grants(attempt, world)
    if own is not None:
        return _granted_at(own, begun_ns, all_ns)
    first_ns = least(of_scheduler(attempt.spans, "gang_wait")["start_ns"])
    if first_ns is None:
        # The scheduler's spans were lost, or there are none: its gauge tells to its interval how many it had granted.
        lost = _by_gauge(held, world, begun_ns, all_ns, "job.gang_wait", "job.queue") if ids.is_empty() else []
        return _rows(lost or [("job.queue", world, all_ns - begun_ns, False)])
    first_ns = min(max(first_ns, begun_ns), all_ns)
    queued = [("job.queue", world, first_ns - begun_ns, False)]
    waiting = _by_gauge(held, world, first_ns, all_ns, "job.gang_wait", "job.queue")
    return _rows([*queued, *(waiting or [(_QUEUE_OR_GANG, world, all_ns - first_ns, False)])])


def _granted_at(grants: pl.DataFrame, begun_ns: int, all_ns: int) -> pl.DataFrame:
    """Queue until each grant (`time_ns`, `accelerators`), then waiting for the last one."""
    at_ns = pl.col("time_ns").clip(begun_ns, all_ns)
    leaves = {"job.queue": at_ns - begun_ns, "job.gang_wait": pl.lit(all_ns) - at_ns}
    return pl.concat([
        grants.select(leaf=pl.lit(leaf), accelerators=pl.col("accelerators").cast(pl.Int64), each_ns=length,
                      is_derived=pl.lit(value=False))
        for leaf, length in leaves.items()
    ])  # fmt: skip


def _own_grants(attempt: Attempt, world: int) -> pl.DataFrame | None:
    """Grants of single processes, where each tells how long it was queued; None unless they are the whole world."""
    queued = attempt.spans.filter(pl.col("phase") == "queue", pl.col("rank").is_not_null())
    ends = queued.group_by("rank").agg(time_ns=pl.col("end_ns").max())
    known = ends.join(attempt.members.select("rank", accelerators="weight"), on="rank")
    return known if int(known["accelerators"].sum()) == world else None


def _outside(attempt: Attempt, idle: int, held: pl.DataFrame) -> pl.DataFrame:
    """Accelerators of the job that are not in this attempt's world: granted and idle, or still queued for."""
    begun_ns, end_ns = attempt.begun_ns, attempt.end_ns
    if not idle:
        return _rows([])
    world = attempt.world_size or 0
    spare = held.with_columns((pl.col("accelerators") - world).clip(0, idle))
    split = _by_gauge(spare, idle, begun_ns, end_ns, "job.degraded_idle", "job.queue")
    return _rows(split or [(_QUEUE_OR_IDLE, idle, end_ns - begun_ns, False)])


def _by_gauge(
    held: pl.DataFrame, count: int, from_ns: int, until_ns: int, there: str, missing: str
) -> list[tuple[str, int, int, bool]]:
    """Time of accelerators that were held (`there`) and not held (`missing`), as a gauge's readings tell.

    A change between two readings counts from their middle. Empty where there is no reading in the interval.
    """
    inside = held.filter(pl.col("time_ns") > from_ns, pl.col("time_ns") <= until_ns)
    if inside.is_empty() or until_ns <= from_ns:
        return []
    times, values = inside["time_ns"].to_list(), inside["accelerators"].to_list()
    edges = [from_ns, *((a + b) // 2 for a, b in pairwise(times)), until_ns]
    rows = []
    for value, (start_ns, end_ns) in zip(values, pairwise(edges), strict=True):
        here = min(max(value, 0), count)
        rows += [(there, here, end_ns - start_ns, True), (missing, count - here, end_ns - start_ns, True)]
    return rows


def _rows(rows: Iterable[tuple[str, int, int, bool]]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=LEAF_SCHEMA, orient="row")


def _instants(attempt: Attempt, lines: pl.DataFrame) -> pl.DataFrame:
    """Leaves outside the kept steps: what lies between two instants of each line."""
    load = pl.min_horizontal(pl.col("load_ns"), pl.col("m2_ns") - pl.col("m1_ns"))
    after = _behind(attempt)
    lost = _STEP_OR_LOST if attempt.is_doubtful else "job.lost_work"
    stopped = pl.col("m3_ns") if not attempt.is_failed else pl.lit(attempt.stopped_ns, dtype=pl.Int64)
    declared_ns = max(attempt.declared_ns, attempt.stopped_ns)
    declared = stopped if not attempt.is_failed else pl.lit(declared_ns, dtype=pl.Int64)
    leaves = {
        "job.provision": pl.col("m1_ns") - pl.col("m0_ns"),
        "job.checkpoint_load": load,
        "job.init": pl.col("m2_ns") - pl.col("m1_ns") - load,
        lost: stopped - pl.col("m3_ns"),
        "job.detect": declared - stopped,
        after: pl.lit(attempt.end_ns, dtype=pl.Int64) - declared,
    }
    derived = pl.col("is_derived") | ~pl.col("is_seen")
    return pl.concat([
        lines.select(leaf=pl.lit(leaf), accelerators="weight", each_ns=length, is_derived=derived)
        for leaf, length in leaves.items()
    ])  # fmt: skip


def _behind(attempt: Attempt) -> str:
    """What the time behind the last step is; of steps without numbers nobody knows which one was the last."""
    if attempt.is_failed or not attempt.is_last:
        return "job.recover"
    is_unnumbered = attempt.progress.made_step is None and bool(attempt.members["own_steps"].sum())
    return _STEP_OR_POST if is_unnumbered else "job.post"


def _inside_steps(attempt: Attempt, lines: pl.DataFrame, step_stages: pl.DataFrame) -> pl.DataFrame:
    """Leaves between the first step and the end of the kept ones: of each rank's own steps, else of the summaries."""
    own, summed = lines.filter(pl.col("own_steps") > 0), lines.filter(pl.col("own_steps") == 0)
    parts = [_rows([])]
    if own.height:
        parts.append(_own_inside(attempt, own, step_stages))
    if summed.height:
        parts.append(_summed_inside(attempt, summed))
    return pl.concat([part.cast(LEAF_SCHEMA) for part in parts])


def _summed_inside(attempt: Attempt, lines: pl.DataFrame) -> pl.DataFrame:
    """Kept steps of processes without step spans: the saves that anybody tells, all else is step time."""
    saves = attempt.spans.filter(pl.col("phase") == "save")
    customs = attempt.spans.filter(pl.col("phase") == "custom")
    windows = lines.select("rank", "weight", "m2_ns", "m3_ns", "is_seen").with_row_index("line")
    filled, beside = windows, [saves]
    for name, more in {"save_ns": [], "both_ns": [customs], "all_ns": [_between_sums(attempt)]}.items():
        beside = [frame.select("start_ns", "end_ns") for frame in (*beside, *more)]
        filled = filled.join(_inside(windows, pl.concat(beside), name), on="line", how="left")
    filled = filled.fill_null(0)
    gaps = "job.checkpoint_save" if saves.height else "unattributed"
    seen, derived = ~pl.col("is_seen"), pl.lit(value=True)
    leaves = [
        ("job.checkpoint_save", pl.col("save_ns"), seen),
        ("job.custom", pl.col("both_ns") - pl.col("save_ns"), seen),
        (STEP, pl.col("m3_ns") - pl.col("m2_ns") - pl.col("all_ns"), seen),
        (gaps, pl.col("all_ns") - pl.col("both_ns"), derived),
    ]
    return pl.concat([
        filled.select(leaf=pl.lit(leaf), accelerators=pl.col("weight").cast(pl.Int64), each_ns=length,
                      is_derived=is_derived)
        for leaf, length, is_derived in leaves
    ])  # fmt: skip


def _between_sums(attempt: Attempt) -> pl.DataFrame:
    """Gaps between summaries of steps that follow each other: nothing but a save lies between two of them."""
    sums = attempt.spans.filter(pl.col("phase") == "steps", pl.col("first_step").is_not_null()).sort("first_step")
    follows = pl.col("first_step") == pl.col("last_step").shift(1) + 1
    gaps = sums.with_columns(follows=follows, from_ns=pl.col("end_ns").shift(1)).filter("follows")
    return gaps.filter(pl.col("start_ns") > pl.col("from_ns")).select(start_ns="from_ns", end_ns="start_ns")


def _inside(windows: pl.DataFrame, intervals: pl.DataFrame, name: str) -> pl.DataFrame:
    """Length of the union of intervals inside each line's window: `line`, `name`."""
    bounds = windows.select("m2_ns", "m3_ns").unique().with_row_index("window")
    cut = (
        bounds.join(intervals.select("start_ns", "end_ns"), how="cross")
        .with_columns(
            start_ns=pl.max_horizontal("start_ns", "m2_ns"),
            end_ns=pl.min_horizontal("end_ns", "m3_ns"),
        )
        .filter(pl.col("end_ns") > pl.col("start_ns"))
    )
    lengths = bounds.join(covered(cut, ["window"], name), on="window", how="left")
    return windows.join(lengths, on=["m2_ns", "m3_ns"], how="left").select("line", name)


def _own_inside(attempt: Attempt, lines: pl.DataFrame, step_stages: pl.DataFrame) -> pl.DataFrame:
    """Kept steps by the stages of each rank's own spans; between them its saves and what nobody explains."""
    steps = _kept_steps(attempt).join(lines.select("rank", "weight", "m2_ns", "m3_ns"), on="rank")
    from_ns, until_ns = pl.max_horizontal("from_ns", "m2_ns"), pl.min_horizontal("until_ns", "m3_ns")
    steps = steps.with_columns(length_ns=(until_ns - from_ns).clip(lower_bound=0))
    stages = _stages_of(steps, step_stages)
    inside = steps.select("rank", "start_ns", "end_ns")
    saves = _own_beside(attempt).filter(pl.col("phase") == "save").select("rank", "start_ns", "end_ns")
    beside = _own_beside(attempt).select("rank", "start_ns", "end_ns")
    windows = lines.select("rank", "weight", "m2_ns", "m3_ns")
    unions = windows
    for name, parts in {
        "steps_ns": [inside], "saves_ns": [inside, saves], "all_ns": [inside, beside],
    }.items():  # fmt: skip
        cut = _cut(pl.concat(parts), windows)
        unions = unions.join(covered(cut, ["rank"], name), on="rank", how="left")
    filled = unions.fill_null(0)
    leaves = {
        "job.checkpoint_save": pl.col("saves_ns") - pl.col("steps_ns"),
        "job.custom": pl.col("all_ns") - pl.col("saves_ns"),
        "unattributed": pl.col("m3_ns") - pl.col("m2_ns") - pl.col("all_ns"),
    }
    return pl.concat([
        stages,
        *(
            filled.select(leaf=pl.lit(leaf), accelerators=pl.col("weight").cast(pl.Int64), each_ns=length,
                          is_derived=pl.lit(value=False))
            for leaf, length in leaves.items()
        ),
    ])  # fmt: skip


def _cut(intervals: pl.DataFrame, windows: pl.DataFrame) -> pl.DataFrame:
    return (
        intervals.join(windows, on="rank")
        .with_columns(start_ns=pl.max_horizontal("start_ns", "m2_ns"), end_ns=pl.min_horizontal("end_ns", "m3_ns"))
        .filter(pl.col("end_ns") > pl.col("start_ns"))
    )


def _stages_of(steps: pl.DataFrame, step_stages: pl.DataFrame) -> pl.DataFrame:
    """Stages of the steps, summed by rank; a step that is not wholly there or not split is one piece."""
    split = steps.join(step_stages, on="span_id", how="left")
    told_ns = pl.col("self_ns").fill_null(0).sum().over("rank", "span_id")
    is_whole = (told_ns == pl.col("length_ns")) & pl.col("stage").is_not_null()
    whole = split.filter(is_whole).select("rank", "weight", leaf="stage", each_ns="self_ns")
    pieces = (
        split.filter(~is_whole)
        .unique(["rank", "span_id"])
        .select("rank", "weight", leaf=pl.lit(STEP), each_ns="length_ns")
    )
    return (
        pl.concat([whole, pieces])
        .group_by("rank", "leaf")
        .agg(pl.col("weight").first().cast(pl.Int64), pl.col("each_ns").sum())
        .select("leaf", accelerators="weight", each_ns="each_ns", is_derived=pl.lit(value=False))
    )


__all__ = ["LEAF_SCHEMA", "PLACE", "STEP", "attempt_leaves"]
