"""Which rank made the others wait, in plain sentences."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis import CLEAR_SHARE, LOST_SHARE, MINIMUM_STEPS, TOLD_SHARE, StragglersAnswer, words_for
from tracekit.wording.numbers import duration_text, share_text

_NAMED_CULPRITS = 3
_LISTED = 8


@words_for(StragglersAnswer)
def stragglers_summary(answer: StragglersAnswer) -> str:
    """What a stragglers answer concludes."""
    if answer.verdict == "refused":
        return _conclusion(answer)
    parts = [_conclusion(answer), _scheduled(answer), heavy_stages_text(answer.pipeline), _bubble(answer)]
    return " ".join(part for part in parts if part)


def heavy_stages_text(stages: pl.DataFrame) -> str:
    """A sentence a heavy stage of `StragglersAnswer.pipeline`; empty for none."""
    is_named = stages["job_id"].n_unique() > 1
    return " ".join(_heavy_stage(row, named=is_named) for row in stages.filter("is_heavy").iter_rows(named=True))


def culprit_text(row: dict[str, Any]) -> str:
    """Who a row of `culprits` means."""
    if row["rank"] is not None:
        on = f" on {row['place']}" if row.get("place") not in (None, str(row["rank"])) else ""
        return f"rank {row['rank']}{on}"
    return "all ranks together" if row["pipeline_stage"] is None else f"pipeline stage {row['pipeline_stage']}"


def steps_text(row: dict[str, Any]) -> str:
    """The steps of a row of `culprits`: `step 7`, `steps 7-19`."""
    first, last = row["first_step"], row["last_step"]
    return f"step {first}" if first == last else f"steps {first}-{last}"


def _conclusion(answer: StragglersAnswer) -> str:
    jobs = answer.jobs
    match answer.verdict:
        case "refused":
            return f"No conclusion, because the data cannot bear one: {answer.evidence.reasons[0]}."
        case "no_steps":
            return _nothing(answer)
        case "slow_links":
            return f"{_links(answer)} No rank's own work stands out. {_spread(answer)}".rstrip()
        case "spread":
            return f"{_spread(answer)} No rank stands out."
        case "no_stragglers" | "uneven_pipeline":
            return _unnamed(answer)
        case "too_few_steps":
            longest = max(jobs["step_count"].to_list())
            return f"The longest job has {longest} steps, {MINIMUM_STEPS} are needed for a reference."
    named = "; ".join(_sentence(row) for row in answer.culprits.head(_NAMED_CULPRITS).iter_rows(named=True))
    rest = len(answer.culprits) - _NAMED_CULPRITS
    scope = f"in the {jobs['step_count'].sum():,} steps looked at"
    if len(jobs) > 1:
        scope = "of the job in the steps looked at"
    told = f"{named}{f'; and {rest} more' if rest > 0 else ''}. Shares are of all accelerator time {scope}."
    return " ".join(part for part in (told, _links(answer), _spread(answer)) if part)


def _spread(answer: StragglersAnswer) -> str:
    """What many ranks lost now and then, and what differs between them in every step; empty for nothing."""
    said = [_spread_stage(row) for row in answer.spread.iter_rows(named=True)]
    return " ".join([*said, *(_uneven(row) for row in answer.uneven.iter_rows(named=True))])


def _uneven(row: dict[str, Any]) -> str:
    return (
        f"{row['stage']} differs between the {row['ranks']} ranks in every step, now one and now another longest, by "
        f"{row['deviation']:.0%} for a typical one; {row['operation']} differ together (correlation "
        f"{row['correlation']:.2f}), so what the ranks are given differs, as sequences of different length do. They "
        f"waited at least {duration_text(row['waited_ns'])} for whoever had most, {share_text(row['share'])}."
    )


def _spread_stage(row: dict[str, Any]) -> str:
    what = row["stage"] if row["operation"] is None else f"{row['stage']} ({row['operation']})"
    return (
        f"{what} held up {row['steps']:,} steps, now on one and now on another of {row['ranks']} ranks: "
        f"{duration_text(row['lost_ns'])} lost, {share_text(row['share'])}."
    )


def _scheduled(answer: StragglersAnswer) -> str:
    """What a rank does on a schedule while the others wait; empty for nothing."""
    return " ".join(_scheduled_stage(row) for row in answer.scheduled.head(_NAMED_CULPRITS).iter_rows(named=True))


def _scheduled_stage(row: dict[str, Any]) -> str:
    what = row["stage"] if row["operation"] is None else f"{row['stage']} ({row['operation']})"
    times = "once" if row["steps"] == 1 else f"in {row['steps']:,} steps, as long as it usually does"
    return (
        f"Rank {row['rank']} does {what} {times}: {duration_text(row['own_ns'])}, for which the others waited "
        f"{duration_text(row['waited_ns'])}, {share_text(row['share'])}."
    )


def _sentence(row: dict[str, Any]) -> str:
    what = row["stage"] if row["operation"] is None else f"{row['stage']} ({row['operation']})"
    lost = f"{duration_text(row['lost_ns'])} lost, {share_text(row['share'])}"
    assumed = " (all ranks leave it together; that this one writes it is assumed)" if row.get("is_assumed") else ""
    return f"{what} on {culprit_text(row)}, {steps_text(row)}: {lost}{assumed}"


def link_text(row: dict[str, Any]) -> str:
    """Which ranks a row of `links` means: `group dp-2, ranks 2, 6 and 10`."""
    ranks = row["ranks"]
    listed = (
        f"ranks {_listed(ranks)}" if len(ranks) <= _LISTED else f"{len(ranks)} ranks from {ranks[0]} to {ranks[-1]}"
    )
    hosts = f" on {_listed(row['hosts'])}" if 0 < len(row["hosts"]) <= _LISTED else ""
    group = f"group {row['collective_group']}, " if row["collective_group"] else ""
    return f"{group}{listed}{hosts}"


def _links(answer: StragglersAnswer) -> str:
    """A sentence a slow group of collectives; empty for none."""
    rows = answer.links.head(_NAMED_CULPRITS).to_dicts()
    rest = len(answer.links) - len(rows)
    return " ".join([*map(link_sentence, rows), *([f"{rest} more groups are slow."] if rest > 0 else [])])


def link_sentence(row: dict[str, Any]) -> str:
    peers = "its peer takes" if row["peer_count"] == 1 else f"its {row['peer_count']} peers take"
    beside = peers if row["peer_count"] else "it usually takes"
    return (
        f"Transfer of {row['collective_name'] or 'collectives'} in {link_text(row)}: it takes "
        f"{duration_text(row['transfer_ns'])} where {beside} {duration_text(row['usual_ns'])}, {steps_text(row)}: "
        f"{duration_text(row['lost_ns'])} lost, {share_text(row['share'])}. {_place(row)}"
    )


def _place(row: dict[str, Any]) -> str:
    """Where in a group of ranks the slow link may be."""
    where = row["candidates"]
    if where[0].startswith("host") or len(where) == 1:
        return f"The slow link is at {where[0]}."
    if len(where) == len(row["ranks"]):
        return "Which of their links is slow, the spans do not tell."
    return f"The slow link is at one of {_listed(where)}."


def _listed(values: list[Any]) -> str:
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _bubble(answer: StragglersAnswer) -> str:
    """How much of the waiting in a pipeline is the schedule's own; empty for nothing."""
    if not answer.bubble_ns:
        return ""
    return (
        f"Of {duration_text(answer.waited_ns)} of waiting {share_text(answer.bubble_ns / answer.waited_ns)} is the "
        f"pipeline's own bubble, there whoever is slow ({share_text(answer.bubble_ns / answer.wall_ns)} of all time)."
    )


def _unnamed(answer: StragglersAnswer) -> str:
    """What can be said where no rank's own work stands out."""
    summary = f"No rank's own work stands out in {answer.jobs['step_count'].sum():,} steps."
    waited_ns = answer.waited_ns
    if waited_ns < LOST_SHARE * int(answer.jobs["wall_ns"].sum()) or not waited_ns:
        return summary
    return f"{summary} The ranks waited {duration_text(waited_ns)} for each other, {_whom(answer, waited_ns)}."


def _whom(answer: StragglersAnswer, waited_ns: int) -> str:
    if answer.waited_for.is_empty():
        return "for no rank in particular"
    job_id, rank, most_ns = answer.waited_for.row(0)
    is_clear = most_ns > max(CLEAR_SHARE, 2 / _rank_count(answer, job_id)) * waited_ns
    if not is_clear or most_ns < TOLD_SHARE * answer.wall_ns:
        return "for no rank in particular"
    which = f" of job {job_id!r}" if answer.waited_for["job_id"].n_unique() > 1 else ""
    return f"{most_ns / waited_ns:.0%} of it for rank {rank}{which}"


def _rank_count(answer: StragglersAnswer, job_id: str) -> int:
    """Ranks of a job, at least the three that make "no rank in particular" mean something."""
    return max(3, *answer.jobs.filter(pl.col("job_id") == job_id)["rank_count"].to_list())


def _nothing(answer: StragglersAnswer) -> str:
    """What there is instead of the job that was asked for."""
    if not answer.other_jobs:
        return "The store holds no training steps."
    known = ", ".join(map(repr, answer.other_jobs))
    return f"The store holds no steps of job {answer.job!r}; there are steps of {known}."


def _heavy_stage(row: dict[str, Any], *, named: bool) -> str:
    which = f"Pipeline stage {row['pipeline_stage']}" + (f" of job {row['job_id']!r}" if named else "")
    taken, typical = duration_text(row["compute_ns"]), duration_text(row["typical_ns"])
    cause = _heavy_cause(row)
    return (
        f"{which} computes {taken} in a typical step where the typical stage takes {typical}, {cause}. "
        f"Others waited {duration_text(row['waited_ns'])} for it."
    )


def _heavy_cause(row: dict[str, Any]) -> str:
    """Why a stage may be heavy; a host that is the whole stage cannot be told from the cut of the model."""
    host = row.get("host")
    if row["rank_count"] == 1:
        where = "" if host is None else f" on {host}"
        return f"on its one rank{where}: a heavy cut of the model or a slow rank, the spans do not tell which"
    if host is not None:
        return (
            f"all its {row['rank_count']} ranks alike, and they are the whole of {host}: an uneven cut of the model or "
            "a slow host, the spans do not tell which"
        )
    return f"all its {row['rank_count']} ranks alike: the cut of the model, or what the stage was given, is uneven"
