"""What a tail answer concludes, as a stable code and in plain sentences."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from tracekit.analysis.blocks import MINIMUM_BLOCKS
from tracekit.analysis.judgement import MINIMUM_UNITS
from tracekit.analysis.split import WAITING_STAGE
from tracekit.analysis.tail_answer import TailAnswer, Verdict

MIX_SHARE = 0.25
"""The tail is "mix, not slowness" when like units are slower by no more than this share of the excess."""

_MAJORITY = 0.5
_CLEAR_RANK_SHARE = 2 / 3
_NAMED_STAGES = 3
_METRICS = {
    "ttft": "to the first token",
    "tpot": "for each token after the first",
    "e2e": "from end to end",
    "step": "",
}


def concluded(answer: TailAnswer) -> TailAnswer:
    """The answer with its `verdict` and `summary`."""
    verdict = verdict_of(answer)
    return replace(answer, verdict=verdict, summary=_summary(answer, verdict))


def verdict_of(answer: TailAnswer) -> Verdict:
    """The code of the conclusion; the first that applies, in the order written here."""
    if not answer.tail_count or not answer.baseline_count:
        return "no_units"
    if answer.evidence.verdict == "refused":
        return "refused"
    if answer.shortage == "too_few_units":
        return "too_few_units"
    if answer.shortage == "too_few_blocks":
        return "too_few_blocks"
    if not answer.significant:
        return "no_excess"
    return "improved" if answer.excess_ns < 0 else _of_excess(answer)


def is_mix(answer: TailAnswer) -> bool:
    """Whether the excess comes from other units in the tail and not from slower ones.

    Like units (same class) may be slower by at most a quarter of the excess, and so may each token where token
    counts are known: classes on one side only have no like units, and their time must not pass for mix.
    """
    if answer.excess_ns <= 0:
        return False
    limit_ns = MIX_SHARE * answer.excess_ns
    sized = answer.size.filter(pl.col("per_token_ns").is_not_null()) if len(answer.size) else answer.size
    one_sided = answer.classes.filter(pl.col("presence") == "tail only")["tail_share"].sum()
    if not len(sized) and one_sided > _MAJORITY:
        return False
    slower_ns = sized["per_token_ns"].sum() if len(sized) else 0
    return answer.stages["rate_ns"].sum() <= limit_ns and slower_ns <= limit_ns


def named_causes(answer: TailAnswer) -> list[tuple[str, int]]:
    """Where the excess lies, largest first, as (words, nanoseconds); the parts sum to the excess.

    Waiting of training ranks is charged to the stage and rank that was waited for.
    """
    charged = answer.causes.group_by("culprit_stage", "culprit_rank").agg(pl.col("excess_ns").sum())
    parts: dict[str, int] = {}
    for stage, excess_ns in answer.stages.select("stage", "excess_ns").iter_rows():
        if stage != WAITING_STAGE or not len(charged):
            parts[stage] = parts.get(stage, 0) + excess_ns
    for stage, excess_ns in charged.select("culprit_stage", "excess_ns").iter_rows():
        parts[stage] = parts.get(stage, 0) + excess_ns
    ordered = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
    return [(_words(stage, charged), excess_ns) for stage, excess_ns in ordered]


def duration_text(duration_ns: int) -> str:
    """A duration for people: 1.23 s, 45.6 ms, 7.89 us, 12 ns."""
    for unit, size in (("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1000)):
        if abs(duration_ns) >= size:
            return (
                f"{duration_ns / size:.3g} {unit}"
                if abs(duration_ns) < 1000 * size
                else f"{duration_ns / size:,.0f} s"
            )
    return f"{duration_ns} ns"


def _of_excess(answer: TailAnswer) -> Verdict:
    if is_mix(answer):
        return "mix_not_slowness"
    certain = answer.stages.filter(pl.col("significant") & (pl.col("excess_ns") > 0))
    if not len(certain):
        return "excess_spread"
    unexplained = answer.stages.filter(pl.col("stage") == "unattributed")["excess_ns"].sum()
    return "excess_unattributed" if unexplained > _MAJORITY * answer.excess_ns else "excess_explained"


def _words(stage: str, charged: pl.DataFrame) -> str:
    ranks = charged.filter((pl.col("culprit_stage") == stage) & (pl.col("excess_ns") > 0)).sort(
        "excess_ns", descending=True
    )
    if not len(ranks) or ranks["excess_ns"][0] < _CLEAR_RANK_SHARE * ranks["excess_ns"].sum():
        return stage
    rank = ranks["culprit_rank"][0]
    return stage if rank is None else f"{stage} on rank {rank}"


def _summary(answer: TailAnswer, verdict: Verdict) -> str:
    if verdict == "no_units":
        side = "selection" if not answer.tail_count else "baseline"
        left_out = int(answer.left_out["unit_count"].sum())
        return f"The {side} holds no {answer.unit} with {answer.metric}; {left_out:,} were left out."
    sentences = [_statement(answer), _conclusion(answer, verdict), _level_sentence(answer)]
    return " ".join(sentence for sentence in sentences if sentence)


def _statement(answer: TailAnswer) -> str:
    what = f"{answer.count:,} {answer.unit}s"
    which = f"The slowest {answer.tail_count:,} of {what}" if answer.quantile > 0 else f"All {what}"
    against = "their middle" if answer.comparison == "body" else "the baseline"
    if answer.comparison == "selection" and answer.quantile > 0:
        against = f"the slowest {answer.baseline_count:,} of the baseline"
    direction = "more" if answer.excess_ns >= 0 else "less"
    took = " ".join(filter(None, [f"take {duration_text(answer.tail_mean_ns)}", _METRICS[answer.metric]]))
    return f"{which} {took}, {duration_text(abs(answer.excess_ns))} {direction} than {against}."


def _conclusion(answer: TailAnswer, verdict: Verdict) -> str:
    where = _where(answer)
    blocks = min(answer.block_counts, default=0)
    match verdict:
        case "refused":
            return f"No conclusion: {answer.evidence.reasons[0]}."
        case "too_few_units":
            fewest = min(answer.tail_count, answer.baseline_count)
            return f"{where} Only {fewest} units on one side, {MINIMUM_UNITS} are needed to generalise."
        case "too_few_blocks":
            return (
                f"{where} That holds for these {answer.unit}s; they make only {blocks} independent blocks of time, "
                f"{MINIMUM_BLOCKS} are needed to generalise."
            )
        case "no_excess":
            return "That is within what chance makes: there is no excess to explain."
        case "mix_not_slowness":
            return f"{where} {_mix_sentence(answer)}"
        case "excess_spread":
            return f"{where} No single stage stands out from chance."
    return where


def _where(answer: TailAnswer) -> str:
    if answer.excess_ns == 0:
        return "Both are equal."
    # Of an improvement the stages that became faster are named.
    sign = 1 if answer.excess_ns > 0 else -1
    parts = [(words, part_ns) for words, part_ns in named_causes(answer) if sign * part_ns > 0]
    parts = sorted(parts, key=lambda part: -sign * part[1])[:_NAMED_STAGES]
    listed = ", ".join(f"{words} {part_ns / answer.excess_ns:.0%}" for words, part_ns in parts)
    return f"Of that, {listed}."


def _mix_sentence(answer: TailAnswer) -> str:
    rate_ns = int(answer.stages["rate_ns"].sum())
    direction = "slower" if rate_ns > 0 else "faster"
    return (
        "It is the mix, not slowness: the slow ones are other (larger) units, "
        f"and units of the same class are {duration_text(abs(rate_ns))} {direction}."
    )


def _level_sentence(answer: TailAnswer) -> str:
    """How the middles differ, which is not where the tails differ."""
    body = answer.levels.filter(pl.col("level") == "body")
    excess_ns = int(body["excess_ns"].sum())
    if not len(body) or answer.quantile == 0 or excess_ns <= 0:
        return ""
    listed = ", ".join(f"{row['stage']} {row['share']:.0%}" for row in body.head(2).iter_rows(named=True))
    return f"The middle of the selection takes {duration_text(excess_ns)} more than that of the baseline: {listed}."
