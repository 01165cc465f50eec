"""What a tail answer concludes, as a stable code."""

from __future__ import annotations

import polars as pl

from tracekit.analysis.tail.answer import TailAnswer
from tracekit.analysis.tail.split import GROWN_FACTOR, LARGE_FACTOR, TRIFLE_SHARE
from tracekit.analysis.tail.whose import CLEAR_FACTOR, DOUBTFUL, clear_whose
from tracekit.schema import UNATTRIBUTED, ServingStage, TailVerdict

MIX_SHARE = 0.25
"""The tail is "mix, not slowness" when like units are slower by no more than this share of the excess."""

MAJORITY = 0.5

LED_SHARE = 0.25
"""Stages that are certain and less than this of what the whole changed by are told before it."""

NOTABLE_SHARE = 0.05
"""A slower stage is told apart from a whole that could be chance from this share of the baseline's mean on."""

NEGLIGIBLE_SHARE = 0.01
"""Less than this of the baseline's mean is told only where a stage takes half as much again (`LARGE_FACTOR`)."""

SHARED_LAYERS = ("engine", "kv", "service")
SHARED_STAGES = (ServingStage.FE_PREPROCESS, ServingStage.GW_QUEUE)
"""Where requests wait for each other: everything in an engine, and what has a queue before it.

Services and the ways to them that are told by plain spans may have one: their names do not say.
"""


def verdict_of(answer: TailAnswer) -> TailVerdict:
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
        return _of_chance(answer)
    return "improved" if answer.excess_ns < 0 else _of_excess(answer)


def is_mix(answer: TailAnswer) -> bool:
    """Whether the excess comes from other units in the tail and not from slower ones.

    Like units (same class) may be slower by at most a quarter of the excess, and so may each token where
    token counts are known. Where most of the excess has no like units it is never mix.
    """
    if answer.excess_ns <= 0 or lacks_counterparts(answer):
        return False
    if answer.is_other_mix:
        return not len(certain_stages(answer)) and bool(answer.stages["rate_ns"].sum() <= MAJORITY * answer.excess_ns)
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


def is_load(answer: TailAnswer) -> bool:
    """Whether more work arrived at once than in the baseline, and the excess is where requests share machines.

    More load makes them wait for each other there, and by how much cannot be known from the spans. Where the whole
    could be chance, the excess is that of the stages that are slower beyond it.
    """
    if not answer.load["is_higher"].any():
        return False
    grown = _longer(answer)
    excess_ns = int(grown["excess_ns"].sum())
    return excess_ns > 0 and int(grown.filter(is_shared())["excess_ns"].sum()) > MAJORITY * excess_ns


def _is_growth_of_load(answer: TailAnswer) -> bool:
    """Whether more work arrived, and all that has grown call by call is where requests share machines."""
    if not answer.load["is_higher"].any():
        return False
    grown = [*slower_calls(answer)["stage"], *grown_stages(answer)["stage"]]
    return bool(answer.stages.filter(pl.col("stage").is_in(grown)).select(is_shared().all()).item())


def load_bounds_ns(answer: TailAnswer) -> tuple[int, int]:
    """The most of the excess that load can explain, and the least that is slowness, in nanoseconds.

    Load makes requests wait for each other and nothing else, so it explains no more than the time of shared stages. Of
    the other stages those count as slowness that are longer beyond chance, each by the low end of its interval.
    """
    shared_ns = int(_longer(answer).filter(is_shared())["excess_ns"].sum())
    sure = certain_stages(answer).filter(~is_shared())
    return min(max(shared_ns, 0), longer_ns(answer)), int(sure["low_ns"].clip(0).sum())


def is_led_by_stages(answer: TailAnswer) -> bool:
    """Whether stages are slower beyond chance that the whole does not show: it could be chance, or even be shorter."""
    told_ns = int(told_stages(answer)["excess_ns"].sum())
    return answer.significant is False and told_ns > 0 and told_ns < LED_SHARE * abs(answer.excess_ns)


def longer_ns(answer: TailAnswer) -> int:
    """What is longer: the whole, or where that could be chance the stages that are longer beyond it."""
    return max(int(_longer(answer)["excess_ns"].sum()), 0)


def _longer(answer: TailAnswer) -> pl.DataFrame:
    return told_stages(answer) if answer.significant is False else answer.stages


def is_shared() -> pl.Expr:
    """Rows of `stages` in which requests wait for each other."""
    is_plain_edge = pl.col("stage").str.starts_with("edge:")
    return pl.col("layer").is_in(SHARED_LAYERS) | pl.col("stage").is_in(SHARED_STAGES) | is_plain_edge


def certain_stages(answer: TailAnswer) -> pl.DataFrame:
    """Rows of `stages` that are slower beyond chance, the largest first."""
    grown = "rate_ns" if answer.is_other_mix else "excess_ns"
    return answer.stages.filter(pl.col("significant") & (pl.col(grown) > 0))


def slower_stages(answer: TailAnswer) -> pl.DataFrame:
    """Those of them that matter: for the whole, by a share of what the baseline takes, or for themselves.

    Where the whole could be chance, so could a share of its excess.
    """
    matters = pl.col("excess_ns") >= NOTABLE_SHARE * answer.baseline_mean_ns
    has_grown = pl.col("tail_mean_ns") >= GROWN_FACTOR * pl.col("baseline_mean_ns")
    is_part = pl.col("excess_ns") >= NEGLIGIBLE_SHARE * answer.baseline_mean_ns
    return certain_stages(answer).filter(matters | (has_grown & is_part) | _is_large(answer))


def told_stages(answer: TailAnswer) -> pl.DataFrame:
    """Rows of `stages` that are slower for all (`slower_stages`), or for some (`slower_for_some`)."""
    names = [*slower_stages(answer)["stage"], *slower_for_some(answer)["stage"]]
    return answer.stages.filter(pl.col("stage").is_in(names))


def large_stages(answer: TailAnswer) -> pl.DataFrame:
    """Rows of `stages` that are slower beyond chance and take far more than they took (`LARGE_FACTOR`)."""
    return certain_stages(answer).filter(_is_large(answer))


def _is_large(answer: TailAnswer) -> pl.Expr:
    """Slow ones against their own middle are large in every stage that makes them slow."""
    far_more = pl.col("tail_mean_ns") >= LARGE_FACTOR * pl.col("baseline_mean_ns")
    return far_more & pl.lit(answer.comparison == "selection")


def slower_calls(answer: TailAnswer) -> pl.DataFrame:
    """Rows of `rare_calls` whose calls are longer beyond chance, and by enough for the mean unit to matter."""
    matters = pl.col("excess_ns") >= NOTABLE_SHARE * answer.baseline_mean_ns
    return answer.rare_calls.filter(pl.col("is_slower") & matters)


def grown_stages(answer: TailAnswer) -> pl.DataFrame:
    """Rows of `growth` of stages whose calls take longer beyond chance in all units, by enough to matter.

    For the whole, or for themselves: surely half as much again (`LARGE_FACTOR`), and no trifle (`TRIFLE_SHARE`).
    Only where all units are what is asked about; stages that are told as slower otherwise are left out.
    """
    of_all = answer.quantile == 0 or answer.quantile_asked is not None
    told = [*told_stages(answer)["stage"], *slower_calls(answer)["stage"]]
    least = pl.when(pl.col("factor_low") >= LARGE_FACTOR).then(TRIFLE_SHARE).otherwise(NEGLIGIBLE_SHARE)
    is_part = pl.col("excess_ns") >= least * answer.baseline_mean_ns
    return answer.growth.filter(pl.lit(of_all) & pl.col("has_grown") & is_part & ~pl.col("stage").is_in(told))


def slower_for_some(answer: TailAnswer) -> pl.DataFrame:
    """Rows of `whose` that a sentence may name of stages that are not slower for all: the clearest of each stage."""
    is_part = pl.col("excess_ns") >= NEGLIGIBLE_SHARE * answer.baseline_mean_ns
    found = clear_whose(answer.whose).filter(is_part).unique("stage", keep="first", maintain_order=True)
    return found.filter(~pl.col("stage").is_in(slower_stages(answer)["stage"].to_list()))


def clear_differences(answer: TailAnswer) -> pl.DataFrame:
    """Rows of `differences` that a sentence may name: what most of the slow share, or far more of them than usual."""
    tail_share, rest_share = pl.col("tail_share"), pl.col("rest_share")
    is_most = (tail_share >= MAJORITY) & (tail_share >= CLEAR_FACTOR * rest_share)
    is_apart = (rest_share == 0) | (pl.col("ratio_low") >= CLEAR_FACTOR).fill_null(value=False)
    return answer.differences.filter(is_most | (is_apart & (pl.col("adjusted_p") < DOUBTFUL)))


def larger_work(answer: TailAnswer) -> pl.DataFrame:
    """Rows of `size` with more tokens in the tail than in the baseline."""
    return answer.size.filter(pl.col("tail_tokens") > pl.col("baseline_tokens"))


def _of_chance(answer: TailAnswer) -> TailVerdict:
    """Stages are tested together with their sum, so that one of them may be certain where the sum is not."""
    if not len(told_stages(answer)):
        if not len(slower_calls(answer)) and not len(grown_stages(answer)):
            return "no_excess"
        return "load_or_slowness" if _is_growth_of_load(answer) else "stage_slower"
    return "load_or_slowness" if is_load(answer) else "stage_slower"


def _of_excess(answer: TailAnswer) -> TailVerdict:
    if is_mix(answer):
        return "mix_not_slowness"
    if lacks_counterparts(answer) and len(larger_work(answer)):
        return "size_or_slowness"
    if is_load(answer):
        return "load_or_slowness"
    if not len(certain_stages(answer)) and not len(grown_stages(answer)):
        return "excess_spread"
    unexplained = int(answer.stages.filter(pl.col("stage") == UNATTRIBUTED)["excess_ns"].sum())
    return "excess_unattributed" if unexplained > MAJORITY * answer.excess_ns else "excess_explained"
