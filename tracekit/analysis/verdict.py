"""What a tail answer concludes, as a stable code."""

from __future__ import annotations

import polars as pl

from tracekit.analysis.tail_answer import TailAnswer, Verdict

MIX_SHARE = 0.25
"""The tail is "mix, not slowness" when like units are slower by no more than this share of the excess."""

MAJORITY = 0.5


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
    token counts are known. Where most of the excess has no like units it is never mix.
    """
    if answer.excess_ns <= 0 or lacks_counterparts(answer):
        return False
    limit_ns = MIX_SHARE * answer.excess_ns
    sized = answer.size.filter(pl.col("per_token_ns").is_not_null())
    return answer.stages["rate_ns"].sum() <= limit_ns and sized["per_token_ns"].sum() <= limit_ns


def lacks_counterparts(answer: TailAnswer) -> bool:
    """Whether most of the excess lies in classes of units that only one side has.

    Nothing there is like the other side, so other work and slower work cannot be told apart. The part of a
    class is its mix, less what its units would take at the mean of the baseline.
    """
    if answer.excess_ns <= 0:
        return False
    other_units = pl.col("tail_share") - pl.col("baseline_share")
    one_sided = answer.classes.filter(pl.col("presence") != "both")
    own_ns = one_sided.select(pl.col("mix_ns") - other_units * answer.baseline_mean_ns).sum().item()
    return own_ns > MAJORITY * answer.excess_ns


def larger_work(answer: TailAnswer) -> pl.DataFrame:
    """Rows of `size` with more tokens in the tail than in the baseline."""
    return answer.size.filter(pl.col("tail_tokens") > pl.col("baseline_tokens"))


def _of_excess(answer: TailAnswer) -> Verdict:
    if is_mix(answer):
        return "mix_not_slowness"
    if lacks_counterparts(answer) and len(larger_work(answer)):
        return "size_or_slowness"
    certain = answer.stages.filter(pl.col("significant") & (pl.col("excess_ns") > 0))
    if not len(certain):
        return "excess_spread"
    unexplained = int(answer.stages.filter(pl.col("stage") == "unattributed")["excess_ns"].sum())
    return "excess_unattributed" if unexplained > MAJORITY * answer.excess_ns else "excess_explained"
