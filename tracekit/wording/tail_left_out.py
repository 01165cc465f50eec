"""What a tail answer leaves out, and what that does to it, in plain sentences."""

from __future__ import annotations

from tracekit.analysis import FROM_MESSAGE, SELECTION, TailAnswer
from tracekit.schema import ANY_OUTCOME
from tracekit.wording.left_out import left_out_sentences

_MATTERS_SHARE = 0.01


def messages_sentence(answer: TailAnswer) -> str:
    """That work which messages start is told, or left out."""
    if answer.is_of_messages:
        return "This is about work that messages start; the requests that send them show nothing slower."
    count = int(answer.left_out.filter(side=SELECTION, reason=FROM_MESSAGE)["unit_count"].sum())
    return " ".join(left_out_sentences({FROM_MESSAGE: count}, None)) if count else ""


def not_served_sentence(answer: TailAnswer) -> str:
    """What leaving out the requests that were not served does to the answer."""
    waited = int(answer.not_served["as_long_count"].sum())
    if waited < max(1, _MATTERS_SHARE * answer.count) or answer.outcome == ANY_OUTCOME:
        return ""
    ended = ", ".join(f"{count:,} {outcome}" for outcome, count, _ in answer.not_served.iter_rows() if count)
    return (
        f"Left out because of how they ended: {ended}; {waited:,} of them lasted as long as the slow ones or longer, "
        f"so more was slow than is told here (`--outcome {ANY_OUTCOME}` counts all)."
    )
