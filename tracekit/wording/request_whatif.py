"""What a change of serving would give, in plain sentences."""

from __future__ import annotations

from tracekit.analysis import RequestWhatIf, WhatIfBasis, words_for
from tracekit.wording.numbers import counted, duration_text

_MISSING = {
    "too_few_requests": "Only {lacking} ended well with tokens: too few for a replay.",
    "no_such_stage": "None of the {all} has time in {stage}: it cannot become normal.",
    "no_engine_spans": "No replay: {few} of {all} have no spans of the engine that served them, so its queue and "
    "batch are not known.",
    "no_tokens": "No replay: {few} of {all} tell no token counts, so their sizes are not known.",
    "queue_not_told_apart": "No replay: the engine's spans of {few} of {all} do not tell queue from prefill.",
    "split_engines": "No replay: prefill and decode of {few} of {all} ran on engines of their own, and the replay "
    "knows only engines that do both.",
}

_BOUND_BY = {
    "seats": "engines run at most as many sequences as they did when requests waited ({seats} at most)",
    "kv": "an engine holds at most {kv_tokens:,} tokens of context: requests waited although it ran few sequences",
    None: "nothing was seen to limit the batch, so nothing limits it",
}

_RULES = {
    "least_requests": "each request goes to the engine that has fewest, as it was",
    "round_robin": "engines take turns, as they did",
    "shared": "how engines are chosen is not known: new ones take their part of everybody's requests evenly",
    "drawn": "engines are chosen by lot: new ones take their part of everybody's requests so",
}


@words_for(RequestWhatIf)
def request_whatif_summary(answer: RequestWhatIf) -> str:
    """What a replay of requests under a change concludes."""
    if answer.verdict == "refused":
        return f"No conclusion, because the data cannot bear one: {answer.evidence.reasons[0]}."
    if answer.verdict in _MISSING:
        basis = answer.basis
        return _MISSING[answer.verdict].format(
            lacking=counted(basis.missing_requests, "request"),
            few=f"{basis.missing_requests:,}",
            all=counted(basis.requests, "request"),
            stage=basis.stage,
        )
    return f"{_conclusion(answer)}{_reproduced(answer)}{_good(answer)}"


def _conclusion(answer: RequestWhatIf) -> str:
    what = f"{answer.metric} p{100 * answer.quantile:g}"
    before, after = duration_text(answer.before), duration_text(answer.after)
    bound = f"{duration_text(answer.low)} to {duration_text(answer.high)}"
    if answer.verdict == "not_reproduced":
        return f"No conclusion: of {counted(answer.requests, 'request')}, {what} was {before}."
    if answer.verdict == "no_difference":
        return f"With {answer.change}, {what} would be about as it was: {before}, then {after} ({bound})."
    word = "shorter" if answer.saving > 0 else "longer"
    return (
        f"With {answer.change}, {what} would be {after} ({bound}) instead of {before}: {abs(answer.saving):.1%} {word}."
    )


def _reproduced(answer: RequestWhatIf) -> str:
    if answer.error is None:
        return ""
    return f" Replayed as it was, it is {answer.error:.1%} off what was observed."


def _good(answer: RequestWhatIf) -> str:
    if answer.good_before is None or answer.verdict == "not_reproduced":
        return ""
    every = counted(answer.requests, "request")
    return f" {answer.good_after:,} instead of {answer.good_before:,} of {every} would meet the SLO."


@words_for(WhatIfBasis)
def whatif_assumptions(basis: WhatIfBasis) -> str:
    """What the figures rest on, a line each."""
    return "\n".join((*_engine_lines(basis), *_other_lines(basis)))


def _engine_lines(basis: WhatIfBasis) -> list[str]:
    if basis.engines is None:
        return ["no engine is replayed: whatever comes after the stage takes as long as it did"]
    step = duration_text(basis.step_ns)
    by_sequence, by_context = duration_text(basis.sequence_ns), duration_text(1000 * (basis.context_ns or 0.0))
    told = [
        "requests arrive as they did and ask for as many tokens, whatever they are answered",
        f"a step takes {step}, {by_sequence} for each sequence that decodes, {by_context} for 1,000 tokens of context "
        "and the prefill work of its prompts, as learnt from the requests",
        _BOUND_BY[basis.bound_by].format(seats=basis.seats, kv_tokens=basis.kv_tokens or 0),
    ]
    if basis.budget_tokens is not None:
        told.append(f"a step takes at most {basis.budget_tokens:,} tokens, which reproduces the requests best")
    if "replicas" in basis.change or "batch" in basis.change:
        told.append(_RULES[basis.rule or "shared"])
    if "replicas=+" in basis.change:
        told.append("a new engine is as fast and as large as the others usually are, and ready all the time")
    if basis.more_seats:
        told.append("the KV cache has room for the larger batch")
    if basis.is_apart:
        told.append("prompts are prefilled at the same pace, one after the other, on hardware of their own")
    return told


def _other_lines(basis: WhatIfBasis) -> list[str]:
    told = []
    if basis.stage is not None and basis.baseline:
        told.append(f"{basis.stage} is normal where it takes as long as in the baseline, by size of the prompt")
    elif basis.stage is not None:
        told.append(
            f"{basis.stage} is normal up to four deviations above its median by size of the prompt; beyond, the median"
        )
    if basis.retried:
        told.append(f"{counted(basis.retried, 'request')} had attempts that are repeated as they were")
    if basis.preempted:
        told.append(f"{counted(basis.preempted, 'request')} were preempted; what that took counts as prefill")
    if basis.load_requests:
        told.append(f"{counted(basis.load_requests, 'more request')} on the same engines are load")
    return told
