"""What a goodput answer about requests says, in plain sentences."""

from __future__ import annotations

import polars as pl

from tracekit.analysis import INTRINSIC, TERMS, RequestGoodput, words_for
from tracekit.wording.left_out import left_out_notes
from tracekit.wording.numbers import duration_text

_BUCKET_WORDS = {
    "rejected": "rejected (over a limit)", "shed": "shed (overload)", "invalid": "invalid", "failed": "failed",
    "timed_out": "timed out", "aborted_before": "aborted before the first token",
    "aborted_after": "aborted after the first token", "late_ttft": "late by ttft", "late_tpot": "late by tpot",
    "late_e2e": "late by e2e", "unknown": "unknown",
}  # fmt: skip


def goodput_notes(answer: RequestGoodput) -> list[str]:
    """What the answer has to live with: what cannot be judged, what cannot be met, what was left out."""
    notes = [
        f"{count:,} served requests cannot be judged by {term}: {_WHY[term]}"
        for term, count in answer.unjudged.items()
        if count
    ]
    notes += _unmeetable(answer)
    notes += left_out_notes(answer.left_out, answer.seen_from)
    if answer.unclassed:
        notes.append(f"{answer.unclassed:,} requests are in no class of the SLO and were left out")
    untold = int(answer.wasted.filter(pl.col("bucket") != "good")["untold_count"].sum())
    if untold:
        notes.append(f"{untold:,} requests that were not good tell no tokens: wasted tokens are a lower bound")
    return notes


_WHY = {
    "ttft": "no span tells when the first token came",
    "tpot": "the number of tokens or the time of the last one is not told",
    "e2e": "no span tells when the last token came",
}


def _unmeetable(answer: RequestGoodput) -> list[str]:
    """Terms that every request that was served and can be judged misses."""
    served = answer.good + answer.late
    missed = {term: answer.buckets[f"late_{term}"] for term in TERMS}
    return [
        f"no request meets {term}: the limit may be below what the service can do at all"
        for term, count in missed.items()
        if served and count == served
    ]


@words_for(RequestGoodput)
def request_goodput_summary(answer: RequestGoodput) -> str:
    """How much was good, what was not, and which stages the late ones were lost to."""
    if answer.verdict == "no_requests":
        return "There are no requests to judge."
    sentences = [_share_sentence(answer), _bucket_sentence(answer), *_stage_sentences(answer)]
    if answer.verdict == "unjudged":
        sentences.append("No served request can be judged by this SLO.")
    sentences += [f"{note[0].upper()}{note[1:]}." for note in goodput_notes(answer)]
    return " ".join(sentence for sentence in sentences if sentence)


def _share_sentence(answer: RequestGoodput) -> str:
    if answer.attainment is None:
        return f"None of {answer.attempted:,} requests counts for the SLO."
    against = {"met": "reaches", "missed": "is below", "unjudged": "is below"}[answer.verdict]
    of_what = {"tracekit": "requests", "vllm": "completed requests", "aiperf": "requests"}[answer.mode]
    return (
        f"{answer.good:,} of {answer.denominator:,} {of_what} were good ({answer.attainment:.2%}), which {against} "
        f"the objective of {answer.slo.objective:.2%}."
    )


def _bucket_sentence(answer: RequestGoodput) -> str:
    lost = sorted(((count, name) for name, count in answer.buckets.items() if count), key=lambda part: -part[0])
    if not lost:
        return ""
    return "Not good: " + ", ".join(f"{count:,} {_BUCKET_WORDS[name]}" for count, name in lost) + "."


def _stage_sentences(answer: RequestGoodput) -> list[str]:
    """Where late requests lost their time, and what would have been without."""
    if not answer.late:
        return []
    top = answer.lost_by_stage.filter(pl.col("misses") > 0).head(3)
    shares = ", ".join(f"{stage} {misses:,}" for stage, misses in top.select("stage", "misses").iter_rows())
    sentences = [f"Of {answer.late:,} late ones the stages have: {shares}."]
    best = answer.lost_by_stage.filter(pl.col("stage") != INTRINSIC).sort("would_be_good", descending=True).head(1)
    if len(best) and best["would_be_good"][0]:
        sentences.append(
            f"Without {best['stage'][0]} above its normal, {best['would_be_good'][0]:,} of {answer.late:,} late ones "
            "would have met it."
        )
    if answer.wasted_engine_ns:
        sentences.append(f"{duration_text(answer.wasted_engine_ns)} of engine time went to what was not good.")
    return sentences
