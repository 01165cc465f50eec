"""What a change would give back, in plain sentences."""

from __future__ import annotations

from typing import Any

import polars as pl

from tracekit.analysis import Change, ReplayBasis, WhatIfAnswer, words_for
from tracekit.wording.numbers import duration_text


@words_for(WhatIfAnswer)
def whatif_summary(answer: WhatIfAnswer) -> str:
    """What a replay under a change concludes."""
    if answer.verdict == "no_steps":
        return (
            f"The store holds no steps{'' if answer.job is None else f' of job {answer.job!r}'} that can be replayed."
        )
    if answer.verdict == "refused":
        return f"No conclusion, because the data cannot bear one: {answer.evidence.reasons[0]}."
    return f"{_conclusion(answer)}{_other_jobs(answer)}"


@words_for(ReplayBasis)
def replay_assumptions(basis: ReplayBasis) -> str:
    """What the figures of a replay rest on, a line each."""
    told = [
        "the order in which operations followed each other on a rank stays",
        "a collective still takes as long after its last member has arrived",
        _OF_KIND.get(basis.kind, _LIKE_PEERS),
    ]
    if basis.peerless:
        told.append(f"{basis.peerless:,} operations have no peers: their own median over all steps stands for them")
    if basis.left_out:
        told.append(f"{basis.left_out:,} steps are left out: {basis.reason}")
    return "\n".join(told)


_OF_KIND = {
    "operation": "the removed operations take no time, and what is left starts as late after the one before it",
    "imbalance": "what a stage computes can be cut as finely as wanted",
}
_LIKE_PEERS = "what changes takes as long as at the median of its peers: same step, pipeline stage and operation"


def savings_sentence(savings: pl.DataFrame) -> str:
    """What one job would get back by the change that gives most, or why that is not known; empty for nothing."""
    if savings.is_empty():
        return ""
    first = savings.row(0, named=True)
    if first["change"] is None:
        return f"What changes would give back is not told here: {_NOT_REPLAYED[first['verdict']].format(**first)}."
    faster = savings.filter(pl.col("verdict") == "faster").sort("saving", "change", descending=[True, False])
    if faster.is_empty():
        return ""
    return f"By replay, beside these shares and no part of them: {saving_text(faster.row(0, named=True))}."


def saving_text(row: dict[str, Any]) -> str:
    """One change and what it would give back, with its bounds."""
    words = Change.parsed(row["change"]).words
    bound = f"{row['saving_low']:.1%} to {row['saving_high']:.1%}"
    if row["verdict"] == "no_difference":
        return f"{words} a step would take as long as it does ({bound} less)"
    return f"{words} a step would be {abs(row['saving']):.1%} {row['verdict']} ({bound})"


_NOT_REPLAYED = {
    "too_large": "its steps have {spans:,} spans, and a replay takes longer than the ledger; "
    "ask `tracekit whatif without=stragglers`",
    "refused": "the data of its steps cannot bear a replay; `tracekit whatif without=stragglers` says why",
}


def _conclusion(answer: WhatIfAnswer) -> str:
    words = Change.parsed(answer.change).words
    words = words[:1].upper() + words[1:]
    bound = f"{_saved(answer, answer.high)} to {_saved(answer, answer.low)}"
    if answer.verdict == "no_difference":
        return f"{words} a step would take as long as it does: {duration_text(answer.before)} ({bound} less)."
    after, before = duration_text(answer.after), duration_text(answer.before)
    saved = f"{words}: {abs(answer.saving):.1%} {answer.verdict} ({bound})"
    return f"{saved}. A step would take {after} instead of {before}."


def _saved(answer: WhatIfAnswer, after_ns: float) -> str:
    return f"{1 - after_ns / answer.before:.1%}"


def _other_jobs(answer: WhatIfAnswer) -> str:
    if not answer.other_jobs:
        return ""
    named = ", ".join(map(repr, answer.other_jobs[:3]))
    return f" This is job {answer.job!r}; not looked at: {named}{' and more' if len(answer.other_jobs) > 3 else ''}."
