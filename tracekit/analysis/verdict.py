"""What a tail answer concludes, as a stable code and in plain sentences."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from tracekit.analysis.blocks import MINIMUM_BLOCKS
from tracekit.analysis.durations import duration_text
from tracekit.analysis.judgement import MINIMUM_UNITS
from tracekit.analysis.split import WAITING_STAGE
from tracekit.analysis.tail_answer import TailAnswer, Verdict

MIX_SHARE = 0.25
"""The tail is "mix, not slowness" when like units are slower by no more than this share of the excess."""

_MAJORITY = 0.5
_CLEAR_RANK_SHARE = 2 / 3
_NAMED_STAGES = 3
_SHOWN_SHARE = 0.01
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

    Like units (same class) may be slower by at most a quarter of the excess, and so may each token where
    token
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


def _of_excess(answer: TailAnswer) -> Verdict:
    if is_mix(answer):
        return "mix_not_slowness"
    certain = answer.stages.filter(pl.col("significant") & (pl.col("excess_ns") > 0))
    if not len(certain):
        return "excess_spread"
    unexplained = int(answer.stages.filter(pl.col("stage") == "unattributed")["excess_ns"].sum())
    return "excess_unattributed" if unexplained > _MAJORITY * answer.excess_ns else "excess_explained"


def _words(stage: str, charged: pl.DataFrame) -> str:
    ranks = charged.filter((pl.col("culprit_stage") == stage) & (pl.col("excess_ns") > 0)).sort(
        "excess_ns", descending=True
    )
    if not len(ranks) or ranks["excess_ns"][0] < _CLEAR_RANK_SHARE * int(ranks["excess_ns"].sum()):
        return stage
    rank = ranks["culprit_rank"][0]
    return stage if rank is None else f"{stage} on rank {rank}"


def _summary(answer: TailAnswer, verdict: Verdict) -> str:
    if verdict == "no_units":
        side = "selection" if not answer.tail_count else "baseline"
        left_out = int(answer.left_out["unit_count"].sum())
        return f"The {side} holds no {answer.unit} with {answer.metric}; {left_out:,} were left out."
    if verdict == "refused":
        return f"No conclusion, because the data cannot bear one: {answer.evidence.reasons[0]}."
    sentences = [_statement(answer), _conclusion(answer, verdict), _level_sentence(answer)]
    return " ".join(sentence for sentence in sentences if sentence)


def _statement(answer: TailAnswer) -> str:
    slowest = answer.quantile > 0
    which = f"The slowest {answer.tail_count:,} of" if slowest else "All"
    against = "their middle"
    if answer.comparison == "selection":
        against = f"the slowest {answer.baseline_count:,} of the baseline" if slowest else "the baseline"
    took = f"take {duration_text(answer.tail_mean_ns)} {_METRICS[answer.metric]}".rstrip()
    difference = f"{duration_text(abs(answer.excess_ns))} {'more' if answer.excess_ns >= 0 else 'less'}"
    return f"{which} {answer.count:,} {answer.unit}s {took}, {difference} than {against}."


def _conclusion(answer: TailAnswer, verdict: Verdict) -> str:
    if verdict == "no_excess":
        return "That is within what chance makes: there is no excess to explain."
    sentences = [_where(answer)]
    if is_mix(answer):
        sentences.append(_mix_sentence(answer))
    if verdict == "excess_spread":
        sentences.append("No single stage stands out from chance.")
    if answer.shortage is not None:
        sentences.append(_shortage_sentence(answer))
    return " ".join(sentences)


def _shortage_sentence(answer: TailAnswer) -> str:
    have, needed = (
        f"{min(answer.tail_count, answer.baseline_count)} on one side",
        f"{MINIMUM_UNITS} {answer.unit}s",
    )
    if answer.shortage == "too_few_blocks":
        have, needed = f"{min(answer.block_counts)} independent blocks of time", f"{MINIMUM_BLOCKS}"
    return f"This holds for these {answer.unit}s only: to generalise takes {needed}, and there are {have}."


def _where(answer: TailAnswer) -> str:
    """The largest parts of an excess, or of an improvement those that became faster."""
    if answer.excess_ns == 0:
        return "Both are equal."
    sign = 1 if answer.excess_ns > 0 else -1
    parts = [(words, part_ns) for words, part_ns in named_causes(answer) if sign * part_ns > 0]
    largest = sorted(parts, key=lambda part: -sign * part[1])[:_NAMED_STAGES]
    shown = [(words, part_ns) for words, part_ns in largest if part_ns / answer.excess_ns >= _SHOWN_SHARE]
    return f"Of that, {', '.join(f'{words} {part_ns / answer.excess_ns:.0%}' for words, part_ns in shown)}."


def _mix_sentence(answer: TailAnswer) -> str:
    rate_ns = int(answer.stages["rate_ns"].sum())
    like_units = f"{duration_text(abs(rate_ns))} {'slower' if rate_ns > 0 else 'faster'}"
    others = f"the slow {answer.unit}s are of other kinds or sizes"
    sentence = f"It is mix, not slowness: {others}, like ones are {like_units}"
    for row in answer.size.filter(pl.col("size_ns") > 0).iter_rows(named=True) if len(answer.size) else ():
        each, before = (
            duration_text(round(row["tail_ns_per_token"])),
            duration_text(round(row["baseline_ns_per_token"])),
        )
        name = row["tokens"].replace("_tokens", "")
        sentence += (
            f"; {row['tail_tokens']:,.0f} {name} tokens at {each} each against "
            f"{row['baseline_tokens']:,.0f} at {before}"
        )
    return f"{sentence}."


def _level_sentence(answer: TailAnswer) -> str:
    """How the middles differ, which is often not how the tails differ."""
    excess_ns = int(answer.levels["excess_ns"].sum())
    # The middles of steps are not split by cause, and waiting alone names nobody.
    if answer.metric == "step" or not len(answer.levels) or excess_ns == 0:
        return ""
    rows = answer.levels.filter(pl.col("share") >= _SHOWN_SHARE).sort(
        "share", "stage", descending=[True, False]
    )
    listed = ", ".join(
        f"{row['stage']} {row['share']:.0%}" for row in rows.head(_NAMED_STAGES).iter_rows(named=True)
    )
    difference = f"{duration_text(abs(excess_ns))} {'more' if excess_ns > 0 else 'less'}"
    return f"The middle of the selection takes {difference} than the middle of the baseline: {listed}."
