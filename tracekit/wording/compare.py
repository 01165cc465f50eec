"""What a comparison says, in plain sentences."""

from __future__ import annotations

import polars as pl

from tracekit.analysis import CompareAnswer, words_for
from tracekit.wording.left_out import left_out_sentences
from tracekit.wording.numbers import duration_text
from tracekit.wording.whose import whose_clause

NOTABLE_LOAD = 1.25
"""From this factor on more work is told, because requests that share machines then wait for each other."""

_SHOWN = 3


@words_for(CompareAnswer)
def compare_summary(answer: CompareAnswer) -> str:
    """What changed beyond chance, metric by metric, how requests ended, and whether more work arrived."""
    if answer.verdict == "refused":
        return f"No conclusion, because the data cannot bear one: {answer.evidence.reasons[0]}."
    sentences = [_head(answer), *_metric_sentences(answer), *_outcome_sentences(answer), _load_sentence(answer)]
    if answer.kind_attribute is not None:
        same = f"Requests are compared with those of the same {answer.kind_attribute}"
        sentences.append(f"{same}: others of them came than before, and it tells how long they take.")
    sentences += left_out_sentences(answer.left_out, answer.seen_from)
    return " ".join(sentence for sentence in sentences if sentence)


def _head(answer: CompareAnswer) -> str:
    compared = f"{answer.after_count:,} requests against {answer.before_count:,} before"
    return {
        "no_units": f"Nothing to compare: {compared}.",
        "too_few_units": f"Too few requests for a conclusion: {compared}.",
        "too_few_blocks": f"{compared}: too short a time to tell a change from chance.",
        "no_change": f"Nothing changed beyond chance: {compared}.",
        "stage_slower": f"As a whole nothing is slower beyond chance, but a stage is: {compared}.",
        "load_or_slowness": f"Slower where requests wait for each other, and more of them arrived: {compared}.",
        "regressed": f"Worse: {compared}.",
        "improved": f"Better: {compared}.",
        "mixed": f"Some is worse, some better: {compared}.",
    }[answer.verdict]


def _metric_sentences(answer: CompareAnswer) -> list[str]:
    sentences = []
    for row in answer.metrics.iter_rows(named=True):
        stages = answer.stages.filter(pl.col("significant"), metric=row["metric"])
        if not row["significant"] and not len(stages):
            continue
        named = ", ".join(
            f"{stage} {_signed(excess_ns)}{whose_clause(stage, answer.whose)}"
            for stage, excess_ns in stages.head(_SHOWN).select("stage", "excess_ns").iter_rows()
        )
        told = "" if row["relative"] is None else f" ({row['relative']:+.1%})"
        sure = "" if row["significant"] else ", within chance as a whole"
        sentences.append(
            f"{row['metric']} {_signed(row['excess_ns'])}{told} at the same mix{sure}"
            + (f": {named}." if named else ".")
        )
    return sentences


def _outcome_sentences(answer: CompareAnswer) -> list[str]:
    return [
        f"{row['outcome']} {row['before']:.2%} to {row['after']:.2%} of requests."
        for row in answer.outcomes.filter("significant").iter_rows(named=True)
    ]


def _load_sentence(answer: CompareAnswer) -> str:
    more = answer.load.filter(pl.col("factor") >= NOTABLE_LOAD, ~pl.col("is_usual"))
    if not len(more):
        return ""
    told = ", ".join(
        f"{factor:.2g} times the {work.replace('_', ' ')}" for work, factor in more.select("work", "factor").iter_rows()
    )
    return f"More work arrived ({told} a second): where requests share machines, load and slowness look the same."


def _signed(duration_ns: int) -> str:
    return f"{'+' if duration_ns >= 0 else '-'}{duration_text(abs(duration_ns))}"
