"""What a store can bear, in a sentence."""

from __future__ import annotations

from tracekit.analysis import QualityAnswer, words_for


@words_for(QualityAnswer)
def quality_summary(answer: QualityAnswer) -> str:
    """The verdict with the reasons for it."""
    if not (reasons := answer.reasons):
        return "The data are good: nothing was found that answers have to live with."
    return f"The data are {answer.verdict}: " + "; ".join(reasons) + "."
