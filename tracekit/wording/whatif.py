"""What a change would give back, in plain sentences."""

from __future__ import annotations

from tracekit.analysis import Change, WhatIfAnswer, words_for
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
