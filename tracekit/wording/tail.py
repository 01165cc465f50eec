"""What a tail answer concludes, in plain sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from tracekit.analysis import (
    BASELINE,
    MINIMUM_BLOCKS,
    SELECTION,
    TailAnswer,
    clear_differences,
    clear_whose,
    is_led_by_stages,
    is_load,
    is_mix,
    lacks_counterparts,
    large_stages,
    slower_calls,
    slower_for_some,
    slower_stages,
    told_stages,
    words_for,
)
from tracekit.schema import ANY_OUTCOME, DEFAULT_QUANTILES, MINIMUM_UNITS, StepStage, TailVerdict, UnitKind
from tracekit.wording.metric_series import quantity_text
from tracekit.wording.numbers import chance_text, counted, difference_text, duration_text, moment_text
from tracekit.wording.tail_growth import growth_sentence
from tracekit.wording.tail_left_out import messages_sentence, not_served_sentence
from tracekit.wording.tail_other_work import kinds_sentence, lack_sentence, load_sentence, mix_sentence
from tracekit.wording.whose import whose_clause

_CLEAR_RANK_SHARE = 2 / 3
_NEARLY_ALL = 0.9
_UNEXPLAINED = ("no_excess", "mix_not_slowness", "no_units", "refused")
_NAMED_STAGES = 3
_WITH_COUNTERS = ("excess_explained", "excess_spread", "stage_slower", "load_or_slowness", "too_few_blocks")
_SHOWN_SHARE = 0.01
_METRICS = {
    "ttft": "to the first token",
    "tpot": "for each token after the first",
    "e2e": "from end to end",
    "step": "",
}


@words_for(TailAnswer)
def tail_summary(answer: TailAnswer) -> str:
    """What a tail answer concludes."""
    verdict = answer.verdict
    if verdict == "no_units":
        return _nothing_sentence(answer)
    if verdict == "refused":
        return f"No conclusion, because the data cannot bear one: {answer.evidence.reasons[0]}."
    changed = _change_sentence(answer)
    sentences = [
        changed,
        _finding(answer),
        _quantile_sentence(answer),
        _conclusion(answer, verdict),
        kinds_sentence(answer),
        _counter_sentence(answer),
        not_served_sentence(answer),
        messages_sentence(answer),
    ]
    level = "" if verdict in ("no_excess", "mix_not_slowness") else _level_sentence(answer)
    # A few units say less than the typical one of all.
    ordered = [level, *sentences] if verdict == "too_few_units" else [*sentences, level]
    return " ".join(sentence for sentence in ordered if sentence)


def named_causes(answer: TailAnswer) -> list[tuple[str, int]]:
    """Where the excess lies, largest first, as (words, nanoseconds); the parts sum to the excess.

    Waiting of training ranks is charged to the stage and rank that was waited for.
    """
    charged = answer.causes.group_by("culprit_stage", "culprit_rank", "culprit_host").agg(pl.col("excess_ns").sum())
    parts: dict[str, int] = {}
    for stage, excess_ns in answer.stages.select("stage", "excess_ns").iter_rows():
        if stage != StepStage.STRAGGLER_WAIT or not len(charged):
            parts[stage] = parts.get(stage, 0) + excess_ns
    for stage, excess_ns in charged.select("culprit_stage", "excess_ns").iter_rows():
        parts[stage] = parts.get(stage, 0) + excess_ns
    # Requests keep the order of the table, in which what is sure comes first.
    ordered = sorted(parts.items(), key=lambda part: (-part[1], part[0])) if len(charged) else list(parts.items())
    return [(_words(stage, charged), excess_ns) for stage, excess_ns in ordered]


def _words(stage: str, charged: pl.DataFrame) -> str:
    late = charged.filter((pl.col("culprit_stage") == stage) & (pl.col("excess_ns") > 0))
    for column, words in (("culprit_rank", "rank"), ("culprit_host", "host")):
        most = late.group_by(column).agg(pl.col("excess_ns").sum()).sort("excess_ns", column, descending=[True, False])
        is_clear = len(most) and most["excess_ns"][0] >= _CLEAR_RANK_SHARE * int(most["excess_ns"].sum())
        # The name of the only host tells nothing.
        is_one_of_many = column == "culprit_rank" or charged[column].n_unique() > 1
        if is_clear and is_one_of_many and most[column][0] is not None:
            return f"{stage} on {words} {most[column][0]}"
    return stage


def _counter_sentence(answer: TailAnswer) -> str:
    """The counter that stood highest beside the stage with most of the excess; empty where none did."""
    slower = answer.stages.filter(pl.col("excess_ns") > 0, pl.col("significant").fill_null(value=True))
    if answer.verdict not in _WITH_COUNTERS or slower.is_empty():
        return ""
    beside = answer.counters.filter("is_higher", stage=slower.sort("excess_ns", descending=True)["stage"][0])
    if beside.is_empty():
        return ""
    row = beside.row(0, named=True)
    tail, rest = (quantity_text(row[name], row["unit"]) for name in ("tail_mean", "rest_mean"))
    return f"When they began, {row['metric']} stood at {tail} on {row['host_name']}, for the others at {rest}."


def _change_sentence(answer: TailAnswer) -> str:
    """When the store changed, where that was asked and found."""
    if answer.change_start_ns is None or answer.change_end_ns is None:
        return ""
    begin, end = moment_text(answer.change_start_ns), moment_text(answer.change_end_ns)
    when = f"at {begin} and stays so to the end ({end})" if answer.change_lasts else f"from {begin} to {end}"
    return f"The store changes {when}; that time is compared with the time {_reference_time(answer)}."


def _reference_time(answer: TailAnswer) -> str:
    return "after it" if answer.change_is_first else "before it"


def _nothing_sentence(answer: TailAnswer) -> str:
    """Why there is nothing to compare, and what to do about it."""
    if not answer.stored_count:
        return f"The store holds no {answer.unit}s; read some with `tracekit ingest`."
    is_selection = not answer.count
    side, option, condition = (
        ("selection", "where", answer.where) if is_selection else ("baseline", "baseline", answer.baseline)
    )
    left_out = answer.left_out.filter(side=SELECTION if is_selection else BASELINE)
    if len(left_out):
        reasons = ", ".join(f"{count:,} {reason}" for _, reason, count in left_out.iter_rows())
        other = f"; outcome {answer.outcome!r} was asked for, `{ANY_OUTCOME}` takes all" if "outcome" in reasons else ""
        return f"No {answer.unit} of the {side} has what was asked for. Left out: {reasons}{other}."
    stored = _units(answer.stored_count, answer)
    return f"The {option} condition {condition!r} matches none of the {stored} in the store."


def _finding(answer: TailAnswer) -> str:
    """What was compared and what came out: the stages, and whose requests, in one sentence."""
    verdict = answer.verdict
    if (verdict == "stage_slower" or _is_load_of_stages(answer)) and len(told_stages(answer)):
        return _slower_sentence(answer)
    statement = _statement(answer)
    if (
        verdict in ("no_excess", "stage_slower")
        or _is_load_of_stages(answer)
        or (is_mix(answer) and answer.is_other_mix)
    ):
        return f"{statement}."
    named = "" if verdict == "improved" else _large_text(answer)
    return f"{statement}{_where(answer)}{named}."


def _is_load_of_stages(answer: TailAnswer) -> bool:
    return answer.verdict == "load_or_slowness" and (answer.excess_ns <= 0 or is_led_by_stages(answer))


def _statement(answer: TailAnswer) -> str:
    takes = "takes" if answer.tail_count == 1 else "take"
    took = f"{takes} {duration_text(answer.tail_mean_ns)} {_METRICS[answer.metric]}".rstrip()
    whose = whose_text(answer)
    whose = f", {whose}," if whose else ""
    return f"{_compared(answer)}{whose} {took}, {difference_text(answer.excess_ns)} than {_against(answer)}"


def whose_text(answer: TailAnswer) -> str:
    """Whose the slow steps are, where nearly all are one rank's or one host's and few others: `all of rank 2`.

    Nobody's where they are too few to tell: a sentence of its own says what these share, with that reservation.
    """
    if answer.unit != UnitKind.STEP or answer.excess_ns <= 0 or answer.verdict in (*_UNEXPLAINED, answer.shortage):
        return ""
    conditions = f"{answer.where or ''} {answer.baseline}"
    for dimension, words in (("rank", "rank"), ("host_name", "host")):
        for row in answer.differences.filter(dimension=dimension).head(1).iter_rows(named=True):
            is_clear = row["tail_share"] >= _NEARLY_ALL and row["tail_share"] >= 1.5 * row["rest_share"]
            if is_clear and dimension not in conditions:
                share = "all" if row["tail_count"] == answer.tail_count else f"{row['tail_share']:.0%}"
                return f"{share} of {words} {row['value']}"
    return ""


def _quantile_sentence(answer: TailAnswer) -> str:
    """Which quantile was taken where none was asked for and the usual one leaves too few."""
    if answer.quantile_asked is not None or answer.quantile == DEFAULT_QUANTILES[0]:
        return ""
    enough = f"{MINIMUM_UNITS} {answer.unit}s on each side"
    if answer.is_of_all:
        return "They are all compared, which shows more than the slowest of them."
    if answer.quantile == 0:
        return f"They are all compared, because no quantile leaves {enough}."
    return f"Slow means at or above quantile {answer.quantile}, the highest that leaves {enough}."


def _compared(answer: TailAnswer) -> str:
    if answer.quantile > 0:
        return f"The slowest {_number(answer.tail_count)}of {_units(answer.count, answer)}"
    return f"The only {answer.unit}" if answer.count == 1 else f"All {_units(answer.count, answer)}"


def _against(answer: TailAnswer) -> str:
    if answer.comparison == "body":
        return f"the typical {answer.unit}"
    slowest = f"the slowest {_number(answer.baseline_count)}of " if answer.quantile > 0 else ""
    return f"{slowest}the baseline"


def _number(count: int) -> str:
    """`The slowest of 90`, `the slowest 12 of 90`."""
    return "" if count == 1 else f"{count:,} "


def _units(count: int, answer: TailAnswer) -> str:
    return f"{count:,} {answer.unit}{'' if count == 1 else 's'}"


def _conclusion(answer: TailAnswer, verdict: TailVerdict) -> str:
    if verdict == "no_excess":
        return "That is within what chance makes: there is no excess to explain."
    if verdict == "stage_slower":
        return _slower_calls_conclusion(answer)
    sentences = []
    if is_mix(answer):
        sentences.append(mix_sentence(answer))
    elif lacks_counterparts(answer):
        sentences.append(lack_sentence(answer))
    if verdict != "improved" and not is_mix(answer) and not len(clear_whose(answer.whose)):
        sentences.append(_who_sentence(answer))
    if not is_mix(answer) and is_load(answer):
        sentences.append(load_sentence(answer))
    if verdict == "excess_spread":
        sentences.append("No single stage stands out from chance.")
    sentences += [_rare_calls_sentence(answer), growth_sentence(answer)]
    if answer.shortage is not None:
        sentences.append(_shortage_sentence(answer))
    return " ".join(sentence for sentence in sentences if sentence)


def _slower_calls_conclusion(answer: TailAnswer) -> str:
    calls = " ".join(part for part in (_rare_calls_sentence(answer), growth_sentence(answer)) if part)
    if not len(told_stages(answer)):
        return f"As a whole that is within what chance makes, but not call by call. {calls}"
    who = "" if len(clear_whose(answer.whose)) else _who_sentence(answer)
    return " ".join(part for part in (who, calls) if part)


def _large_text(answer: TailAnswer) -> str:
    """Stages that take far more than they took, but are too small a part to be named with their share."""
    told = {words for words, _ in _shown(named_causes(answer))}
    rows = large_stages(answer).filter(~pl.col("stage").is_in(told)).head(_NAMED_STAGES)
    parts = [_times_text(row, answer) for row in rows.iter_rows(named=True)]
    return f"; and {', '.join(parts)}" if parts else ""


def _times_text(row: dict[str, Any], answer: TailAnswer) -> str:
    """A stage by what it takes and took."""
    each, before = (duration_text(row[f"{side}_mean_ns"]) for side in ("tail", "baseline"))
    return f"{row['stage']} takes {each} where it took {before}{whose_clause(row['stage'], answer.whose)}"


def _who_sentence(answer: TailAnswer) -> str:
    """What most of the slow ones share and few others do, or what is far more frequent among them."""
    if whose_text(answer):
        return ""
    conditions = f"{answer.where or ''} {answer.baseline}"
    rest = "in the baseline" if answer.comparison == "selection" else f"of typical {answer.unit}s"
    for row in clear_differences(answer).iter_rows(named=True):
        if f"'{row['dimension']}'" not in conditions:
            return (
                f"Of these {answer.tail_count:,}, {row['tail_share']:.0%} have {row['dimension']} {row['value']!r}, "
                f"{rest} {row['rest_share']:.0%}."
            )
    return ""


def _slower_sentence(answer: TailAnswer) -> str:
    """Stages that are slower beyond chance, for all or for some, in requests that as a whole could be chance."""
    rows = slower_stages(answer).head(_NAMED_STAGES)
    named = [_times_text(row, answer) for row in rows.iter_rows(named=True)]
    some = slower_for_some(answer).head(_NAMED_STAGES - len(named))
    named += [_some_text(row, answer) for row in some.iter_rows(named=True)]
    lead = ", ".join(named)
    return f"{lead}, which is more than chance makes. {_statement(answer)}, as a whole within what chance makes."


def _some_text(row: dict[str, Any], answer: TailAnswer) -> str:
    """A stage that takes longer in some requests only."""
    each, before = (duration_text(row[f"{side}_mean_ns"]) for side in ("selection", "baseline"))
    whom = f"the {row['unit_share']:.0%} of {answer.unit}s with {row['dimension']} {row['value']!r}"
    return f"{row['stage']} takes {each} where it took {before} in {whom}"


def _rare_calls_sentence(answer: TailAnswer) -> str:
    """Stages that few units have and whose every call takes longer, with how sure that is."""
    calls = slower_calls(answer).head(_NAMED_STAGES)
    return " ".join(_rare_call(row, answer) for row in calls.iter_rows(named=True))


def _rare_call(row: dict[str, Any], answer: TailAnswer) -> str:
    few, before = row["selection_units"], row["baseline_units"]
    each, each_before = duration_text(row["selection_per_call_ns"]), duration_text(row["baseline_per_call_ns"])
    return (
        f"A call of {row['stage']} takes {each} where it took {each_before}: few {answer.unit}s make one "
        f"({few:,} of {answer.count:,}, {before:,} of {answer.baseline_selection_count:,} in the baseline), "
        f"and chance orders these {few + before:,} so in {chance_text(row['adjusted_p'])} of cases."
    )


def _shortage_sentence(answer: TailAnswer) -> str:
    """Why nothing follows for others."""
    which = f"this {answer.unit}" if answer.tail_count == 1 else f"these {answer.unit}s"
    if answer.shortage == "too_few_blocks":
        have = counted(min(answer.block_counts), "separate observation")
        why = (
            f"neighbours in time rise and fall together, so all of them are only {have}, and it takes {MINIMUM_BLOCKS}"
        )
        return f"That is true of {which}; whether it is more than chance cannot be told: {why}."
    fewest = min(answer.tail_count, answer.baseline_count)
    why = f"it takes {MINIMUM_UNITS} {answer.unit}s on each side, and one has {fewest}"
    return f"That is true of {which}; whether others take as long cannot be told from so few: {why}."


def _where(answer: TailAnswer) -> str:
    """The largest parts of an excess with whose requests they are in, or of an improvement those that became faster."""
    if answer.excess_ns == 0:
        return ". The totals are equal"
    parts = named_causes(answer)
    lead = "of that" if _are_shares(parts) else "by stage"
    texts = [f"{_part_text(part, parts)}{whose_clause(part[0], answer.whose)}" for part in _shown(parts)]
    return f"; {lead} {', '.join(texts)}"


def _are_shares(parts: Sequence[tuple[str, int]]) -> bool:
    """Whether no part is more than the whole, so that a share in per cent means something."""
    whole_ns = sum(part_ns for _, part_ns in parts)
    return whole_ns != 0 and all(round(100 * part_ns / whole_ns) <= 100 for _, part_ns in parts)


def _largest(parts: Sequence[tuple[str, int]]) -> str:
    """The largest parts in the direction of their sum, in per cent of it where none is more than the whole."""
    return ", ".join(_part_text(part, parts) for part in _shown(parts))


def _part_text(part: tuple[str, int], parts: Sequence[tuple[str, int]]) -> str:
    words, part_ns = part
    if _are_shares(parts):
        return f"{words} {part_ns / sum(ns for _, ns in parts):.0%}"
    return f"{words} {difference_text(part_ns)}"


def _shown(parts: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """The first parts in the direction of their sum; where one is more than it, with the largest the other way."""
    whole_ns = sum(part_ns for _, part_ns in parts)
    sign = 1 if whole_ns >= 0 else -1
    ordered = list(parts) if sign > 0 else sorted(parts, key=lambda part: (part[1], part[0]))
    largest = [part for part in ordered if _counts(part[1], whole_ns, sign)][:_NAMED_STAGES]
    if not parts or _are_shares(parts):
        return largest
    return [*largest, min(ordered, key=lambda part: sign * part[1])]


def _counts(part_ns: int, whole_ns: int, sign: int) -> bool:
    return sign * part_ns > 0 and abs(part_ns) >= _SHOWN_SHARE * abs(whole_ns)


def _level_sentence(answer: TailAnswer) -> str:
    """How the middles differ, which is often not how the tails differ."""
    excess_ns = int(answer.levels["excess_ns"].sum())
    # The middles of steps are not split by cause, and waiting alone names nobody.
    if answer.unit == UnitKind.STEP or not len(answer.levels) or excess_ns == 0:
        return ""
    parts = list(answer.levels.select("stage", "excess_ns").iter_rows())
    than = f"{difference_text(excess_ns)} than that of the baseline"
    return f"The typical {answer.unit} of the selection takes {than}: {_largest(parts)}."
